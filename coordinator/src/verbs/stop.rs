//! `vufleet stop`: ends what a coordinator runs; what was measured is kept.

use anyhow::bail;

use crate::args::Stop;
use crate::exit::{Exit, Usage};
use crate::operator::Operator;

/// Stops.
pub async fn run(args: Stop) -> anyhow::Result<Exit> {
    let security = args.at.wire.security()?;
    let url = security.url(&args.at.coordinator).map_err(Usage::from)?;
    let asked = args.id.unwrap_or_default();
    match Operator::dial(&url, &security).await?.stop(&asked).await? {
        Some(stopped) => println!("stopped study {stopped}; what was measured is in the ledger"),
        None if asked.is_empty() => println!("nothing is running at {url}"),
        None => bail!("study {asked} is not running at {url}; leave the id out to stop whatever runs"),
    }
    Ok(Exit::Done)
}
