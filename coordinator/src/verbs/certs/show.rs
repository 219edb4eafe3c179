//! `vufleet certs show`.

use crate::args::CertsShow;
use crate::exit::Exit;

pub fn run(_args: &CertsShow) -> anyhow::Result<Exit> {
    Ok(Exit::Done)
}
