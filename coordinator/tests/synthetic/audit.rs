//! A study of two variants, and its report in every form.

use std::collections::BTreeMap;

use vufleet::analysis::{Options, Report, report};
use vufleet::ledger::RunEnd;
use vufleet::render::files;

use super::{Lab, MS, S, STUDY, T0, Tape, histogram};

/// Two profiles, two variants, three blocks, and one invalid run that was repeated with its group. Everything that the database does
/// is `scale` times as much.
pub fn lab(scale: u64, relative_only: bool) -> Lab {
    let study = format!(
        "{}\n[[variants]]\nname = \"baseline\"\n[[variants]]\nname = \"audit\"\n\
         apply = [\"SET GLOBAL general_log = 1\"]\nrevert = [\"SET GLOBAL general_log = 0\"]\n[report]\nrelative_only = {relative_only}\n",
        STUDY.replace("vus = 16", "vus = [4, 16]")
    );
    let mut lab = Lab::of(&study);
    for (profile, vus, tps) in [("4vu", 4, 40), ("16vu", 16, 100)] {
        for block in 1..=3 {
            let made = |variant: &str, share: u64| {
                let rate = scale * (tps * (share + u64::from(block)) / 100);
                let mut tape = scaled(Tape::with_rate(block, rate), scale);
                (tape.variant, tape.profile) = (variant.to_owned(), profile.to_owned());
                tape.facts().sessions = vus;
                tape.facts().vus = vus;
                tape.facts().driving.iter_mut().for_each(|agent| agent.vus = vus / 2);
                tape.facts().connect_ns = Some(scale * S);
                tape.intervals().for_each(|(_, interval)| interval.sessions = vus / 2);
                tape
            };
            let group = [made("baseline", 100), made("audit", 92)];
            let [baseline, audit] = group.clone();
            lab.record(baseline);
            if (profile, block) == ("16vu", 2) {
                // A run that is stopped is repeated with its group.
                lab.record(Tape { end: Some((T0 + 9 * S, RunEnd::Stopped)), ..audit });
                for tape in group {
                    lab.record(Tape { attempt: 2, ..tape });
                }
            } else {
                lab.record(audit);
            }
        }
    }
    lab.finish();
    lab
}

fn scaled(mut tape: Tape, scale: u64) -> Tape {
    let spread = || (1..=100).map(|i| i * 64_000 * scale);
    let (service, response) = (histogram(spread()), histogram(spread().map(|ns| ns + MS * scale)));
    for (_, interval) in tape.intervals() {
        interval.not_started = scale;
        for kind in &mut interval.kinds {
            interval.due = kind.ok + scale;
            (kind.service, kind.response) = (service.clone(), response.clone());
        }
    }
    for sample in tape.hosts("observer") {
        sample.disks[0].write_bytes *= scale;
        sample.processes[1].rss_bytes *= scale;
    }
    tape
}

pub fn told(lab: &Lab, absolute: bool) -> Report {
    report(&lab.ledger, "last", Options { absolute }).unwrap()
}

pub fn all_files(report: &Report) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    files(report, &mut |run| Ok(run.clone()), &mut |name, bytes| {
        found.entry(name.to_owned()).or_default().extend(bytes);
        Ok(())
    })
    .unwrap();
    found.into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect()
}
