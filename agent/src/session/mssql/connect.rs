//! Opening a connection exactly as the study says.

use std::time::Duration;

use secrecy::ExposeSecret;
use tiberius::error::Error;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel, SqlBrowser};
use tokio::net::TcpStream;
use tokio_util::compat::TokioAsyncWriteCompatExt;
use vufleet_scenarios::session::{Fault, Row, Rows, Value};
use vufleet_scenarios::study::{MssqlLogin, Target, Tls};

use super::refusal::{no_instance, place, refusal, refused, silent, unreachable};
use super::wire::{Look, Wire};
use super::{Tds, answer};

/// How long a server may take to let us in, all redirections included.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Redirections followed, at most: a gateway makes one.
const REDIRECTIONS: u32 = 3;
/// What the server shows as the program's name.
const APPLICATION: &str = "vufleet";

/// An open connection, what the server says of it, and how it was reached.
pub(super) struct Opened {
    pub client: Box<Tds>,
    pub id: Option<u64>,
    pub version: Box<str>,
    pub route: String,
}

/// Opens a connection to the target.
pub(super) async fn open(target: &Target) -> Result<Opened, Fault> {
    let at = place(target);
    match tokio::time::timeout(CONNECT_LIMIT, log_in(target, &at)).await {
        Ok(opened) => opened,
        Err(_) => Err(silent(&at, CONNECT_LIMIT)),
    }
}

async fn log_in(target: &Target, at: &str) -> Result<Opened, Fault> {
    let (mut client, look) = reach(target, at).await?;
    let mut hello = Hello::default();
    // A lock is waited for as long as a transaction may take, and not for ever.
    let limit = i32::try_from(target.deadline.as_millis()).unwrap_or(i32::MAX);
    // What a server's administrator may have made its default for all (`user options`) and no login switches off: counts
    // that are kept back, and transactions that nobody begins or ends.
    let sql = format!(
        "SET NOCOUNT OFF; SET IMPLICIT_TRANSACTIONS OFF; SET XACT_ABORT OFF; SET LOCK_TIMEOUT {limit}; SELECT @@SPID, \
         @@VERSION"
    );
    answer::of_batch(&sql, &mut client, &mut hello).await?;
    let route = route(target, look.is_encrypted());
    Ok(Opened { client, id: hello.id, version: hello.version.into(), route })
}

/// Logs in where the target says, or where the server there sends us.
async fn reach(target: &Target, at: &str) -> Result<(Box<Tds>, Look), Fault> {
    let Some(host) = target.host.clone() else {
        return Err(refusal("the target names no server; set target.host".to_owned()));
    };
    let config = config(target)?;
    let socket = match &target.mssql.instance {
        Some(_) => {
            TcpStream::connect_named(&with_host(&config, &host)).await.map_err(|error| no_instance(at, &error))?
        }
        None => connect(target, at, &host, target.port).await?,
    };
    let mut attempt = handshake(with_host(&config, &host), socket).await;
    for _ in 0..REDIRECTIONS {
        let Err(Error::Routing { host, port }) = attempt else { break };
        // A named instance comes as host\instance; its port is what counts.
        let host = host.split('\\').next().unwrap_or(&host).to_owned();
        let socket = connect(target, &format!("{host}:{port} (sent there by {at})"), &host, port).await?;
        let mut config = config.clone();
        config.host(&host);
        attempt = handshake(config, socket).await;
    }
    match attempt {
        Err(Error::Routing { host, port }) => Err(refusal(format!(
            "{at} sent us on {REDIRECTIONS} times, and then to {host}:{port}; correct target.host, or the servers' routing"
        ))),
        result => result.map_err(|error| refused(target, at, error)),
    }
}

async fn connect(target: &Target, at: &str, host: &str, port: u16) -> Result<TcpStream, Fault> {
    let socket = TcpStream::connect((host, port)).await.map_err(|error| unreachable(target, at, &error))?;
    socket.set_nodelay(true).map_err(|error| unreachable(target, at, &error))?;
    Ok(socket)
}

