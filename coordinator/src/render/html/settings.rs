//! Settings of the database and of the hosts: as they were when the study began, and what became of them.

use super::page::{Fold, Page};
use crate::analysis::{Report, SettingCause, SettingChange, SettingsReport};
use crate::render::column::{Align, Column};

pub(super) fn section(report: &Report, page: &mut Page) {
    if report.settings.is_empty() {
        return;
    }
    page.heading("settings", "Settings of the database and the hosts");
    for settings in &report.settings {
        page.subheading(&settings.source);
        let last = if settings.read_after { "after the last run" } else { "before the last run" };
        match settings.changes.is_empty() {
            true => page.paragraph(&format!("Nothing differs from before the first run to {last}.")),
            false => page.table(&changes(&settings.changes)),
        }
        page.folded(&format!("All {} settings as the study began", settings.before.len()), Fold::Closed, |page| {
            page.table(&before(settings));
        });
    }
}

fn changes(changes: &[SettingChange]) -> Vec<Column> {
    let column =
        |title: &str, of: &dyn Fn(&SettingChange) -> String| Column::new(title, Align::Left, 0, changes.iter().map(of));
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(absent)".to_owned());
    vec![
        column("setting", &|change| change.name.clone()),
        column("before", &|change| value(&change.from)),
        column("after", &|change| value(&change.to)),
        column("whose doing", &cause),
    ]
}

fn cause(change: &SettingChange) -> String {
    match change.cause {
        SettingCause::Variant => format!("variant {}", change.variant),
        SettingCause::Profile => "the profile's setup".to_owned(),
        SettingCause::Meanwhile { since: Some(since) } => format!("nobody's: between runs {since} and {}", change.run),
        SettingCause::Meanwhile { since: None } => format!("nobody's: before run {}", change.run),
        SettingCause::Left => format!("nobody's: after run {}, the last one", change.run),
    }
}

fn before(settings: &SettingsReport) -> Vec<Column> {
    vec![
        Column::new("setting", Align::Left, 0, settings.before.keys().cloned()),
        Column::new("value", Align::Left, 0, settings.before.values().cloned()),
    ]
}
