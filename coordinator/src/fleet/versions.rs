//! Says of which protocol and version this coordinator is in every answer, and refuses operators of another protocol before they are
//! listened to. An agent says its own in its first event, where the service looks at it.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::metadata::MetadataMap;
use tower::{Layer, Service};
use vufleet_proto::peer::{self, Said};
use vufleet_proto::v1::operator_server;

/// This coordinator's.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The layer around all services.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    /// What has been warned of: once a version is enough.
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl<S> Layer<S> for Versions {
    type Service = Versioned<S>;

    fn layer(&self, inner: S) -> Versioned<S> {
        Versioned { inner, versions: self.clone() }
    }
}

/// A service that introduces itself.
#[derive(Debug, Clone)]
pub struct Versioned<S> {
    inner: S,
    versions: Versions,
}

impl<S> Service<Request<Body>> for Versioned<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if let Some(why) = self.versions.refusal(&request) {
            let refused = introduced(Status::failed_precondition(why).into_http());
            return Box::pin(std::future::ready(Ok(refused)));
        }
        let answer = self.inner.call(request);
        Box::pin(async move { answer.await.map(introduced) })
    }
}

impl Versions {
    fn refusal(&self, request: &Request<Body>) -> Option<String> {
        let path = request.uri().path().strip_prefix('/')?.strip_prefix(operator_server::SERVICE_NAME)?;
        if !path.starts_with('/') {
            return None;
        }
        let said = Said::in_metadata(&MetadataMap::from_headers(request.headers().clone()));
        let why = said.mismatch("operator", "coordinator", VERSION);
        let told = why.clone().or_else(|| said.difference("an operator", "this coordinator", VERSION))?;
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(told.clone()) {
            tracing::warn!("{told}");
        }
        why
    }
}

fn introduced(answer: Response<Body>) -> Response<Body> {
    let (mut parts, body) = answer.into_parts();
    let mut metadata = MetadataMap::from_headers(std::mem::take(&mut parts.headers));
    peer::introduce(&mut metadata, VERSION);
    parts.headers = metadata.into_headers();
    Response::from_parts(parts, body)
}