async fn handshake(config: Config, socket: TcpStream) -> Result<(Box<Tds>, Look), Error> {
    let (wire, look) = Wire::new(socket);
    let client = Box::pin(Client::connect(config, wire.compat_write())).await?;
    Ok((Box::new(client), look))
}

/// The name also goes to the server, and is what its certificate is held against.
fn with_host(config: &Config, host: &str) -> Config {
    let mut config = config.clone();
    config.host(host);
    config
}

fn config(target: &Target) -> Result<Config, Fault> {
    let mut config = Config::new();
    match &target.mssql.instance {
        // The port is the Browser's then, until that has told the instance's.
        Some(instance) => config.instance_name(instance),
        None => config.port(target.port),
    }
    config.application_name(APPLICATION);
    if let Some(name) = host_name() {
        config.client_name(name);
    }
    if let Some(database) = &target.database {
        config.database(database);
    }
    config.authentication(authentication(target));
    config.readonly(target.mssql.read_only_intent);
    if let Some(size) = target.mssql.packet_size {
        config.packet_size(size);
    }
    encryption(&mut config, target)?;
    // Its timer costs a third of a statement's processor time; virtual users have deadlines of their own.
    config.command_timeout(None);
    config.handshake_timeout(None);
    Ok(config)
}

fn authentication(target: &Target) -> AuthMethod {
    let password = target.password.as_ref().map_or("", |password| password.expose_secret());
    match target.mssql.login {
        MssqlLogin::Sql => AuthMethod::sql_server(target.user.as_deref().unwrap_or(""), password),
        MssqlLogin::EntraToken => AuthMethod::aad_token(password),
    }
}

fn encryption(config: &mut Config, target: &Target) -> Result<(), Fault> {
    config.encryption(match target.tls {
        Tls::Disabled => EncryptionLevel::NotSupported,
        Tls::LoginOnly => EncryptionLevel::Off,
        Tls::Preferred | Tls::Required | Tls::Verify => EncryptionLevel::Required,
        Tls::Strict => EncryptionLevel::Strict,
    });
    if target.mssql.trust_server_certificate {
        config.trust_cert();
    } else if let Some(file) = &target.ca_file {
        // Read here: the client goes by the file's extension, and does not say which key of the study named it.
        let bundle = std::fs::read(file).map_err(|error| {
            refusal(format!(
                "cannot read target.ca_file = {}: {error}; correct the path or its permissions",
                file.display()
            ))
        })?;
        config.trust_cert_ca_bundle(bundle);
    }
    if let Some(name) = &target.server_name {
        config.hostname_in_certificate(name);
    }
    Ok(())
}

/// This host's name, which the server shows beside the program's.
fn host_name() -> Option<String> {
    nix::unistd::gethostname().ok()?.into_string().ok()
}

fn route(target: &Target, encrypted: bool) -> String {
    let mut route = match (target.tls, encrypted) {
        (Tls::Strict, _) => "tcp, TLS (strict)",
        (_, true) => "tcp, TLS",
        (Tls::LoginOnly, false) => "tcp, login encrypted only",
        (_, false) => "tcp, no TLS",
    }
    .to_owned();
    if target.mssql.trust_server_certificate && (encrypted || target.tls == Tls::LoginOnly) {
        route.push_str(", certificate NOT verified");
    }
    if target.mssql.read_only_intent {
        route.push_str(", read-only intent");
    }
    route
}

/// What the server says of itself and the connection. A server that says nothing has no id and no version.
#[derive(Default)]
struct Hello {
    id: Option<u64>,
    version: String,
}

impl Rows for Hello {
    fn row(&mut self, row: &impl Row) {
        if let (Value::Int(id), Value::Text(version)) = (row.get(0), row.get(1)) {
            self.id = u64::try_from(id).ok();
            // The lines below tell the build's date and the operating system.
            self.version = version.lines().next().unwrap_or_default().trim().to_owned();
        }
    }
}
