//! `[[switch]]`: variants that are turned on in mid-run, for the eye.

use std::time::Duration;

use super::mistakes::Objection;
use super::section::Section;
use super::value::{time, title};
use super::{Measure, Schedule, Switch, Variant, duration};

/// A ramp-up and a window are shorter than this together.
const LONGEST: Duration = Duration::from_secs(8 * 24 * 3600);

/// Reads every switch; by their time. The load starts in the baseline's state.
pub(super) fn switches(root: &Section<'_>, schedule: &Schedule, variants: &[Variant], baseline: &str) -> Vec<Switch> {
    let mut read: Vec<(Section<'_>, Switch)> = Vec::new();
    for section in root.sections("switch") {
        let remedy = "write the time after the start of the load, for example at = \"60s\"";
        let at = section.required("at", remedy, time(Duration::from_millis(1)..=LONGEST));
        let variant = section.required("variant", "write the variant that is turned on then", title);
        section.finish();
        if let (Some(at), Some(variant)) = (at, variant) {
            check_time(&section, schedule, at);
            check_name(&section, variants, &variant);
            read.push((section, Switch { at, variant }));
        }
    }
    read.sort_by_key(|(_, switch)| switch.at);
    check_order(&read, baseline);
    read.into_iter().map(|(_, switch)| switch).collect()
}

fn check_time(section: &Section<'_>, schedule: &Schedule, at: Duration) {
    match schedule.measure {
        Measure::Transactions(_) => {
            let what = "a window that ends with a number of transactions has no such time";
            let remedy = "write schedule.measure instead of transactions, or remove [[switch]]";
            section.object("at", Objection::new(what, remedy));
        }
        Measure::Duration(window) if at >= schedule.ramp_up + window => {
            let end = duration::format(schedule.ramp_up + window);
            let what = format!("the load ends {end} after its start, with ramp_up and measure");
            section.object("at", Objection::new(what, "write an earlier time, or measure for longer"));
        }
        Measure::Duration(_) => {}
    }
}

fn check_name(section: &Section<'_>, variants: &[Variant], name: &str) {
    if variants.iter().all(|variant| variant.name != name) {
        let names: Vec<_> = variants.iter().map(|variant| format!("\"{}\"", variant.name)).collect();
        let remedy = format!("write one of {}", names.join(", "));
        section.object("variant", Objection::new(format!("no variant is named \"{name}\""), remedy));
    }
}

/// Each switch comes alone and changes something.
fn check_order(switches: &[(Section<'_>, Switch)], baseline: &str) {
    let mut before = (Duration::ZERO, baseline);
    for (section, switch) in switches {
        let (at, variant) = before;
        if switch.at == at {
            let what = format!("another switch is at {} too", duration::format(at));
            section.object("at", Objection::new(what, "write another time, or remove one of them"));
        } else if switch.variant == variant {
            let what = format!("\"{variant}\" is on already by then");
            section.object("variant", Objection::new(what, "write another variant, or remove this switch"));
        }
        before = (switch.at, &switch.variant);
    }
}
