//! Load levels as sentences name them.

use crate::analysis::Report;
use crate::render::figures::listed;

/// More levels than this are counted, not named.
const NAMED: usize = 6;

/// "at 4 and 16 virtual users" where nothing but their number tells levels apart, else their ids.
pub(super) fn places(report: &Report, profiles: &[&str]) -> String {
    let all = profiles.len() == report.profiles.len();
    if all && profiles.len() > 3 {
        return format!("at all {} levels", profiles.len());
    }
    if profiles.len() > NAMED {
        return format!("at {} of {} levels", profiles.len(), report.profiles.len());
    }
    let plain = report.profiles.iter().all(|profile| profile.id == format!("{}vu", profile.vus));
    let named: Vec<String> = match plain {
        true => profiles.iter().map(|id| id.trim_end_matches("vu").to_owned()).collect(),
        false => profiles.iter().map(|id| (*id).to_owned()).collect(),
    };
    let unit = match (plain, named.as_slice()) {
        (false, _) => "",
        (true, [only]) if only == "1" => " virtual user",
        (true, _) => " virtual users",
    };
    format!("at {}{unit}", listed(&named))
}
