//! From TOML text to a checked study: the walk over the whole file. Every part that has more than a few keys is read by
//! a module of its own.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use toml_edit::{Document, Item};

use super::edits::{self, Edited, Edits};
use super::mistakes::{Mistakes, Objection};
use super::section::Section;
use super::value::{choice, flag, integer, number, text, title, wrong_type};
use super::variants::{self, BASELINE};
use super::{FleetChoice, Measure, Refusal, ReportChoice, Require, Share, Study, Variant};
use super::{monitor, profiles, repetitions, reset, schedule, switch, syntax, target, workload};

const CONFIDENCE: f64 = 0.95;

/// Reads a study, edits first, or says everything that is wrong with it.
///
/// # Errors
/// A [`Refusal`] with every mistake found.
pub fn read(text: &str, edits: &Edits) -> Result<Study, Refusal> {
    let Edited { text, places, problems } = edits::apply(text, edits)?;
    let document: Document<&str> = Document::parse(text.as_str()).map_err(|error| syntax::refusal(&text, &error))?;
    let mistakes = Mistakes::new(places, problems);
    let study = walk(&Section::root(document.as_table(), &mistakes), &text);
    mistakes.unless_any(study).map(|study| study.expect("a study without mistakes has all its parts"))
}

/// None only after something has been objected to.
fn walk(root: &Section<'_>, text: &str) -> Option<Study> {
    let name = root.required("name", "write what you call the study, for example name = \"first\"", title);
    let seed = root.value("seed", integer(0..=i64::MAX));
    let target = target::target(root);
    let control = target::control(root, target.as_ref());
    let fleet = fleet(root);
    let base = workload::base(root, target.as_ref().map(|target| target.kind));
    let profiles = profiles::profiles(root, base.as_ref());
    let measured = repetitions::Measured {
        target: target.as_ref().map(|target| target.kind),
        workload: base.as_ref().map(|base| &base.workload),
    };
    let schedule = schedule::schedule(root, &measured);
    if matches!(schedule.measure, Measure::Transactions(_)) {
        profiles::check_counted_window(root, &profiles);
    }
    let require = requires(root, "require");
    let variants = variants::variants(root, target.as_ref(), control.as_ref(), &profiles);
    let monitor = monitor::monitor(root, target.as_ref().map(|target| target.kind), &profiles);
    let report = report(root, &variants);
    let reset = reset::reset(root, target.as_ref(), base.as_ref().map(|base| &base.workload));
    let switches = switch::switches(root, &schedule, &variants, &report.baseline);
    root.finish();
    Some(Study {
        name: name?,
        seed: seed?.unsigned_abs(),
        target: target?,
        control,
        fleet,
        workload: base?.workload,
        profiles,
        schedule,
        require,
        reset,
        switches,
        variants,
        monitor,
        report,
        text: text.to_owned(),
        digest: digest(text),
    })
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fleet(root: &Section<'_>) -> FleetChoice {
    let section = root.section("fleet");
    let shares = choice(&[("cores", Share::Cores), ("even", Share::Even)], &[]);
    let fleet = FleetChoice {
        drive: labels(&section, "drive"),
        observe: labels(&section, "observe"),
        share: section.value("share", shares).unwrap_or_default(),
    };
    section.finish();
    fleet
}

/// Labels have whatever names the lab gave them.
fn labels(fleet: &Section<'_>, role: &'static str) -> BTreeMap<String, String> {
    let section = fleet.section(role);
    let mut labels = BTreeMap::new();
    for (name, item) in section.entries() {
        match title(item) {
            Ok(value) => drop(labels.insert(name.to_owned(), value)),
            Err(objection) => section.object(name, objection),
        }
    }
    labels
}

/// Queries of one value, and what each must return.
pub(super) fn requires(root: &Section<'_>, key: &'static str) -> Vec<Require> {
    let mut requires = Vec::new();
    for section in root.sections(key) {
        let remedy = "write a query of one value, for example sql = \"SELECT @@innodb_flush_log_at_trx_commit\"";
        let sql = section.required("sql", remedy, text);
        let equals = section.required("equals", "write the value as text, for example equals = \"1\"", plain);
        section.finish();
        requires.extend(sql.zip(equals).map(|(sql, equals)| Require { sql, equals }));
    }
    requires
}

/// What a query may return, as text; a number is taken as it is written.
fn plain(item: &Item) -> Result<String, Objection> {
    match item {
        Item::Value(toml_edit::Value::String(text)) => Ok(text.value().clone()),
        Item::Value(toml_edit::Value::Integer(number)) => Ok(number.value().to_string()),
        other => Err(wrong_type(other, "text", "it in quotes, as the database returns it")),
    }
}

fn report(root: &Section<'_>, variants: &[Variant]) -> ReportChoice {
    let section = root.section("report");
    let named = |name: &str| variants.iter().any(|variant| variant.name == name);
    let first = if named(BASELINE) { BASELINE } else { variants[0].name.as_str() };
    let baseline = section.value("baseline", title).unwrap_or_else(|| first.to_owned());
    if !named(&baseline) {
        let names: Vec<_> = variants.iter().map(|variant| format!("\"{}\"", variant.name)).collect();
        let what = format!("no variant is named \"{baseline}\"");
        section.object("baseline", Objection::new(what, format!("write one of {}", names.join(", "))));
    }
    let report = ReportChoice {
        baseline,
        confidence: section.value("confidence", number(0.5..=0.999)).unwrap_or(CONFIDENCE),
        relative_only: section.value("relative_only", flag).unwrap_or(false),
    };
    section.finish();
    report
}
