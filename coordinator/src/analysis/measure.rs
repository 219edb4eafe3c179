//! What a run measured inside its window.

use std::collections::BTreeMap;

use super::drift;
use super::fold::{Fold, HostKey};
use super::host;
use super::latency::Latency;
use super::run::{HostReport, KindLatencies, KindReport, RunReport, WholeRun};
use super::sample::{NEW_ORDER, Sample, Work, work_between};
use super::steady::Steady;
use super::window::Window;
use super::witness::{self, Comparison, Reading, Witness};
use super::{Metric, Metrics, judge, requests, waits};
use crate::ledger::MeasureFacts;

/// No database takes less CPU for a statement: receiving it and answering are two calls of the kernel.
const LEAST_MS: f64 = 0.001;
/// Two of the ticks that CPU is counted in.
const SEEN_MS: f64 = 20.0;

/// What was measured inside the window, before it is judged.
pub(super) struct Measured {
    pub(super) window: Window,
    pub(super) end_ns: u64,
    pub(super) by_transactions: bool,
    /// Work inside the window.
    pub(super) work: Work,
    /// Arrivals inside the window, and those of them that were turned away in it.
    pub(super) due_inside: u64,
    pub(super) not_started_inside: u64,
    /// Arrivals from the window's start to the end of the load.
    pub(super) due: u64,
    /// Those of them that no session ever took.
    pub(super) not_started: u64,
    pub(super) hosts: Vec<HostReport>,
    pub(super) witness: Vec<Witness>,
    pub(super) drift_percent: Option<f64>,
    pub(super) steady: Option<Steady>,
}

