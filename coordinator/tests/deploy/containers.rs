//! The image, and the lab of `compose.yaml`.

use std::collections::BTreeSet;

use yaml_rust2::{Yaml, YamlLoader};

use super::programs::{Line, VERSION};
use super::text;

fn compose() -> Yaml {
    YamlLoader::load_from_str(&merged(&text("deploy/compose.yaml"))).unwrap().remove(0)
}

/// YAML's merge keys are no part of its data model: what a service inherits is looked at where it is defined.
fn merged(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("<<:")).collect::<Vec<_>>().join("\n")
}

fn strings(list: &Yaml) -> Vec<String> {
    list.as_vec().into_iter().flatten().map(|word| word.as_str().expect("words").to_owned()).collect()
}

fn names(map: &Yaml) -> BTreeSet<String> {
    map.as_hash().into_iter().flatten().map(|(name, _)| name.as_str().unwrap().to_owned()).collect()
}

/// The commands of a service: its own, or those of its script.
fn lines(service: &Yaml, place: &str) -> Vec<Line> {
    let words = strings(&service["command"]);
    if words.first().is_none_or(|program| program != "/bin/sh") {
        return if place == "mariadb" { Vec::new() } else { vec![Line::new(words, place)] };
    }
    let script = words.last().unwrap().replace("$$", "$");
    let mut lines = Vec::new();
    for line in script.lines().map(|line| line.trim().trim_start_matches("exec ")) {
        // The script's own function, and what it does for each.
        if let Some(whom) = line.strip_prefix("issue ") {
            lines.push(Line::of_text(&format!("vufleet certs issue {whom} --dir /certs"), place));
        } else if let Some(at) = line.find("vufleet ").filter(|_| !line.starts_with("issue()")) {
            lines.push(Line::of_text(&line[at..], place));
        }
    }
    lines
}

#[test]
fn every_service_starts_what_there_is_and_rests_on_what_there_is() {
    let compose = compose();
    let (services, volumes, secrets) =
        (names(&compose["services"]), names(&compose["volumes"]), names(&compose["secrets"]));
    let script = text("deploy/compose.yaml");
    let mut agents = 0;
    for name in &services {
        let service = &compose["services"][name.as_str()];
        for needed in names(&service["depends_on"]) {
            assert!(services.contains(&needed), "{name} rests on {needed}");
        }
        for secret in strings(&service["secrets"]) {
            assert!(secrets.contains(&secret), "{name}: {secret}");
        }
        for line in lines(service, name) {
            line.is_taken();
            agents += usize::from(line.program() == "vufleet-agent");
            if let Some(url) = line.flag("--coordinator") {
                assert_eq!(url, "https://coordinator:7411", "{name}");
            }
        }
        for mount in service["volumes"].as_vec().into_iter().flatten().filter(|mount| mount.as_hash().is_some()) {
            let (source, part) = (mount["source"].as_str().unwrap(), mount["volume"]["subpath"].as_str().unwrap());
            let (role, holder) = part.split_once('-').unwrap();
            assert!(
                volumes.contains(source) && script.contains(&format!("issue {role} {holder}")),
                "{name}: nobody makes {part}"
            );
            assert_eq!(
                (mount["target"].as_str(), mount["read_only"].as_bool()),
                (Some("/certs"), Some(true)),
                "{name}"
            );
        }
    }
    let wait = lines(&compose["services"]["study"], "study");
    assert_eq!(wait.len(), 2);
    wait.iter().for_each(|line| assert_eq!(line.flag("--wait-for-agents"), Some(agents.to_string().as_str())));
}

/// Ports of probes are those that metrics are shown at.
#[test]
fn probes_ask_where_somebody_answers() {
    let compose = compose();
    let of_agents = strings(&compose["x-agent"]["healthcheck"]["test"]);
    assert_eq!(of_agents[..2], ["CMD", "vufleet-probe"]);
    for name in ["load-1", "load-2", "db-1"] {
        let line = lines(&compose["services"][name], name).remove(0);
        assert_eq!(line.metrics_port(), Some(of_agents[2].as_str()), "{name}");
    }
    let of_image = instruction("HEALTHCHECK").split_once("CMD ").map(|(_, words)| list(words)).unwrap();
    let coordinator = lines(&compose["services"]["coordinator"], "coordinator").remove(0);
    for line in [coordinator, Line::new(list(&instruction("CMD ")), "Dockerfile")] {
        line.is_taken();
        assert_eq!(line.metrics_port(), Some(of_image[1].as_str()));
        assert!(line.flag("--listen").unwrap().ends_with(&format!(":{}", instruction("EXPOSE "))));
    }
    Line::new(of_image, "Dockerfile").is_taken();
    Line::new(of_agents[1..].to_vec(), "compose.yaml").is_taken();
}

/// The last one of that name, without it.
fn instruction(name: &str) -> String {
    let text = text("deploy/Dockerfile");
    let line = text.lines().rev().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name}")).to_owned()
}

fn list(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_study_fits_the_lab() {
    let (compose, study) = (compose(), text("deploy/compose-study.toml"));
    let study = vufleet_scenarios::study::read(&study, &vufleet_scenarios::study::Edits::default()).unwrap();
    let host = study.target.host.as_deref().unwrap();
    assert!(names(&compose["services"]).contains(host), "{host}");
    let made = &compose["services"][host]["environment"];
    assert_eq!(made["MARIADB_DATABASE"].as_str(), study.target.database.as_deref());
    assert_eq!(made["MARIADB_USER"].as_str(), study.target.user.as_deref());
    let text = text("deploy/compose-study.toml");
    for file in ["MARIADB_PASSWORD_FILE", "MARIADB_ROOT_PASSWORD_FILE"].map(|key| made[key].as_str().unwrap()) {
        assert!(text.contains(&format!("file = \"{file}\"")), "{file}");
    }
}

#[test]
fn images_have_a_version_and_the_builder_gets_what_it_needs() {
    let compose = compose();
    let image = compose["x-vufleet"]["image"].as_str().unwrap().to_owned();
    assert_eq!(image, format!("vufleet:{VERSION}"));
    let dockerfile = text("deploy/Dockerfile");
    let from = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM ")).map(|it| it.split(' ').next().unwrap());
    for image in from.chain([compose["services"]["mariadb"]["image"].as_str().unwrap()]) {
        let (_, tag) = image.split_once(':').unwrap_or_else(|| panic!("{image} has no tag"));
        assert!(tag.contains('.'), "{image} may be another one tomorrow");
    }
    let ignored = text(".dockerignore");
    let manifest = text("Cargo.toml");
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = [")).unwrap();
    for member in members.trim_end_matches(']').split(", ").map(|member| member.trim_matches('"')) {
        assert!(ignored.contains(&format!("\n!{member}\n")), ".dockerignore keeps {member} from the builder");
    }
}
