//! Settings of the database and of the hosts: as they were when the study began, and what became of them.

use super::page::{Fold, Page};
use crate::analysis::{Report, SettingChange, SettingsReport};
use crate::render::column::{Align, Column};

pub(super) fn section(report: &Report, page: &mut Page) {
    if report.settings.is_empty() {
        return;
    }
    page.heading("settings", "Settings of the database and the hosts");
    for settings in &report.settings {
        page.subheading(&settings.source);
        match settings.changes.is_empty() {
            true => page.paragraph("Nothing changed from the first run to the last."),
            false => page.table(&changes(&settings.changes)),
        }
        page.folded(&format!("All {} settings as the study began", settings.before.len()), Fold::Closed, |page| {
            page.table(&before(settings));
        });
    }
}

fn changes(changes: &[SettingChange]) -> Vec<Column> {
    let column =
        |title: &str, align, of: fn(&SettingChange) -> String| Column::new(title, align, 0, changes.iter().map(of));
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(not there)".to_owned());
    vec![
        column("setting", Align::Left, |change| change.name.clone()),
        Column::new("before", Align::Left, 0, changes.iter().map(|change| value(&change.from))),
        Column::new("after", Align::Left, 0, changes.iter().map(|change| value(&change.to))),
        column("seen before run", Align::Right, |change| change.run.to_string()),
        column("variant", Align::Left, |change| change.variant.clone()),
    ]
}

fn before(settings: &SettingsReport) -> Vec<Column> {
    vec![
        Column::new("setting", Align::Left, 0, settings.before.keys().cloned()),
        Column::new("value", Align::Left, 0, settings.before.values().cloned()),
    ]
}
