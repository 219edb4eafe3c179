//! The manifests, held against each other and against the programs.

use std::collections::{BTreeMap, BTreeSet};

use yaml_rust2::{Yaml, YamlLoader};

use super::programs::{Line, VERSION, agent_knows};
use super::{root, text};

/// Every object of the manifests, with the file that it is in.
fn objects() -> Vec<(String, Yaml)> {
    let mut objects = Vec::new();
    for folder in ["deploy/kubernetes", "deploy/kubernetes/observer"] {
        let mut files: Vec<_> =
            std::fs::read_dir(root().join(folder)).unwrap().map(|file| file.unwrap().file_name()).collect();
        files.sort();
        for file in files.iter().filter_map(|file| file.to_str()).filter(|file| file.ends_with(".yaml")) {
            let path = format!("{folder}/{file}");
            let documents = YamlLoader::load_from_str(&text(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            objects.extend(documents.into_iter().map(|object| (path.clone(), object)));
        }
    }
    objects
}

fn kind(object: &Yaml) -> &str {
    object["kind"].as_str().unwrap()
}

fn workloads() -> Vec<(String, Yaml)> {
    objects().into_iter().filter(|(_, it)| ["StatefulSet", "DaemonSet", "Job"].contains(&kind(it))).collect()
}

fn labels(map: &Yaml) -> BTreeMap<String, String> {
    let pairs = map.as_hash().into_iter().flatten();
    pairs.map(|(key, value)| (key.as_str().unwrap().to_owned(), value.as_str().unwrap().to_owned())).collect()
}

fn list(value: &Yaml) -> impl Iterator<Item = &Yaml> {
    value.as_vec().into_iter().flatten()
}

fn strings(value: &Yaml) -> Vec<String> {
    list(value).map(|word| word.as_str().expect("words").to_owned()).collect()
}

fn names(value: &Yaml) -> BTreeSet<&str> {
    list(value).map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn every_container_starts_what_there_is() {
    let services: BTreeSet<String> = objects()
        .iter()
        .filter(|(_, it)| kind(it) == "Service")
        .map(|(_, it)| it["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    let mut seen = 0;
    for (path, workload) in workloads() {
        let pod = &workload["spec"]["template"]["spec"];
        for container in list(&pod["containers"]) {
            seen += 1;
            let line = Line::new([strings(&container["command"]), strings(&container["args"])].concat(), &path);
            line.is_taken();
            let passwords = ["VUFLEET_PASSWORD", "VUFLEET_CONTROL_PASSWORD"];
            for variable in names(&container["env"]).into_iter().filter(|name| !passwords.contains(name)) {
                agent_knows(variable);
            }
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
                let words = strings(&container[probe]["exec"]["command"]);
                if workload["kind"].as_str() == Some("Job") {
                    assert!(words.is_empty());
                    continue;
                }
                assert_eq!(line.metrics_port(), Some(words[1].as_str()), "{path}: {probe}");
                Line::new(words, &path).is_taken();
            }
            if let Some(url) = line.flag("--coordinator") {
                let host = url.strip_prefix("https://").and_then(|rest| rest.strip_suffix(":7411")).unwrap();
                assert!(services.contains(host.trim_end_matches(".vufleet.svc")), "{path}: {host}");
                let issued = format!("--host {host}");
                assert!(
                    text("deploy/README.md").contains(&issued),
                    "{path}: the page issues no certificate with {issued}"
                );
            }
            for port in list(&container["ports"]).map(|port| port["containerPort"].as_i64().unwrap()) {
                assert!(line.flag("--listen").unwrap().ends_with(&format!(":{port}")), "{path}");
            }
            mounts(&path, &workload, container, &line);
            hardening(&path, pod, container);
        }
    }
    assert_eq!(seen, 4);
}

/// By the study's own image, passwords and certificate.
#[test]
fn tables_are_made_before_the_study_runs() {
    let (path, job) = workloads().into_iter().find(|(_, it)| kind(it) == "Job").unwrap();
    let pod = &job["spec"]["template"]["spec"];
    let (first, study) = (&pod["initContainers"][0], &pod["containers"][0]);
    assert_eq!((&first["image"], &first["env"]), (&study["image"], &study["env"]), "{path}");
    hardening(&path, pod, first);
    let script = strings(&first["command"]).pop().unwrap();
    let verbs: Vec<&str> = script.split("||").map(str::trim).collect();
    assert_eq!(verbs.len(), 2, "{path}: {script}");
    for verb in verbs {
        let line = Line::of_text(verb, &path);
        line.is_taken();
        assert!(line.flag("--replace").is_none(), "{path}: the tables may be somebody's");
        mounts(&path, &job, first, &line);
    }
}

/// What is mounted is there, and where the command looks for it.
fn mounts(path: &str, workload: &Yaml, container: &Yaml, line: &Line) {
    let pod = &workload["spec"]["template"]["spec"];
    let claims =
        list(&workload["spec"]["volumeClaimTemplates"]).map(|claim| claim["metadata"]["name"].as_str().unwrap());
    let volumes: BTreeSet<&str> = names(&pod["volumes"]).into_iter().chain(claims).collect();
    let places: BTreeMap<&str, &str> = list(&container["volumeMounts"])
        .map(|mount| (mount["mountPath"].as_str().unwrap(), mount["name"].as_str().unwrap()))
        .collect();
    places.values().for_each(|volume| assert!(volumes.contains(volume), "{path}: there is no volume {volume}"));
    assert_eq!(places.get(line.flag("--certs").unwrap()), Some(&"certs"), "{path}");
    for directory in [line.flag("--data"), line.flag("--out")].into_iter().flatten() {
        assert!(places.keys().any(|place| directory.starts_with(place)), "{path}: {directory} is read-only");
    }
    let secret = list(&pod["volumes"]).find_map(|volume| volume["secret"]["secretName"].as_str()).unwrap();
    let made = format!("create secret generic {secret} --from-file=certs/");
    assert!(text("deploy/README.md").contains(&made), "{path}: the page does not say how {secret} is made");
}

fn hardening(path: &str, pod: &Yaml, container: &Yaml) {
    let (of_pod, own) = (&pod["securityContext"], &container["securityContext"]);
    assert_eq!(of_pod["runAsNonRoot"].as_bool(), Some(true), "{path}");
    assert_eq!(of_pod["runAsUser"].as_i64(), Some(10001), "{path}: the image's user");
    assert_eq!(of_pod["seccompProfile"]["type"].as_str(), Some("RuntimeDefault"), "{path}");
    assert_eq!(own["readOnlyRootFilesystem"].as_bool(), Some(true), "{path}");
    assert_eq!(own["allowPrivilegeEscalation"].as_bool(), Some(false), "{path}");
    assert_eq!(strings(&own["capabilities"]["drop"]), ["ALL"], "{path}");
    assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false), "{path}");
}

#[test]
fn selectors_find_what_they_are_for() {
    let templates: Vec<BTreeMap<String, String>> =
        workloads().iter().map(|(_, it)| labels(&it["spec"]["template"]["metadata"]["labels"])).collect();
    let finds = |selector: &BTreeMap<String, String>| {
        templates.iter().any(|labels| selector.iter().all(|(key, value)| labels.get(key) == Some(value)))
    };
    for (path, object) in objects() {
        let spec = &object["spec"];
        let selector = match kind(&object) {
            "StatefulSet" | "DaemonSet" => {
                let selector = labels(&spec["selector"]["matchLabels"]);
                let own = labels(&spec["template"]["metadata"]["labels"]);
                assert!(selector.iter().all(|(key, value)| own.get(key) == Some(value)), "{path}: {selector:?}");
                selector
            }
            "Service" => labels(&spec["selector"]),
            "PodDisruptionBudget" => labels(&spec["selector"]["matchLabels"]),
            "NetworkPolicy" => labels(&spec["podSelector"]["matchLabels"]),
            _ => continue,
        };
        assert!(finds(&selector), "{path}: nothing has {selector:?}");
    }
}

#[test]
fn kustomizations_name_every_manifest_and_this_version() {
    for folder in ["deploy/kubernetes", "deploy/kubernetes/observer"] {
        let path = format!("{folder}/kustomization.yaml");
        let kustomization = YamlLoader::load_from_str(&text(&path)).unwrap().remove(0);
        let listed = strings(&kustomization["resources"]);
        for (file, _) in objects() {
            let Some(name) = file.strip_prefix(&format!("{folder}/")).filter(|name| !name.contains('/')) else {
                continue;
            };
            let by_hand = ["kustomization.yaml", "study.yaml"].contains(&name);
            assert!(by_hand || listed.iter().any(|it| it == name), "{path} lacks {name}");
        }
        let image = list(&kustomization["images"]).next().unwrap();
        assert_eq!((image["name"].as_str(), image["newTag"].as_str()), (Some("vufleet"), Some(VERSION)), "{path}");
    }
    for (path, workload) in workloads() {
        let image =
            list(&workload["spec"]["template"]["spec"]["containers"]).next().unwrap()["image"].as_str().unwrap();
        assert!(image == "vufleet" || image.ends_with(&format!("/vufleet:{VERSION}")), "{path}: {image}");
    }
}
