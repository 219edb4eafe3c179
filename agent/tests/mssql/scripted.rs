//! A server that answers the negotiation as it should, and what comes after it with the tokens that a test wants. The mock
//! lets everybody in and never falls silent.

use std::sync::{Arc, Mutex};

use mssql_mock_tds::TerminalError;
use mssql_mock_tds::protocol::{
    build_done_token, build_login_ack, build_prelogin_response, build_terminal_error_tokens,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does behind the negotiation.
#[derive(Debug, Clone)]
pub enum Then {
    /// Refuses the login with this error, and closes.
    Refuse(u32, u8, &'static str),
    /// Closes instead of answering the login.
    Close,
    /// Lets in, answers one request, and nothing more.
    FallSilent,
    /// Lets in, and writes down what is asked, the login first; what begins with these words fails.
    Listen(Arc<Mutex<Vec<String>>>, &'static str),
}

/// Serves every connection the same way. Returns the port.
pub async fn serve(then: Then) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let then = then.clone();
            tokio::spawn(async move {
                // A client that leaves early ends its connection, not the test.
                script(socket, then).await.ok();
            });
        }
    });
    port
}

async fn script(mut socket: TcpStream, then: Then) -> std::io::Result<()> {
    message(&mut socket).await?;
    socket.write_all(&build_prelogin_response()).await?;
    let login = message(&mut socket).await?;
    match then {
        Then::Refuse(number, severity, words) => {
            let tokens = build_terminal_error_tokens(&TerminalError::new(number, severity, words));
            socket.write_all(&packet(&tokens)).await
        }
        Then::Close => Ok(()),
        Then::FallSilent => {
            let mut tokens = build_login_ack();
            tokens.extend_from_slice(&build_done_token(0));
            socket.write_all(&packet(&tokens)).await?;
            message(&mut socket).await?;
            socket.write_all(&packet(&build_done_token(0))).await?;
            loop {
                message(&mut socket).await?;
            }
        }
        Then::Listen(heard, failing) => {
            heard.lock().unwrap().push(text(&login));
            let mut tokens = build_login_ack();
            tokens.extend_from_slice(&build_done_token(0));
            socket.write_all(&packet(&tokens)).await?;
            loop {
                let body = message(&mut socket).await?;
                // Headers, the first of whose bytes are their length. [MS-TDS 2.2.5.3]
                let headers = body.first_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
                let sql = text(body.get(headers..).unwrap_or_default());
                let error = TerminalError::new(3201, 16, "Cannot open backup device");
                let fails = sql.starts_with(failing);
                heard.lock().unwrap().push(sql);
                let answer = if fails { build_terminal_error_tokens(&error) } else { build_done_token(0) };
                socket.write_all(&packet(&answer)).await?;
            }
        }
    }
}

/// The largest type of a packet. [MS-TDS 2.2.3.1.1]
const LAST_TYPE: u8 = 18;

/// Reads one message, of as many packets as it has; what is none is an error. [MS-TDS 2.2.3.1]
async fn message(socket: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let mut header = [0; 8];
        socket.read_exact(&mut header).await?;
        if header[0] > LAST_TYPE {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let length = usize::from(u16::from_be_bytes([header[2], header[3]])).saturating_sub(header.len());
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await?;
        whole.extend(body);
        if header[1] & 1 == 1 {
            return Ok(whole);
        }
    }
}

/// UTF-16, whatever lies between.
fn text(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// Tokens as the last packet of an answer.
fn packet(tokens: &[u8]) -> Vec<u8> {
    let length = u16::try_from(tokens.len() + 8).expect("a short answer").to_be_bytes();
    [&[4, 1, length[0], length[1], 0, 0, 1, 0], tokens].concat()
}
