//! `vufleet certs init`: the authority of a lab.

use anyhow::{Context, bail};
use vufleet_trust::authority::{Authority, CA_CERTIFICATE, CA_KEY};
use vufleet_trust::certificate::day;
use vufleet_trust::files::Existing;
use vufleet_trust::validity::Validity;

use crate::args::Init;
use crate::exit::Exit;

/// Makes one.
pub fn run(args: &Init) -> anyhow::Result<Exit> {
    let dir = &args.dir;
    let existing = if args.replace { Existing::Replace } else { Existing::Keep };
    if existing == Existing::Keep && Authority::is_in(dir) {
        bail!(
            "{} holds an authority already; issue certificates by it, name another --dir, or make a new authority with --replace",
            dir.display()
        );
    }
    let mut authority = Authority::create(&args.name, Validity::days(args.days))?;
    let before = dir.join(CA_CERTIFICATE);
    let succeeds = existing == Existing::Replace && before.exists();
    if succeeds {
        let former =
            std::fs::read_to_string(&before).with_context(|| format!("{} cannot be read", before.display()))?;
        authority.trust_beside(&former)?;
    }
    authority.save(dir, existing)?;
    println!("{} is the authority {:?}, until {}", dir.display(), args.name, day(authority.validity().until));
    println!("  {:<8}goes to every process, with its certificate", CA_CERTIFICATE);
    println!("  {:<8}stays here: whoever has it can issue certificates for anything", CA_KEY);
    if succeeds {
        println!(
            "The authority before it is still trusted, for a rotation without an outage: copy {} to every",
            before.display()
        );
        println!(
            "process first, then issue and copy new certificates (vufleet certs issue --replace), then take the old"
        );
        println!("authority, which comes second, out of all ca.crt.");
    } else {
        println!(
            "next: vufleet certs issue coordinator --host HOST, vufleet certs issue agent NAME, vufleet certs issue operator NAME"
        );
    }
    Ok(Exit::Done)
}
