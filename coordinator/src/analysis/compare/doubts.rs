//! What speaks against reading too much into a comparison, each with a remedy where there is one.

use super::{Comparison, ENOUGH, Subject};
use crate::analysis::SettingsReport;

pub(super) fn doubts(comparison: &Comparison, a: &Subject, b: &Subject) -> Vec<String> {
    let mut doubts = Vec::new();
    if comparison.withheld {
        let words = "absolute figures are withheld, as one of the two studies asks (report.relative_only); --absolute shows them";
        doubts.push(words.to_owned());
    }
    if !a.is(b) {
        doubts.extend(apart_in_time(comparison));
        doubts.extend(of_another_kind(comparison));
    }
    doubts.extend([("A", a), ("B", b)].into_iter().filter_map(|(side, subject)| unfinished(side, subject)));
    let mut sides = vec![("A", a), ("B", b)];
    sides.truncate(if a.is(b) { 1 } else { 2 });
    doubts.extend(sides.into_iter().filter_map(|(side, subject)| moved(side, subject)));
    doubts.extend(short(comparison));
    doubts
}

fn apart_in_time(comparison: &Comparison) -> Option<String> {
    let (a, b) = (&comparison.a, &comparison.b);
    let end = |side: &super::Side| side.ended.clone().map_or_else(String::new, |ended| format!(" to {ended}"));
    let better = match comparison.effects.is_empty() {
        true => "where both states can be had at once, make them variants of one study; else run A again after B",
        false => "what a variant changes within each study is free of it, and is compared variant by variant",
    };
    Some(format!(
        "these runs were made at different times (A from {}{}, B from {}{}): whatever drifted in between, such as temperature, \
         neighbours, caches and the data itself, is in the difference and in no interval; {better}",
        a.begun,
        end(a),
        b.begun,
        end(b)
    ))
}

/// More that differs than the figures: what a change is to be put down to is open then.
fn of_another_kind(comparison: &Comparison) -> Option<String> {
    let asked =
        |name: &str| ["workload", "profiles", "schedule", "target.kind"].iter().any(|key| name.starts_with(key));
    let of_study = comparison.differences.iter().filter(|it| it.of == "study" && asked(&it.name));
    let mut names: Vec<String> = of_study.map(|difference| difference.name.clone()).collect();
    if comparison.differences.iter().any(|difference| difference.of == "fleet") {
        names.push("the driving agents".to_owned());
    }
    let words = names.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "not only the database may differ: {words} are not the same in both (listed under what else differs); a change may be theirs"
        )
    })
}

fn unfinished(side: &str, subject: &Subject) -> Option<String> {
    (!subject.is_finished()).then(|| format!("{side} is {}; this is what there is of it", subject.report.state.name()))
}

fn moved(side: &str, subject: &Subject) -> Option<String> {
    let told: Vec<String> = subject.report.settings.iter().filter_map(SettingsReport::unasked_words).collect();
    (!told.is_empty()).then(|| format!("settings changed in the middle of {side}: {}", told.join("; ")))
}

fn short(comparison: &Comparison) -> Option<String> {
    let short = comparison.short_cells();
    let told: Vec<String> = short.iter().map(|cell| format!("{} ({} and {})", cell.a, cell.n[0], cell.n[1])).collect();
    (!told.is_empty()).then(|| {
        format!(
            "fewer than {ENOUGH} runs on a side have no interval: {}; repeat them with schedule.repetitions",
            told.join(", ")
        )
    })
}