impl Fold<'_> {
    /// Samples inside the window.
    pub(super) fn inside(&self, window: Window) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| window.holds(sample.start_ns, sample.end_ns))
    }

    pub(super) fn measured(&self, window: Window) -> Measured {
        let end_ns = window.end_ns.unwrap_or(window.start_ns);
        let facts = self.run.facts.as_ref();
        let by_transactions = facts.is_some_and(|facts| matches!(facts.measure, MeasureFacts::Transactions(_)));
        let mut work = Work::default();
        let (mut due_inside, mut not_started_inside) = (0, 0);
        for sample in self.inside(window) {
            work.add(&sample.work(), 1.0);
            due_inside += sample.due;
            not_started_inside += sample.not_started;
        }
        // Arrivals wait in a queue of some seconds: those that a short window left in it are known when the load ends.
        let (mut due, mut not_started) = (0, 0);
        let open_end = Window { end_ns: None, ..window };
        for sample in self.inside(open_end) {
            due += sample.due;
            not_started += sample.not_started;
        }
        let hosts = self.hosts_over(window.start_ns, end_ns, window.interval_ns);
        let witness = self.witnesses(window, end_ns, by_transactions);
        let rates = if by_transactions { Vec::new() } else { drift::rates(self, window) };
        Measured {
            window,
            end_ns,
            by_transactions,
            work,
            due_inside,
            not_started_inside,
            due,
            not_started,
            hosts,
            witness,
            drift_percent: drift::percent(&rates),
            steady: Steady::of(&rates),
        }
    }

    /// Fills in everything that was measured inside the window.
    pub(super) fn tell(&self, measured: &Measured, report: &mut RunReport) {
        let window = measured.window;
        report.sessions = judge::connected_at(self, window);
        report.metrics = self.metrics(measured);
        report.measured_s = self.longest_cover(measured).map(|ns| ns as f64 / 1e9);
        report.transactions =
            self.kinds.iter().map(|(kind, total)| (kind.to_string(), KindReport::of(total))).collect();
        if self.rollbacks_unseen()
            && let Some(new_orders) = report.transactions.get_mut(NEW_ORDER)
        {
            new_orders.rollback = None;
        }
        report.latencies = self.kinds.iter().map(|(kind, total)| KindLatencies::of(kind, total)).collect();
        report.witness = measured.witness.clone();
        report.witness_missing = self.witness_missing(measured);
        report.not_started = (measured.due > 0).then_some(measured.not_started);
        report.reconnects = Some(self.inside(window).map(|sample| sample.reconnects).sum());
        report.drift_percent = measured.drift_percent;
        report.steady = measured.steady;
        report.process_missing = self.somebody_else(measured).map(str::to_owned);
        report.hosts = measured.hosts.clone();
        report.waits = self
            .edge_readings(measured)
            .map_or_else(Vec::new, |(first, last)| waits::between(&self.counters, first, last));
        let inside = |look: &&requests::RequestLook| window.holds(look.before_ns, look.after_ns);
        report.requests = requests::by_session(self.looks.iter().filter(inside));
    }

    /// Rates divide by the time that each agent's intervals cover, and then add up over the agents.
    fn metrics(&self, measured: &Measured) -> Metrics {
        let mut by_agent: BTreeMap<&str, (Work, u64)> = BTreeMap::new();
        for sample in self.inside(measured.window) {
            let (work, covered_ns) = by_agent.entry(&*sample.agent).or_default();
            work.add(&sample.work(), 1.0);
            *covered_ns += sample.length_ns();
        }
        let mut metrics = Metrics::new();
        if by_agent.is_empty() {
            return metrics;
        }
        let whole_ns = measured.end_ns.saturating_sub(measured.window.start_ns);
        let rate = |count: fn(&Work) -> f64| -> f64 {
            let seconds = |covered: u64| if measured.by_transactions { whole_ns } else { covered } as f64 / 1e9;
            by_agent.values().map(|(work, covered)| count(work) / seconds(*covered)).sum()
        };
        metrics.put(Metric::Tps, rate(Work::transactions));
        metrics.put(Metric::Qps, rate(|work| work.statements));
        metrics.put(Metric::ErrorsPerS, rate(|work| work.faults));
        if self.profile.order_entry.is_some() {
            let of = |metric: Metric| measured.witness.iter().find(|witness| witness.metric == metric.name());
            let told = |metric: Metric| of(metric).map(|witness| witness.database);
            let by_clients = |metric: Metric, count| Some(rate(count) * metric.per_s());
            let (nopm, tpm) = (Metric::Nopm, Metric::Tpm);
            let counted = self.run.facts.as_ref().is_some_and(|facts| facts.counters_agent.is_some());
            metrics.put(nopm, if counted { told(nopm) } else { by_clients(nopm, |work| work.new_orders) });
            metrics.put(
                tpm,
                if self.outline.has_server_counters() { told(tpm) } else { by_clients(tpm, Work::transactions) },
            );
        }
        self.put_latencies(&mut metrics);
        self.put_hosts(measured, &mut metrics);
        self.put_server(measured, &mut metrics);
        metrics
    }

    fn put_latencies(&self, metrics: &mut Metrics) {
        let (mut service, mut response) = (Latency::default(), Latency::default());
        for total in self.kinds.values() {
            service.add(&total.service);
            response.add(&total.response);
        }
        metrics.put(Metric::P50Ms, response.quantile_ms(0.50));
        metrics.put(Metric::P95Ms, response.quantile_ms(0.95));
        metrics.put(Metric::P99Ms, response.quantile_ms(0.99));
        metrics.put(Metric::MeanMs, response.mean_ms());
        metrics.put(Metric::ServiceP50Ms, service.quantile_ms(0.50));
        metrics.put(Metric::ServiceP95Ms, service.quantile_ms(0.95));
        metrics.put(Metric::ServiceP99Ms, service.quantile_ms(0.99));
        metrics.put(Metric::ServiceMeanMs, service.mean_ms());
    }

    fn put_hosts(&self, measured: &Measured, metrics: &mut Metrics) {
        let driving = measured.hosts.iter().filter(|host| self.drives(&host.key));
        metrics.put(Metric::DriverHostCpuPercent, driving.filter_map(|host| host.usage.cpu_percent).reduce(f64::max));
        let Some(host) = self.database_host(&measured.hosts) else { return };
        let usage = &host.usage;
        metrics.put(Metric::DbHostCpuPercent, usage.cpu_percent);
        metrics.put(Metric::DbDiskReadBytesPerS, usage.disk_read_bytes_per_s);
        metrics.put(Metric::DbDiskWriteBytesPerS, usage.disk_write_bytes_per_s);
        metrics.put(Metric::DbNetRxBytesPerS, usage.net_rx_bytes_per_s);
        metrics.put(Metric::DbNetTxBytesPerS, usage.net_tx_bytes_per_s);
        if let Some(database) = &usage.database
            && self.somebody_else(measured).is_none()
        {
            metrics.put(Metric::DbProcessCpuPercent, database.cpu_percent);
            let transactions = work_between(&self.samples, usage.from_ns, usage.to_ns).transactions();
            let cpu_ms = database.cpu_ms.filter(|_| transactions > 0.0);
            metrics.put(Metric::CpuMsPerTxn, cpu_ms.map(|ms| ms / transactions));
        }
    }

    /// What speaks against the process that was taken for the database's: that it answered statements without using the
    /// CPU. Servers that fork a process for each connection are like that, and their figure would be a fine one.
    fn somebody_else(&self, measured: &Measured) -> Option<&'static str> {
        let usage = &self.database_host(&measured.hosts)?.usage;
        let cpu_ms = usage.database.as_ref()?.cpu_ms?;
        let least_ms = LEAST_MS * work_between(&self.samples, usage.from_ns, usage.to_ns).statements;
        (cpu_ms < least_ms && least_ms >= SEEN_MS).then_some(
            "the process that was taken for the database's hardly used the CPU while statements were answered: another \
             does its work; name it with monitor.process",
        )
    }

    /// What a server tells of itself: batches, and the CPU of its process where no agent sees that.
    fn put_server(&self, measured: &Measured, metrics: &mut Metrics) {
        let Some((first, last)) = self.edge_readings(measured) else { return };
        metrics.put(Metric::BatchRequestsPerS, first.batches_per_s(last));
        if metrics.get(Metric::DbProcessCpuPercent).is_some() {
            return;
        }
        let Some((cpu_ms, percent)) = first.process_cpu(last) else { return };
        metrics.put(Metric::DbProcessCpuPercent, percent);
        let transactions = work_between(&self.samples, first.at_ns(), last.at_ns()).transactions();
        metrics.put(Metric::CpuMsPerTxn, (transactions > 0.0).then(|| cpu_ms / transactions));
    }

    /// The readings of the server's counters at the window's edges, unless it restarted between them.
    fn edge_readings(&self, measured: &Measured) -> Option<(&Reading, &Reading)> {
        let (start_ns, end_ns) = (measured.window.start_ns, measured.end_ns);
        let slack = edge_slack(start_ns, end_ns, measured.window.interval_ns);
        witness::at_edges(&self.readings, start_ns, end_ns, slack).filter(|_| !self.restarted(start_ns, end_ns))
    }

    /// Whether virtual users live on a host. An agent that drives and observes samples its host once, as an observer.
    pub(super) fn drives(&self, host: &HostKey) -> bool {
        let drivers = || self.run.facts.iter().flat_map(|facts| &facts.driving);
        host.drives || drivers().any(|driver| driver.name == host.agent)
    }

    /// The host that the database's figures are of: where its counters are read, else where its process was found.
    /// Without a database there is no such host, whoever observes.
    pub(super) fn database_host<'h>(&self, hosts: &'h [HostReport]) -> Option<&'h HostReport> {
        if !self.outline.has_database() {
            return None;
        }
        let counters_agent = self.run.facts.as_ref().and_then(|facts| facts.counters_agent.as_deref());
        // A SQL Server may run where no agent can: a host is the database's only where its process is seen.
        let is_the_databases = |host: &&HostReport| !self.outline.is_mssql() || host.usage.database.is_some();
        let observed = || hosts.iter().filter(|host| !host.key.drives).filter(is_the_databases);
        observed()
            .find(|host| Some(host.key.agent.as_str()) == counters_agent)
            .or_else(|| observed().find(|host| host.usage.database.is_some()))
            .or_else(|| observed().next())
    }

    fn longest_cover(&self, measured: &Measured) -> Option<u64> {
        if measured.by_transactions {
            return measured.end_ns.checked_sub(measured.window.start_ns).filter(|length| *length > 0);
        }
        let mut covered: BTreeMap<&str, u64> = BTreeMap::new();
        for sample in self.inside(measured.window) {
            *covered.entry(&*sample.agent).or_default() += sample.length_ns();
        }
        covered.into_values().max()
    }

    fn hosts_over(&self, start_ns: u64, end_ns: u64, interval_ns: u64) -> Vec<HostReport> {
        let slack = edge_slack(start_ns, end_ns, interval_ns);
        let over = |points: &[_]| host::at_edges(points, start_ns, end_ns, slack).map(|(from, to)| from.until(&to));
        self.hosts
            .iter()
            .filter_map(|(key, points)| Some(HostReport { key: key.clone(), usage: over(points)? }))
            .collect()
    }

    pub(super) fn host_series(&self) -> Vec<HostReport> {
        let pairs = self.hosts.iter().flat_map(|(key, points)| points.windows(2).map(move |pair| (key, pair)));
        pairs.map(|(key, pair)| HostReport { key: key.clone(), usage: pair[0].until(&pair[1]) }).collect()
    }

    fn witnesses(&self, window: Window, end_ns: u64, by_transactions: bool) -> Vec<Witness> {
        let slack = edge_slack(window.start_ns, end_ns, window.interval_ns);
        // The load of counted transactions has no even part to take a share of; all of it is compared.
        let slack_ns = (!by_transactions).then_some(slack);
        let clock_uncertainty_ns = self.inside(window).map(|sample| sample.uncertainty_ns).max().unwrap_or(0);
        let nopm = self.nopm((window.start_ns, end_ns), slack_ns, clock_uncertainty_ns);
        let mut witnesses: Vec<Witness> = nopm.into_iter().collect();
        let edges = match slack_ns {
            None => witness::around(&self.readings, window.start_ns, end_ns),
            Some(slack_ns) => witness::at_edges(&self.readings, window.start_ns, end_ns, slack_ns),
        };
        let comparable = self.outline.has_server_counters() && !self.restarted(window.start_ns, end_ns);
        let Some((first, last)) = edges.filter(|_| comparable) else { return witnesses };
        let sessions = self.profile.vus * self.profile.sessions_per_vu;
        let comparison = Comparison {
            profile: self.profile,
            first,
            last,
            samples: &self.samples,
            sessions,
            clock_uncertainty_ns,
            rollbacks_unseen: self.rollbacks_unseen().then(|| self.standing_share()),
        };
        witnesses.extend(comparison.witnesses());
        witnesses
    }

    fn witness_missing(&self, measured: &Measured) -> Option<String> {
        let counted = self.run.facts.as_ref().is_some_and(|facts| facts.counters_agent.is_some());
        let possible = self.outline.counts_transactions() || (counted && self.profile.order_entry.is_some());
        let has = |metric: Metric| measured.witness.iter().any(|witness| witness.metric == metric.name());
        let no_orders = self.profile.order_entry.is_some() && !has(Metric::Nopm);
        let no_calls = self.outline.is_mssql() && self.profile.order_entry.is_some_and(|it| it.procedures);
        if !possible || !(measured.witness.is_empty() || no_orders || (no_calls && !has(Metric::Tpm))) {
            return None;
        }
        let restarted = self
            .restarted(measured.window.start_ns, measured.end_ns)
            .then(|| "the database restarted and counts from 0 again".to_owned());
        let why = restarted.or_else(|| self.reading_error.clone());
        Some(why.unwrap_or_else(|| "nobody read the database's counters at both edges of the window".to_owned()))
    }

    pub(super) fn whole_run(&self) -> BTreeMap<String, WholeRun> {
        let mut whole: BTreeMap<String, WholeRun> = BTreeMap::new();
        for (kind, counted) in &self.whole {
            let client = (**kind != *NEW_ORDER || !self.rollbacks_unseen()).then_some(counted.ok);
            whole.insert(kind.to_string(), WholeRun { client, unknown: counted.unknown, database: None });
        }
        if self.profile.order_entry.is_some() {
            if let Some(total) = whole.get_mut(NEW_ORDER) {
                total.database = self.orders_of_whole_run();
            }
        } else if whole.len() == 1
            && let Some(total) = whole.values_mut().next()
        {
            total.database = self.commits_of_whole_run();
        }
        whole
    }

    /// Commits that the database counted while the run lasted, where it was read before and after and never restarted.
    fn commits_of_whole_run(&self) -> Option<u64> {
        let (first, last) = (self.readings.first()?, self.readings.last()?);
        let begun = self.samples.iter().map(|sample| sample.start_ns).min()?;
        let ended = self.samples.iter().map(|sample| sample.end_ns).max()?;
        let covers = first.at_ns() <= begun && last.at_ns() >= ended;
        let steady = self.readings.windows(2).all(|pair| pair[0].uptime_s <= pair[1].uptime_s);
        let usable = self.outline.has_server_counters() && self.profile.transactional && covers && steady;
        usable.then(|| first.commits_until(last)).flatten()
    }
}

/// How far a sample may lie from the edge that it stands for.
fn edge_slack(start_ns: u64, end_ns: u64, interval_ns: u64) -> u64 {
    (end_ns.saturating_sub(start_ns) / 20).max(2 * interval_ns)
}
