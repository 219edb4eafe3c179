//! `vufleet agents`: who is there.

use std::collections::HashMap;
use std::net::SocketAddr;

use comfy_table::{Table, presets};
use vufleet_proto::v1::{AgentState, Heartbeat};

use crate::args::Agents;
use crate::exit::{Exit, Usage};
use crate::operator::Operator;
use crate::stdout;

/// Lists.
pub async fn run(args: Agents) -> anyhow::Result<Exit> {
    let security = args.at.wire.security()?;
    let url = security.url(&args.at.coordinator).map_err(Usage::from)?;
    let reply = Operator::dial(&url, &security).await?.agents().await?;
    if reply.agents.is_empty() {
        println!("no agents at {url}; start one with: vufleet-agent --coordinator {url} --roles drive,observe");
    } else {
        stdout::line(table(&reply.agents))?;
        if let Some(told) = versions(&reply.agents, &reply.version) {
            println!("{told}");
        }
    }
    Ok(Exit::Done)
}

/// One agent a line, by name.
fn table(agents: &[AgentState]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "agent",
        "roles",
        "labels",
        "from",
        "version",
        "cores",
        "clock offset",
        "load",
        "control",
        "state",
    ]);
    let mut agents: Vec<_> = agents.iter().collect();
    agents.sort_by_key(|agent| agent.hello.as_ref().map(|hello| hello.name.clone()));
    for agent in agents {
        let hello = agent.hello.clone().unwrap_or_default();
        let heartbeat = agent.heartbeat.as_ref();
        table.add_row([
            hello.name,
            hello.roles.join(","),
            labels(&hello.labels),
            from(agent),
            hello.version,
            hello.cores.to_string(),
            heartbeat.map(offset).unwrap_or_default(),
            heartbeat.map(load).unwrap_or_default(),
            if hello.allow_control { "allowed" } else { "" }.to_owned(),
            state(agent),
        ]);
    }
    table
}

/// Agents of another version than the coordinator's.
fn versions(agents: &[AgentState], coordinator: &str) -> Option<String> {
    let hellos = agents.iter().filter(|agent| agent.connected).filter_map(|agent| agent.hello.as_ref());
    let others: Vec<String> = hellos
        .filter(|hello| hello.version != coordinator)
        .map(|hello| format!("{} is {}", hello.name, hello.version))
        .collect();
    (!others.is_empty()).then(|| {
        format!("versions differ: the coordinator is {coordinator}, {}; measure with one version", others.join(", "))
    })
}

fn labels(labels: &HashMap<String, String>) -> String {
    let mut pairs: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.sort();
    pairs.join(",")
}

/// Its address, and who it is by its certificate.
fn from(agent: &AgentState) -> String {
    let address = agent.address.parse::<SocketAddr>().map_or(String::new(), |address| address.ip().to_string());
    match agent.identity.as_str() {
        _ if address.is_empty() => String::new(),
        "" => format!("{address}, plaintext"),
        identity => format!("{address}, {identity}"),
    }
}

fn offset(heartbeat: &Heartbeat) -> String {
    let ms = |ns: f64| ns / 1e6;
    format!("{:+.2} ms, {:.2} either way", ms(heartbeat.offset_ns as f64), ms(heartbeat.uncertainty_ns as f64))
}

fn load(heartbeat: &Heartbeat) -> String {
    if heartbeat.run == 0 {
        return "idle".to_owned();
    }
    format!("run {}: {} sessions, {:.0} % CPU", heartbeat.run, heartbeat.sessions, heartbeat.process_cpu_percent)
}

fn state(agent: &AgentState) -> String {
    if agent.connected { "connected".to_owned() } else { format!("silent for {} s", agent.silent_ms / 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vufleet_proto::v1::Hello;

    #[test]
    fn agents_are_listed_by_name_with_what_they_said() {
        let hello = |name: &str| Hello {
            name: name.into(),
            roles: vec!["drive".into(), "observe".into()],
            labels: HashMap::from([("zone".into(), "a".into()), ("host".into(), "db".into())]),
            version: "0.1.0".into(),
            cores: 4,
            ..Hello::default()
        };
        let heartbeat = Heartbeat {
            offset_ns: -1_250_000,
            uncertainty_ns: 80_000,
            run: 7,
            sessions: 16,
            process_cpu_percent: 12.4,
            ..Heartbeat::default()
        };
        let gone = AgentState { hello: Some(hello("b")), silent_ms: 12_900, ..Default::default() };
        let here = AgentState {
            hello: Some(hello("a")),
            heartbeat: Some(heartbeat),
            connected: true,
            silent_ms: 1,
            address: "10.0.0.5:40000".into(),
            identity: "agent a".into(),
            ..Default::default()
        };
        assert_eq!(versions(&[here.clone(), gone.clone()], "0.1.0"), None);
        let told = versions(&[here.clone(), gone.clone()], "0.2.0").unwrap();
        assert!(told.contains("the coordinator is 0.2.0, a is 0.1.0;"), "who has gone is not told of: {told}");
        let text = table(&[gone, here]).to_string();
        let lines: Vec<_> = text.lines().collect();
        for part in [
            "a ",
            "drive,observe",
            "host=db,zone=a",
            "10.0.0.5, agent a",
            "0.1.0",
            "-1.25 ms, 0.08",
            "run 7: 16 sessions, 12 % CPU",
        ] {
            assert!(lines[1].contains(part), "{part} in {text}");
        }
        assert!(lines[2].trim_start().starts_with("b ") && lines[2].contains("silent for 12 s"), "{text}");
    }
}
