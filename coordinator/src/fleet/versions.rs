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
use vufleet_trust::quiet::Quiet;

/// This coordinator's.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Versions that are remembered as told. Who makes up more of them is told of again, within what the log takes.
const TOLD: usize = 64;

/// The layer around all services.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    /// What has been warned of: once a version is enough.
    told: Arc<Mutex<BTreeSet<String>>>,
    quiet: Arc<Quiet>,
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
        if self.is_news(&told) {
            self.quiet.say(|| told);
        }
        why
    }

    fn is_news(&self, sentence: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = !told.contains(sentence);
        if is_news && told.len() < TOLD {
            told.insert(sentence.to_owned());
        }
        is_news
    }
}

fn introduced(answer: Response<Body>) -> Response<Body> {
    let (mut parts, body) = answer.into_parts();
    let mut metadata = MetadataMap::from_headers(std::mem::take(&mut parts.headers));
    peer::introduce(&mut metadata, VERSION);
    parts.headers = metadata.into_headers();
    Response::from_parts(parts, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_of_versions_is_bounded() {
        let versions = Versions::default();
        assert!(versions.is_news("one") && !versions.is_news("one"));
        for n in 0..10_000 {
            assert!(versions.is_news(&n.to_string()));
        }
        assert!(!versions.is_news("one"));
        assert_eq!(versions.told.lock().unwrap().len(), TOLD);
    }
}
