//! Who may call what: agents join, operators do everything else. Asked before a call is looked at, so that it holds for every
//! method, those that do not exist included.
//!
//! A peer without an identity came in plaintext, which is served on loopback, or elsewhere by `--insecure`: it may do all.

use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tower::{Layer, Service};
use vufleet_proto::v1::fleet_server;
use vufleet_trust::identity::Role;
use vufleet_trust::quiet::Quiet;
use vufleet_trust::server::Peer;

/// Lets through what the caller's role may call.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    quiet: Arc<Quiet>,
}

impl<S> Layer<S> for Admission {
    type Service = Admitted<S>;

    fn layer(&self, inner: S) -> Admitted<S> {
        Admitted { inner, quiet: Arc::clone(&self.quiet) }
    }
}

/// A service that asks first.
#[derive(Debug, Clone)]
pub struct Admitted<S> {
    inner: S,
    quiet: Arc<Quiet>,
}

impl<S> Service<Request<Body>> for Admitted<S>
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
        let peer = request.extensions().get::<Peer>();
        let refusal = match peer {
            Some(peer) => refusal(peer, request.uri().path()),
            None => Some("this connection does not say whose it is".to_owned()),
        };
        match refusal {
            None => Box::pin(self.inner.call(request)),
            Some(why) => {
                self.quiet.say(|| format!("refused a call of {}: {why}", peer.map_or(String::new(), Peer::to_string)));
                let response: Ready<_> = ready(Ok(Status::permission_denied(why).into_http()));
                Box::pin(response)
            }
        }
    }
}

/// Why a peer may not call a path.
fn refusal(peer: &Peer, path: &str) -> Option<String> {
    let identity = peer.identity.as_ref()?;
    let needed = role_for(path);
    (identity.role != needed).then(|| {
        format!(
            "{identity} may not call {:.100}, which takes a certificate of role {needed}",
            path.escape_debug().to_string()
        )
    })
}

fn role_for(path: &str) -> Role {
    let joins = path.strip_prefix('/').and_then(|path| path.strip_prefix(fleet_server::SERVICE_NAME));
    if joins.is_some_and(|method| method.starts_with('/')) { Role::Agent } else { Role::Operator }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_join_and_operators_do_the_rest() {
        for (path, role) in [
            ("/vufleet.v1.Fleet/Join", Role::Agent),
            ("/vufleet.v1.Fleet/Other", Role::Agent),
            ("/vufleet.v1.Operator/Submit", Role::Operator),
            ("/vufleet.v1.FleetX/Join", Role::Operator),
            ("/vufleet.v1.Fleet", Role::Operator),
            ("/", Role::Operator),
            ("", Role::Operator),
            ("//vufleet.v1.Fleet/Join", Role::Operator),
        ] {
            assert_eq!(role_for(path), role, "{path}");
        }
    }
}
