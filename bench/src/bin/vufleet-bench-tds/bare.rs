//! The client library by itself, called as its documentation says, with the settings that vufleet gives it.

use std::rc::Rc;

use anyhow::Result;
use secrecy::ExposeSecret;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::Target;

use crate::calls::Call;
use crate::compare::Caller;

/// A connection.
pub struct Bare(Client<Compat<TcpStream>>);

impl Caller for Bare {
    async fn open(target: &Target, _statements: &Rc<[Statement]>) -> Result<Bare> {
        let mut config = Config::new();
        config.host("127.0.0.1");
        config.port(target.port);
        config.encryption(EncryptionLevel::NotSupported);
        let password = target.password.as_ref().map_or("", |password| password.expose_secret());
        config.authentication(AuthMethod::sql_server("bench", password));
        config.command_timeout(None);
        config.handshake_timeout(None);
        let socket = TcpStream::connect(("127.0.0.1", target.port)).await?;
        socket.set_nodelay(true)?;
        Ok(Bare(Box::pin(Client::connect(config, socket.compat_write())).await?))
    }

    async fn call(&mut self, call: Call) -> Result<u64> {
        let result = call.command().exec(&mut self.0).await?.into_command_result().await?;
        let rows = result.to_query_result(0).map_or(0, Vec::len);
        Ok((rows + result.return_values_len()) as u64)
    }
}
