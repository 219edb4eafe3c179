//! `observer = { preset = ".." }`: which preset, and whether the target has it.

use super::super::mistakes::Objection;
use super::super::section::Section;
use super::super::value::choice;
use super::super::{Change, TargetKind, When};
use super::{Surroundings, mssql_audit, mssql_xe, mysql};

/// A preset by the word that a study has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preset {
    MssqlAudit,
    MssqlXe,
    ServerAudit,
    GeneralLog,
    SlowLog,
    PerformanceSchema,
    Userstat,
}

const PRESETS: [(&str, Preset); 7] = [
    ("mssql-audit", Preset::MssqlAudit),
    ("mssql-xe", Preset::MssqlXe),
    ("mariadb-server-audit", Preset::ServerAudit),
    ("general-log", Preset::GeneralLog),
    ("slow-log", Preset::SlowLog),
    ("performance-schema", Preset::PerformanceSchema),
    ("userstat", Preset::Userstat),
];

impl Preset {
    fn kind(self) -> TargetKind {
        match self {
            Preset::MssqlAudit | Preset::MssqlXe => TargetKind::Mssql,
            _ => TargetKind::Mysql,
        }
    }
}

/// Reads a variant's preset; an empty change only after something has been objected to.
pub(super) fn change(variant: &Section<'_>, around: &Surroundings<'_>, when: When) -> Change {
    let section = variant.section("observer");
    if !section.exists() {
        return Change::default();
    }
    let remedy = "write which one, for example preset = \"general-log\"";
    let Some(preset) = section.required("preset", remedy, choice(&PRESETS, &[])) else { return Change::default() };
    check_kind(&section, preset, around);
    if preset == Preset::SlowLog && when == When::Connected {
        let what = "a session keeps the long_query_time that was global when it connected";
        variant.object("when", Objection::new(what, "write when = \"before\", or remove it"));
    }
    let change = match preset {
        Preset::MssqlAudit => mssql_audit::read(&section, around).map(|preset| preset.change()),
        Preset::MssqlXe => mssql_xe::read(&section, around).map(|preset| preset.change()),
        Preset::ServerAudit => Some(mysql::server_audit(&section, around).change()),
        Preset::GeneralLog => Some(mysql::general_log(&section).change()),
        Preset::SlowLog => Some(mysql::slow_log(&section).change()),
        Preset::PerformanceSchema => Some(mysql::performance_schema(&section).change()),
        Preset::Userstat => Some(crate::observers::Userstat.change()),
    };
    section.finish();
    change.unwrap_or_default()
}

fn check_kind(section: &Section<'_>, preset: Preset, around: &Surroundings<'_>) {
    let Some(kind) = around.kind().filter(|kind| *kind != TargetKind::Simulated && *kind != preset.kind()) else {
        return;
    };
    let fitting: Vec<_> = PRESETS.iter().filter(|(_, other)| other.kind() == kind).map(|(word, _)| *word).collect();
    let remedy = match fitting.is_empty() {
        true => "write apply = [..] and revert = [..] instead of observer".to_owned(),
        false => format!("write one of \"{}\"", fitting.join("\", \"")),
    };
    let what =
        format!("is a preset for targets of kind \"{}\", and this one is \"{}\"", preset.kind().name(), kind.name());
    section.object("preset", Objection::new(what, remedy));
}
