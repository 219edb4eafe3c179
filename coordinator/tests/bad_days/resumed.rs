//! Studies that go on where they were interrupted: what is finished is neither lost nor made again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::Value;

use super::lab::fleet::{Coordinator, agent, agent_command};
use super::lab::{Ended, Job, Lab, files, study};

/// Three blocks of two variants that do not differ, each run a few seconds.
fn blocks(more: &str) -> String {
    let study = study::small(study::SIMULATED).replace("repetitions = 1", "repetitions = 3");
    let study = study.replace("ramp_up = \"1s\"\nmeasure = \"2s\"", "ramp_up = \"500ms\"\nmeasure = \"1s\"");
    format!("{study}{more}\n[[variants]]\nname = \"baseline\"\n\n[[variants]]\nname = \"other\"\n")
}

/// What the ledger says of the last study now.
fn so_far(lab: &Lab, out: &str) -> Value {
    lab.run(&format!("export last --out {out}")).expect(0);
    files::results(&lab.path(out))
}

/// The run that counts in each cell and block.
fn counting(results: &Value) -> BTreeMap<(u64, String), u64> {
    let counts = |run: &&Value| files::counts(run) && run["superseded"] != true;
    let place = |run: &Value| (run["repetition"].as_u64().unwrap(), run["variant"].as_str().unwrap().to_owned());
    files::runs(results).iter().filter(counts).map(|run| (place(run), run["run"].as_u64().unwrap())).collect()
}

/// Blocks of which both variants are there.
fn finished(results: &Value) -> BTreeSet<u64> {
    let counting = counting(results);
    let both = |block: &u64| ["baseline", "other"].iter().all(|it| counting.contains_key(&(*block, (*it).to_owned())));
    (1..=3).filter(both).collect()
}

/// Runs of a block, whatever became of them.
fn of_block(results: &Value, block: u64) -> Vec<&Value> {
    files::runs(results).iter().filter(|run| run["repetition"] == block).collect()
}

/// Fails unless a study that had come so far has all of its runs now, and those of its finished groups unchanged.
#[track_caller]
fn assert_went_on(before: &Value, after: &Value) {
    let story = files::story(after);
    assert_eq!(before["study_id"], after["study_id"]);
    assert_eq!((after["state"].as_str(), counting(after).len()), (Some("finished"), 6), "{story}");
    for cell in after["cells"].as_array().unwrap() {
        assert_eq!(cell["n"], 3, "{story}");
    }
    let (was, is) = (counting(before), counting(after));
    for block in 1..=3 {
        let (old, new) = (of_block(before, block).len(), of_block(after, block).len());
        if finished(before).contains(&block) {
            assert_eq!(old, new, "no run of finished block {block} was made again:\n{story}");
            for variant in ["baseline", "other"] {
                let place = (block, variant.to_owned());
                assert_eq!(was[&place], is[&place], "{place:?}:\n{story}");
            }
        } else {
            assert!(new >= old + 2, "unfinished block {block} was made as a whole:\n{story}");
        }
    }
    let mut attempts: BTreeMap<(u64, String), u64> = BTreeMap::new();
    for run in files::runs(after) {
        let place = (run["repetition"].as_u64().unwrap(), run["variant"].as_str().unwrap().to_owned());
        let attempt = attempts.entry(place).or_insert(0);
        *attempt += 1;
        assert_eq!(run["attempt"], *attempt, "attempts count on:\n{story}");
    }
}

/// Lets a study go as far as the second run of its second block, where no run has to be repeated.
fn await_the_second_block(lab: &Lab, job: &mut Job) {
    lab.await_load(job, 4, 1);
}

#[test]
fn a_study_whose_coordinator_was_killed_goes_on_and_keeps_its_finished_groups() {
    let lab = Lab::new(&blocks(""));
    let mut job = lab.start("run study.toml");
    await_the_second_block(&lab, &mut job);
    job.kill();
    lab.assert_deserted();
    let before = so_far(&lab, "before");
    assert!(counting(&before).len() < 6, "{}", files::story(&before));
    let id = before["study_id"].as_str().unwrap();
    lab.run("studies").expect(0).says(&["interrupted", "/6", &format!("vufleet run --resume {id}")]);
    lab.run("run --resume last --out after").expect(0).says(&[&format!("study {id} goes on: ")]);
    assert_went_on(&before, &files::results(&lab.path("after")));
    lab.run("run --resume last").refused(&["is finished, and each of its 6 runs counts", "vufleet report"]);
    let listed = lab.run("studies").expect(0);
    assert!(listed.out.contains("6/6") && !listed.out.contains("--resume"), "{listed}");
    lab.assert_deserted();
}

