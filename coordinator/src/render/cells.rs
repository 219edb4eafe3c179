//! The main table: what each cell measured.

use super::column::{Align, Column};
use super::figures::{number, plus_minus};
use crate::analysis::verdict::Verdict;
use crate::analysis::{Cell, Metric, Report, RunReport};

/// The columns of the main table; the rank says which go first where the terminal is narrow.
pub(super) fn columns(report: &Report) -> Vec<Column> {
    let service = report.by_transactions();
    let several_variants = report.variants.len() > 1;
    let figure = |title: &str, rank: u8, metric: Metric| {
        let of = |cell: &Cell| cell.metrics.get(metric).map_or_else(String::new, |summary| number(summary.mean));
        Column::new(title, Align::Right, rank, report.cells.iter().map(of))
    };
    let spread = |title: &str, metric: Metric| {
        let of = |cell: &Cell| cell.metrics.get(metric).map_or_else(String::new, plus_minus);
        Column::new(title, Align::Right, 0, report.cells.iter().map(of))
    };
    let percent = |title: &str, rank: u8, metric: Metric| {
        let of = |cell: &Cell| cell.metrics.get(metric).map_or_else(String::new, |it| format!("{:.0}%", it.mean));
        Column::new(title, Align::Right, rank, report.cells.iter().map(of))
    };
    let vus = |cell: &Cell| match report.profile(&cell.profile) {
        Some(profile) if profile.sessions_per_vu > 1 => format!("{}x{}", profile.vus, profile.sessions_per_vu),
        Some(profile) => profile.vus.to_string(),
        None => String::new(),
    };
    let mut columns = vec![Column::new("profile", Align::Left, 0, report.cells.iter().map(|it| it.profile.clone()))];
    if several_variants {
        columns.push(Column::new("variant", Align::Left, 0, report.cells.iter().map(|it| it.variant.clone())));
    }
    columns.push(Column::new("VUs", Align::Right, 8, report.cells.iter().map(vus)));
    if service {
        columns.push(spread("service ms", Metric::ServiceMeanMs));
        columns.push(figure("p50", 3, Metric::ServiceP50Ms));
        columns.push(figure("p95", 0, Metric::ServiceP95Ms));
        columns.push(figure("p99", 4, Metric::ServiceP99Ms));
    } else {
        if report.is_order_entry() {
            columns.push(spread("NOPM", Metric::Nopm));
            columns.push(figure("TPM", 1, Metric::Tpm));
        } else {
            columns.push(spread("TPS", Metric::Tps));
            columns.push(figure("QPS", 5, Metric::Qps));
        }
        columns.push(figure("p50 ms", 9, Metric::P50Ms));
        columns.push(figure("p95 ms", 0, Metric::P95Ms));
        columns.push(figure("p99 ms", 4, Metric::P99Ms));
    }
    columns.push(figure("err/s", 3, Metric::ErrorsPerS));
    // On a shared machine the host's CPU is the load's as well and says little about the database.
    match report.target.shared_host {
        true => columns.push(percent("DB proc CPU", 6, Metric::DbProcessCpuPercent)),
        false => columns.push(percent("DB CPU", 6, Metric::DbHostCpuPercent)),
    }
    columns.push(percent("driver CPU", 7, Metric::DriverHostCpuPercent));
    columns.push(Column::new("n", Align::Right, 0, report.cells.iter().map(|cell| cell.n.to_string())));
    columns.push(Column::new("verdict", Align::Left, 0, report.cells.iter().map(|cell| judgement(report, cell))));
    columns.retain(|column| !column.is_empty());
    columns
}

/// "valid", or what is not: "1 degraded, 2 invalid".
fn judgement(report: &Report, cell: &Cell) -> String {
    let count = |verdict: Verdict| of_cell(report, cell).filter(|run| run.verdict() == verdict).count();
    let parts: Vec<String> = [Verdict::Degraded, Verdict::Invalid]
        .into_iter()
        .map(|verdict| (count(verdict), verdict.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    match (parts.is_empty(), cell.n) {
        (true, 0) => "no run".to_owned(),
        (true, _) => Verdict::Valid.name().to_owned(),
        (false, _) => parts.join(", "),
    }
}

pub(super) fn of_cell<'r>(report: &'r Report, cell: &'r Cell) -> impl Iterator<Item = &'r RunReport> {
    // Those that show switches are of no cell.
    let own = |run: &&RunReport| run.variant == cell.variant && run.profile == cell.profile && run.repetition > 0;
    report.runs.iter().filter(own).filter(|run| !run.superseded)
}
