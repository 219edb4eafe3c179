//! What metrics are called in sentences and on axes.

use crate::analysis::Metric;

/// In a sentence.
pub(super) fn name(metric: Metric) -> &'static str {
    match metric {
        Metric::Tps => "TPS",
        Metric::Qps => "QPS",
        Metric::Nopm => "NOPM",
        Metric::Tpm => "TPM",
        Metric::P50Ms => "median response time",
        Metric::P95Ms => "p95 response time",
        Metric::P99Ms => "p99 response time",
        Metric::MeanMs => "mean response time",
        Metric::ServiceP50Ms => "median service time",
        Metric::ServiceP95Ms => "p95 service time",
        Metric::ServiceP99Ms => "p99 service time",
        Metric::ServiceMeanMs => "mean service time",
        Metric::ErrorsPerS => "errors",
        Metric::DbHostCpuPercent => "CPU of the database's host",
        Metric::DbProcessCpuPercent => "CPU of the database process",
        Metric::DriverHostCpuPercent => "CPU of the busiest driving host",
        Metric::CpuMsPerTxn => "CPU per transaction",
        Metric::DbDiskReadBytesPerS => "disk reads of the database's host",
        Metric::DbDiskWriteBytesPerS => "disk writes of the database's host",
        Metric::DbNetRxBytesPerS => "network input of the database's host",
        Metric::DbNetTxBytesPerS => "network output of the database's host",
        Metric::BatchRequestsPerS => "batch requests",
    }
}

/// What a figure of the metric counts.
pub(super) fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::Tps => "transactions/s",
        Metric::Qps => "statements/s",
        Metric::Nopm => "new orders/min",
        Metric::Tpm => "transactions/min",
        Metric::ErrorsPerS => "faults/s",
        Metric::BatchRequestsPerS => "batches/s",
        Metric::P50Ms
        | Metric::P95Ms
        | Metric::P99Ms
        | Metric::MeanMs
        | Metric::ServiceP50Ms
        | Metric::ServiceP95Ms
        | Metric::ServiceP99Ms
        | Metric::ServiceMeanMs
        | Metric::CpuMsPerTxn => "ms",
        Metric::DbHostCpuPercent | Metric::DbProcessCpuPercent | Metric::DriverHostCpuPercent => "% of all cores",
        Metric::DbDiskReadBytesPerS
        | Metric::DbDiskWriteBytesPerS
        | Metric::DbNetRxBytesPerS
        | Metric::DbNetTxBytesPerS => "bytes/s",
    }
}

/// On an axis: what, and in which unit.
pub(super) fn axis(metric: Metric) -> String {
    format!("{}, {}", capital(name(metric)), unit(metric))
}

/// With a capital letter, but for names that are written small.
pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    match letters.next() {
        Some(first) if !letters.as_str().starts_with(|next: char| next.is_ascii_digit()) => {
            first.to_uppercase().chain(letters).collect()
        }
        _ => words.to_owned(),
    }
}
