//! The metrics that a report may hold, under the field's names.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
        /// One metric. The order is the order of reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric {
            $($(#[$doc])* $variant,)*
        }

        impl Metric {
            /// Every metric, in the order of reports.
            pub const ALL: &'static [Metric] = &[$(Metric::$variant,)*];

            /// Name in results.json and the CSV files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Metric::$variant => $name,)*
                }
            }
        }
    };
}

metrics! {
    /// Transactions a second that ended as intended: committed or rolled back on purpose.
    Tps => "tps",
    /// Statements a second of all transactions, BEGIN and COMMIT included.
    Qps => "qps",
    /// New orders a minute that TPROC-C committed: as the database counts them; on a simulated one, as the clients do.
    Nopm => "nopm",
    /// Transactions a minute of TPROC-C, rollbacks included: as a MySQL server counts them, or a SQL Server the calls;
    /// elsewhere as the clients do.
    Tpm => "tpm",
    /// Median of the response time.
    P50Ms => "p50_ms",
    /// 95th percentile of the response time.
    P95Ms => "p95_ms",
    /// 99th percentile of the response time.
    P99Ms => "p99_ms",
    /// Mean response time.
    MeanMs => "mean_ms",
    /// Median of the service time.
    ServiceP50Ms => "service_p50_ms",
    /// 95th percentile of the service time.
    ServiceP95Ms => "service_p95_ms",
    /// 99th percentile of the service time.
    ServiceP99Ms => "service_p99_ms",
    /// Mean service time.
    ServiceMeanMs => "service_mean_ms",
    /// Faults a second, retried or not, those of connecting included.
    ErrorsPerS => "errors_per_s",
    /// CPU of the database's host, all cores = 100.
    DbHostCpuPercent => "db_host_cpu_percent",
    /// CPU of the database process, on the same base.
    DbProcessCpuPercent => "db_process_cpu_percent",
    /// CPU of the busiest driving host, all its cores = 100.
    DriverHostCpuPercent => "driver_host_cpu_percent",
    /// CPU time of the database process for one transaction.
    CpuMsPerTxn => "cpu_ms_per_txn",
    /// Bytes a second that the database's host read from its disks.
    DbDiskReadBytesPerS => "db_disk_read_bytes_per_s",
    /// Bytes a second that the database's host wrote to its disks.
    DbDiskWriteBytesPerS => "db_disk_write_bytes_per_s",
    /// Bytes a second that the database's host received.
    DbNetRxBytesPerS => "db_net_rx_bytes_per_s",
    /// Bytes a second that the database's host sent.
    DbNetTxBytesPerS => "db_net_tx_bytes_per_s",
    /// Batches and calls a second that a SQL Server received, whoever sent them but the observer.
    BatchRequestsPerS => "batch_requests_per_s",
}

impl Metric {
    /// Seconds of the unit of time that the figure is told in.
    pub(super) fn per_s(self) -> f64 {
        if matches!(self, Metric::Nopm | Metric::Tpm) { 60.0 } else { 1.0 }
    }

    /// Whether the figure says nothing about how much the database did, so that `relative_only` lets it pass.
    pub fn is_cpu_percent(self) -> bool {
        matches!(self, Metric::DbHostCpuPercent | Metric::DbProcessCpuPercent | Metric::DriverHostCpuPercent)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Values of metrics: those that apply and no others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics<T = f64>(BTreeMap<Metric, T>);

impl<T> Metrics<T> {
    /// No metric.
    pub fn new() -> Self {
        Metrics(BTreeMap::new())
    }

    /// Adds a metric, if it has a value.
    pub fn put(&mut self, metric: Metric, value: impl Into<Option<T>>) {
        if let Some(value) = value.into() {
            self.0.insert(metric, value);
        }
    }

    /// A metric's value, if it applies.
    pub fn get(&self, metric: Metric) -> Option<&T> {
        self.0.get(&metric)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, metric: Metric) -> Option<&mut T> {
        self.0.get_mut(&metric)
    }

    /// Those that apply, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Metric, &T)> {
        self.0.iter().map(|(metric, value)| (*metric, value))
    }

    /// Whether none applies.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPU percentages alone.
    pub fn cpu_percent_only(self) -> Self {
        Metrics(self.0.into_iter().filter(|(metric, _)| metric.is_cpu_percent()).collect())
    }
}

impl<T: Serialize> Serialize for Metrics<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(metric, value)| (metric.name(), value)))
    }
}