#[test]
fn a_study_that_was_stopped_goes_on_unless_its_file_says_something_else() {
    let lab = Lab::new(&blocks(""));
    let mut job = lab.start("run study.toml --set report.confidence=0.9");
    await_the_second_block(&lab, &mut job);
    job.signal(Signal::SIGINT);
    let stopped = job.end().expect(130);
    let before = so_far(&lab, "before");
    let id = before["study_id"].as_str().unwrap().to_owned();
    let stopped = stopped.says(&[&format!("vufleet run --resume {id}")]);
    assert!(stopped.out.contains("files in"), "what was measured is kept:\n{stopped}");

    let file = lab.path("study.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("service_time = \"5ms\"", "service_time = \"6ms\"")).unwrap();
    let shown = lab.run("show last").expect(0).out;
    let changed: &[&str] =
        &["is not the study that", "service_time = \"5ms\"", "+ 6: service_time = \"6ms\"", "without --resume"];
    refused_untouched(&lab, "run --resume last study.toml --set report.confidence=0.9 --out after", changed);
    std::fs::write(&file, text).unwrap();
    let forgotten = ["- ", "confidence = 0.9", "repeat the --set"];
    refused_untouched(&lab, "run --resume last study.toml --out after", &forgotten);
    refused_untouched(&lab, "run --resume 1999 --out after", &["there is no study \"1999\"", "vufleet studies"]);
    assert_eq!(lab.run("show last").expect(0).out, shown);

    lab.run(&format!("run --resume {id} study.toml --set report.confidence=0.9 --out after")).expect(0);
    assert_went_on(&before, &files::results(&lab.path("after")));
}

#[track_caller]
fn refused_untouched(lab: &Lab, line: &str, words: &[&str]) -> Ended {
    let ended = lab.run(line).refused(words);
    lab.assert_deserted();
    assert!(!lab.path("after").exists(), "{ended}");
    ended
}

/// What the operator sends is what the coordinator's own ledger has.
#[test]
fn a_study_of_a_coordinator_that_was_killed_goes_on_at_the_next_one() {
    let lab = Lab::new(&blocks(""));
    let coordinator = Coordinator::start(&lab, "--lease 3s");
    let mut agents = vec![agent(&lab, &coordinator, "drive", "one"), agent(&lab, &coordinator, "drive,observe", "two")];
    let mut job = lab.start(&format!("run study.toml --coordinator {} --wait-for-agents 2", coordinator.url));
    await_the_second_block(&lab, &mut job);
    let (url, address) = (coordinator.url.clone(), coordinator.address().to_owned());
    coordinator.job.kill();
    job.end().refused(&["went away", "vufleet run --resume"]);
    let before = so_far(&lab, "before");

    let again = Coordinator::listen(&lab, &address, "--lease 3s");
    lab.run(&format!("run --resume nothing --coordinator {url}")).refused(&["there is no study \"nothing\""]);
    // Another fleet than before.
    agents.remove(0).kill();
    agents.push(lab.spawn(agent_command(&url, "drive", "three")));
    let line = format!("run --resume last study.toml --coordinator {url} --wait-for-agents 2 --out after");
    lab.run(&line).expect(0).says(&["shared out as one 2, two 2 and are now as three 2, two 2", "do not compare"]);
    assert_went_on(&before, &files::results(&lab.path("after")));
    drop(again);
}

#[test]
fn a_ledger_has_one_coordinator() {
    let lab = Lab::new(&blocks(""));
    let first = Coordinator::start(&lab, "");
    let holder = format!("process {} is writing to this ledger", first.job.pid());
    for line in ["run study.toml", "run --resume last", "coordinator --listen 127.0.0.1:0"] {
        let words: &[&str] = match line {
            "run --resume last" => &["there is no study \"last\""],
            _ => &[&holder, "--coordinator", "--data"],
        };
        lab.run(line).refused(words);
    }
    assert_eq!(lab.processes().len(), 1, "the first one is still there, and nobody else");
    lab.run(&format!("agents --coordinator {}", first.url)).expect(0);
}

/// The pilot has decided before the study is interrupted, and decides the same afterwards.
#[test]
fn a_pilot_decides_on_its_blocks_once_and_again_the_same() {
    let until = "repetitions = { min = 5, max = 6, until = \"0.1%\" }";
    let one = "[[variants]]\nname = \"baseline\"\n\n[[variants]]\nname = \"other\"\n";
    let lab = Lab::new(&blocks("").replace("repetitions = 3", until).replace(one, ""));
    lab.run("plan study.toml").expect(0).says(&["5 runs or more", "at least about", "at most 1 (1 run)"]);
    let mut job = lab.start("run study.toml --set report.relative_only=true");
    lab.await_load(&mut job, 3, 1);
    job.signal(Signal::SIGINT);
    job.end().expect(130);
    lab.run("studies").expect(0).says(&["/5 or more"]);
    let ended = lab.run("run --resume last --out after").expect(0);
    let told = blocks_in_all(&ended);
    let results = files::results(&lab.path("after"));
    assert_eq!(results["cells"][0]["n"], told, "{ended}\n{}", files::story(&results));
    assert!(!ended.err.contains(" TPS"), "nothing absolute: {ended}");
    lab.run("run --resume last").refused(&[&format!("each of its {told} runs counts")]);
}

fn blocks_in_all(ended: &Ended) -> u64 {
    let line = ended.err.lines().find(|line| line.contains("pilot of 5 blocks: tps varies by "));
    let line = line.unwrap_or_else(|| panic!("no pilot in\n{ended}"));
    let (_, count) = line.strip_suffix(" blocks in all").and_then(|line| line.rsplit_once(' ')).unwrap();
    count.parse().unwrap()
}

/// Another text in the ledger's place would be another study.
#[test]
fn a_smoke_test_does_not_go_on() {
    let lab = Lab::new(&blocks(""));
    lab.run("run study.toml --smoke").expect(0);
    lab.run("run --resume last").refused(&["is a smoke test"]);
    let listed = lab.run("studies").expect(0);
    assert!(listed.out.contains("2/2") && !listed.out.contains("--resume"), "{listed}");
    assert!(!Path::new(&lab.path("results")).exists());
}
