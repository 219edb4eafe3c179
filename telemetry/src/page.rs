//! The page that Prometheus and probes read, over HTTP/1.1, on a thread of its own beside whatever the process does:
//! `/metrics`; `/health`, which is 200 where the process can do its work and 503 with the reason where it cannot; and `/live`,
//! which is 200 as long as anybody answers. An agent without a coordinator is alive and not healthy: nothing is gained by
//! starting it again.
//!
//! Whoever connects gets one answer and [`PATIENCE`] for it.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio_stream::{Stream, StreamExt};

use crate::sheet::{self, Source};

/// Connections at a time; the others wait in the kernel.
const CONNECTIONS: usize = 16;
/// From the connection to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// For the request's head.
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// Of a request's head; the least that hyper takes.
const HEAD_BYTES: usize = 8 * 1024;
const HEADERS: usize = 64;
/// After accepting failed, as it does while there are no files left.
const PAUSE: Duration = Duration::from_millis(200);

/// Runs `serve` on a thread with a runtime of its own, for as long as the process lives.
///
/// # Errors
/// When there is no thread or no runtime to be had.
pub fn on_its_own_thread<F>(serve: impl FnOnce() -> F + Send + 'static) -> io::Result<()>
where
    F: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("metrics".to_owned()).spawn(move || runtime.block_on(async { serve().await }))?;
    Ok(())
}

/// Answers whoever connects, until there are no more connections.
pub async fn serve<C>(connections: impl Stream<Item = io::Result<C>>, source: Arc<dyn Source>)
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = std::pin::pin!(connections);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let connection = match connections.next().await {
            Some(Ok(connection)) => connection,
            Some(Err(error)) => {
                tracing::debug!(%error, "somebody who asks for metrics did not get through");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            None => return,
        };
        let source = Arc::clone(&source);
        tokio::spawn(async move {
            let _place = place;
            if tokio::time::timeout(PATIENCE, answer(connection, source)).await.is_err() {
                tracing::debug!("somebody who asked for metrics did not take the answer");
            }
        });
    }
}

async fn answer<C>(connection: C, source: Arc<dyn Source>)
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: Request<Incoming>| {
        let response = respond(request.method(), request.uri().path(), &source);
        async move { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(connection), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a request for metrics came to nothing");
    }
}

fn respond(method: &Method, path: &str, source: &Arc<dyn Source>) -> Response<Full<Bytes>> {
    if !matches!(path, "/metrics" | "/health" | "/live") {
        return text(StatusCode::NOT_FOUND, "there are /metrics, /health and /live\n".to_owned());
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refused = text(StatusCode::METHOD_NOT_ALLOWED, "this page is for reading: GET or HEAD\n".to_owned());
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match path {
        "/metrics" => metrics(source),
        "/health" => health(source.ailment()),
        _ => health(None),
    }
}

fn metrics(source: &Arc<dyn Source>) -> Response<Full<Bytes>> {
    match sheet::write(source) {
        Ok(body) => response(StatusCode::OK, sheet::CONTENT_TYPE, body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn health(ailment: Option<String>) -> Response<Full<Bytes>> {
    let (status, body) = match ailment {
        None => (StatusCode::OK, serde_json::json!({ "status": "ok" })),
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, serde_json::json!({ "status": "unable", "reason": reason })),
    };
    response(status, "application/json", format!("{body}\n"))
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", body)
}

fn response(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;
    use crate::sheet::Sheet;

    #[derive(Debug, Default)]
    struct Patient(Mutex<Option<String>>);

    impl Source for Patient {
        fn tell(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
            sheet.gauge("vufleet_one", "One", 1.0)
        }

        fn ailment(&self) -> Option<String> {
            self.0.lock().unwrap().clone()
        }
    }

    /// What a page answers to these bytes, each connection's after the other.
    async fn ask(source: Patient, requests: &[&[u8]]) -> Vec<String> {
        let (clients, servers): (Vec<DuplexStream>, Vec<_>) = requests.iter().map(|_| duplex(64 * 1024)).unzip();
        let connections = tokio_stream::iter(servers.into_iter().map(Ok));
        serve(connections, Arc::new(source)).await;
        let mut answers = Vec::new();
        for (mut client, request) in clients.into_iter().zip(requests) {
            client.write_all(request).await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            answers.push(String::from_utf8(answer).unwrap());
        }
        answers
    }

    #[tokio::test]
    async fn it_tells_metrics_and_health_to_whoever_reads() {
        let answers = ask(
            Patient::default(),
            &[
                b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
                b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n",
                b"HEAD /live HTTP/1.1\r\nHost: a\r\n\r\n",
                b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
                b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            ],
        )
        .await;
        for (answer, status, words) in [
            (&answers[0], "200 OK", "# TYPE vufleet_one gauge\nvufleet_one 1.0\n"),
            (&answers[0], "200 OK", "content-type: text/plain; version=0.0.4; charset=utf-8\r\n"),
            (&answers[1], "200 OK", "{\"status\":\"ok\"}\n"),
            (&answers[2], "200 OK", "content-type: application/json\r\n"),
            (&answers[3], "405 Method Not Allowed", "allow: GET, HEAD\r\n"),
            (&answers[4], "404 Not Found", "/metrics, /health and /live"),
        ] {
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")) && answer.contains(words), "{answer}");
        }
    }

    #[tokio::test]
    async fn who_cannot_work_is_alive_and_not_healthy() {
        let ill = Patient(Mutex::new(Some("no \"coordinator\"".to_owned())));
        let requests: [&[u8]; 2] =
            [b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /live HTTP/1.1\r\nHost: a\r\n\r\n"];
        let answers = ask(ill, &requests).await;
        assert!(answers[0].starts_with("HTTP/1.1 503 "), "{}", answers[0]);
        assert!(answers[0].contains(r#""reason":"no \"coordinator\"""#), "{}", answers[0]);
        assert!(answers[1].starts_with("HTTP/1.1 200 "), "{}", answers[1]);
    }

    #[tokio::test]
    async fn what_is_no_request_or_too_large_a_one_ends_the_connection() {
        let large = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'a'; 20_000], b"\r\n\r\n"].concat();
        let answers = ask(Patient::default(), &[b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", &large]).await;
        assert!(!answers[0].contains("vufleet_one") && answers[1].starts_with("HTTP/1.1 431 "), "{answers:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_not_waited_for() {
        let begun = tokio::time::Instant::now();
        let answers = ask(Patient::default(), &[b"GET /metrics HTT"]).await;
        assert!(!answers[0].contains("vufleet_one"), "{answers:?}");
        assert!(begun.elapsed() <= PATIENCE, "{:?}", begun.elapsed());
    }
}
