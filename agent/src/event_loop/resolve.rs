//! Names of hosts, asked for once and not by every session.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, oneshot};

/// How long an answer holds: sessions that connect together go to one place, and a name that was moved is noticed.
const FRESH: Duration = Duration::from_secs(1);

type Addresses = Arc<[SocketAddr]>;
type Known = HashMap<(String, u16), (Instant, Addresses)>;

/// The addresses behind a name. Whoever asks while somebody else does waits for the same answer.
pub(super) async fn resolve(host: &str, port: u16) -> io::Result<Addresses> {
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(Arc::new([SocketAddr::new(address, port)]));
    }
    let mut known = KNOWN.lock().await;
    let name = (host.to_owned(), port);
    if let Some((since, addresses)) = known.get(&name)
        && since.elapsed() < FRESH
    {
        return Ok(Arc::clone(addresses));
    }
    let addresses = ask(name.clone()).await?;
    known.retain(|_, (since, _)| since.elapsed() < FRESH);
    known.insert(name, (Instant::now(), Arc::clone(&addresses)));
    Ok(addresses)
}

/// The system's resolver blocks, so it gets a thread.
async fn ask(name: (String, u16)) -> io::Result<Addresses> {
    let (answer, answered) = oneshot::channel();
    let ask = move || {
        let addresses = name.to_socket_addrs().map(Addresses::from_iter);
        if answer.send(addresses).is_err() {
            tracing::debug!("a name was resolved that nobody waits for any more");
        }
    };
    std::thread::Builder::new().name("resolver".to_owned()).spawn(ask)?;
    answered.await.map_err(|_| io::Error::other("the thread that resolves names died"))?
}
