//! `vufleet certs issue`: a directory of certificates for one process.

use std::path::Path;
use std::time::SystemTime;

use anyhow::bail;
use vufleet_trust::authority::{Authority, CA_KEY, Order};
use vufleet_trust::certificate::day;
use vufleet_trust::files::Existing;
use vufleet_trust::host::Host;
use vufleet_trust::identity::{Identity, Role};
use vufleet_trust::validity::Validity;

use super::days_until;
use crate::args::Issue;
use crate::exit::{Exit, Usage};

/// Whoever is on the coordinator's own host dials it by one of these.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Issues one.
pub fn run(args: &Issue) -> anyhow::Result<Exit> {
    let identity = identity(args)?;
    let hosts = hosts(identity.role, &args.hosts)?;
    let authority = authority(&args.dir)?;
    let place = args.dir.join(format!("{}-{}", identity.role, identity.name));
    let existing = if args.replace { Existing::Replace } else { Existing::Keep };
    if existing == Existing::Keep && place.exists() {
        bail!("{} exists already; add --replace to issue another certificate in its place", place.display());
    }
    let order = Order { identity, hosts, validity: Validity::days(args.days) };
    let pair = authority.issue(&order)?;
    pair.save(&place, &authority, existing)?;
    let until = pair.validity.until;
    println!(
        "{} is a certificate for {}, until {} ({} days)",
        place.display(),
        order.identity,
        day(until),
        days_until(until)
    );
    if until < order.validity.until {
        println!("  not {} days: its authority ends then", args.days);
    }
    if !order.hosts.is_empty() {
        let hosts: Vec<_> = order.hosts.iter().map(Host::to_string).collect();
        println!("  dialled as {}", hosts.join(", "));
    }
    println!("copy the directory to its host, for {}", use_of(order.identity.role));
    Ok(Exit::Done)
}

fn use_of(role: Role) -> &'static str {
    match role {
        Role::Coordinator => "vufleet coordinator --certs DIR",
        Role::Agent => "vufleet-agent --certs DIR",
        Role::Operator => "vufleet run --certs DIR and every other verb that speaks to a coordinator",
        Role::Monitor => "whatever reads /metrics (Prometheus: tls_config with ca_file, cert_file and key_file)",
    }
}

fn identity(args: &Issue) -> Result<Identity, Usage> {
    let role = Role::from(args.role);
    let name = match (&args.name, args.any_name, role) {
        (None, true, Role::Agent) => Identity::ANY,
        (_, true, _) => return Err(Usage(format!("--any-name is for agents; leave it out for {role}"))),
        (None, false, Role::Agent) => {
            return Err(Usage(
                "an agent's certificate names it; write its name (vufleet certs issue agent load-1), or --any-name for one that \
                 several agents share"
                    .to_owned(),
            ));
        }
        (None, false, _) => "main",
        (Some(name), false, _) if name == Identity::ANY => {
            return Err(Usage(format!(
                "{name} is what --any-name puts into an agent's certificate; write that, or another name"
            )));
        }
        (Some(name), false, _) => name,
    };
    Identity::new(role, name).map_err(|_| {
        Usage(format!(
            "{name:?} cannot be a name in a certificate; it has 1 to 100 letters, digits, dots, hyphens and underscores"
        ))
    })
}

fn hosts(role: Role, asked: &[Host]) -> Result<Vec<Host>, Usage> {
    match role {
        Role::Coordinator if asked.is_empty() => Err(Usage(
            "agents and operators verify a coordinator by the name that they dial; add --host for each: --host lab1.example \
             --host 10.0.0.7"
                .to_owned(),
        )),
        Role::Coordinator => {
            let mut hosts = asked.to_vec();
            let loopback: Vec<Host> = LOOPBACK.iter().filter_map(|host| host.parse().ok()).collect();
            hosts.extend(loopback.into_iter().filter(|host| !asked.contains(host)));
            Ok(hosts)
        }
        Role::Operator | Role::Monitor if !asked.is_empty() => {
            Err(Usage(format!("nobody dials {role}s; leave --host out")))
        }
        _ => Ok(asked.to_vec()),
    }
}

fn authority(dir: &Path) -> anyhow::Result<Authority> {
    if !Authority::is_in(dir) {
        bail!("{} holds no authority; make one with `vufleet certs init --dir {0}`, or name its --dir", dir.display());
    }
    if !dir.join(CA_KEY).exists() {
        bail!(
            "{} holds an authority's certificate without its key; issue where {CA_KEY} is, which is where `vufleet certs init` ran",
            dir.display()
        );
    }
    let authority = Authority::load(dir)?;
    let until = authority.validity().until;
    if until <= SystemTime::now() {
        bail!(
            "the authority in {} has expired on {}; make a new one with `vufleet certs init --replace` and issue all certificates anew",
            dir.display(),
            day(until)
        );
    }
    Ok(authority)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Certs, Cli, Verb};
    use clap::Parser;

    fn typed(line: &str) -> Result<(String, Vec<String>), String> {
        let words = ["vufleet", "certs", "issue"].into_iter().chain(line.split(' '));
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        let Verb::Certs(Certs::Issue(args)) = cli.verb else { panic!("certs issue was typed") };
        let identity = identity(&args).map_err(|usage| usage.0)?;
        let hosts = hosts(identity.role, &args.hosts).map_err(|usage| usage.0)?;
        Ok((identity.uri(), hosts.iter().map(Host::to_string).collect()))
    }

    #[test]
    fn who_and_which_hosts_are_as_typed() {
        for (line, uri, hosts) in [
            ("agent load-1", "spiffe://vufleet/agent/load-1", &[][..]),
            ("agent --any-name", "spiffe://vufleet/agent/_any", &[]),
            ("agent load-1 --host load-1.lab", "spiffe://vufleet/agent/load-1", &["load-1.lab"]),
            ("operator alice", "spiffe://vufleet/operator/alice", &[]),
            ("operator", "spiffe://vufleet/operator/main", &[]),
            ("monitor", "spiffe://vufleet/monitor/main", &[]),
            (
                "coordinator --host db1 --host ::1",
                "spiffe://vufleet/coordinator/main",
                &["db1", "::1", "localhost", "127.0.0.1"],
            ),
        ] {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            assert_eq!(typed(line), Ok((uri.to_owned(), hosts)), "{line}");
        }
    }

    #[test]
    fn mistakes_are_told_with_what_to_write() {
        for (line, remedy) in [
            ("coordinator", "add --host"),
            ("coordinator main --host https://db1:7411", "without scheme and port"),
            ("agent", "certs issue agent load-1"),
            ("agent _any", "--any-name"),
            ("agent load/1", "letters, digits"),
            ("agent load-1 --any-name", "--any-name"),
            ("operator --any-name", "for agents"),
            ("operator alice --host db1", "leave --host out"),
            ("root", "coordinator, agent, operator, monitor"),
            ("agent a --days 0", "--days"),
        ] {
            let refusal = typed(line).unwrap_err();
            assert!(refusal.contains(remedy), "{line}: {refusal}");
        }
    }
}
