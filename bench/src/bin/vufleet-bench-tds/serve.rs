//! The scripted server: it lets everybody in, and has one answer to each kind of request.

use std::io::{self, Write};
use std::rc::Rc;

use anyhow::Result;
use clap::ValueEnum;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::calls::{self, Call};
use crate::tokens::{self, Cell, Tokens};

const HEADER: usize = 8;
/// Room for a request; larger ones find more.
const REQUEST: usize = 1024;

/// Serves until standard input ends.
pub async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    io::stdout().flush()?;
    let answers = Rc::new(Answers::new());
    let mut end = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink()));
    loop {
        tokio::select! {
            _ = &mut end => return Ok(()),
            accepted = listener.accept() => {
                let (socket, _) = accepted?;
                socket.set_nodelay(true)?;
                let answers = Rc::clone(&answers);
                // A client that leaves ends its connection, not the server.
                tokio::task::spawn_local(async move { attend(socket, &answers).await.ok() });
            }
        }
    }
}

async fn attend(mut socket: TcpStream, answers: &Answers) -> io::Result<()> {
    let mut heard = Vec::with_capacity(REQUEST);
    loop {
        while !is_whole(&heard) {
            if socket.read_buf(&mut heard).await? == 0 {
                return Ok(());
            }
        }
        socket.write_all(answers.to(&heard)).await?;
        heard.clear();
    }
}

/// Whether the last packet of a message is there. The client waits for each answer, so nothing comes behind it.
fn is_whole(mut heard: &[u8]) -> bool {
    while let Some(header) = heard.first_chunk::<HEADER>() {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]])).max(HEADER);
        if heard.len() < length {
            return false;
        }
        if header[1] & 1 == 1 {
            return true;
        }
        heard = &heard[length..];
    }
    false
}

struct Answers {
    negotiation: Vec<u8>,
    welcome: Vec<u8>,
    hello: Vec<u8>,
    batch: Vec<u8>,
    begun: Vec<u8>,
    committed: Vec<u8>,
    rolled_back: Vec<u8>,
    attention: Vec<u8>,
    procedure: Vec<u8>,
    calls: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Answers {
    fn new() -> Answers {
        let version = Cell::Text("Microsoft SQL Server 2022 (scripted) - 16.0.1000.6");
        let calls = Call::value_variants().iter().map(|call| (utf16(call.procedure()), call.answer()));
        let first = Tokens::default().row(calls::ROW_OF_POINT_SELECT).in_procedure(Some(1)).handle();
        let prepared = (utf16("sp_prepexec"), first.procedure());
        Answers {
            negotiation: tokens::negotiation(),
            welcome: tokens::welcome(),
            hello: Tokens::default().row(&[("id", Cell::Int(51)), ("version", version)]).batch(),
            batch: Tokens::default().batch(),
            begun: tokens::begun(),
            committed: tokens::ended(true),
            rolled_back: tokens::ended(false),
            attention: tokens::attention(),
            procedure: Tokens::default().procedure(),
            calls: calls.chain([prepared]).collect(),
        }
    }

    /// By the type of the request's first packet. [MS-TDS 2.2.3.1.1]
    fn to(&self, heard: &[u8]) -> &[u8] {
        let body = &heard[HEADER..];
        match heard[0] {
            1 if contains(body, "@@SPID") => &self.hello,
            1 => &self.batch,
            3 => self.to_call(behind_headers(body)),
            6 => &self.attention,
            14 => match behind_headers(body).first() {
                Some(5) => &self.begun,
                Some(7) => &self.committed,
                _ => &self.rolled_back,
            },
            16 => &self.welcome,
            _ => &self.negotiation,
        }
    }

    /// By the procedure's name.
    fn to_call(&self, request: &[u8]) -> &[u8] {
        let Some((length, rest)) = request.split_first_chunk() else { return &self.procedure };
        let name = rest.get(..2 * usize::from(u16::from_le_bytes(*length))).unwrap_or_default();
        self.calls.iter().find(|(known, _)| known == name).map_or(&self.procedure, |(_, answer)| answer)
    }
}

/// Headers begin with their own length. [MS-TDS 2.2.5.3]
fn behind_headers(body: &[u8]) -> &[u8] {
    let length = body.first_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    body.get(length..).unwrap_or_default()
}

fn contains(body: &[u8], text: &str) -> bool {
    let text = utf16(text);
    body.windows(text.len()).any(|window| window == text)
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}
