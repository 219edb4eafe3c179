//! One answer to a scrape, written metric by metric in Prometheus' text format. Names follow its conventions: base units, and
//! `_total` behind counters, which the format adds by itself.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub use prometheus_client::encoding::prometheus_text::CONTENT_TYPE;

/// What a process has to tell. Asked at every scrape, on the page's thread; it must not wait for anything.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// Writes every metric.
    fn tell(&self, sheet: &mut Sheet<'_>) -> fmt::Result;

    /// Why the process cannot do its work now; none when it can.
    fn ailment(&self) -> Option<String>;
}

/// A label's name and value.
pub type Label<'a> = (&'a str, &'a str);

/// A sheet that is being written.
pub struct Sheet<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl Sheet<'_> {
    /// Something that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.gauges(name, help, [([].as_slice(), value)])
    }

    /// The same, where it is known.
    pub fn gauge_if_known(&mut self, name: &str, help: &str, value: Option<f64>) -> fmt::Result {
        self.gauges(name, help, value.map(|value| ([].as_slice(), value)))
    }

    /// The same for each of several.
    pub fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        each: impl IntoIterator<Item = (&'l [Label<'l>], f64)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, each, |mut metric, value| metric.encode_gauge(&value))
    }

    /// How large things were, by bounds.
    pub fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) -> fmt::Result {
        histogram.encode(self.encoder.encode_descriptor(name, help, None, MetricType::Histogram)?)
    }

    /// Something that only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.counters(name, help, [([].as_slice(), value)])
    }

    /// The same for each of several.
    pub fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        each: impl IntoIterator<Item = (&'l [Label<'l>], f64)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, each, |mut metric, value| {
            metric.encode_counter::<[Label<'_>; 0], f64, f64>(&value, None)
        })
    }

    /// One metric for each of several; none of it where there are none, for a name without a value is no metric.
    fn family<'l>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        each: impl IntoIterator<Item = (&'l [Label<'l>], f64)>,
        write: impl Fn(MetricEncoder<'_>, f64) -> fmt::Result,
    ) -> fmt::Result {
        let mut each = each.into_iter().peekable();
        if each.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.encoder.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in each {
            write(metric.encode_family(&labels)?, value)?;
        }
        Ok(())
    }
}

/// Everything that a source has to tell, as text.
pub fn write(source: &Arc<dyn Source>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Told(Arc::clone(source))));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Told(Arc<dyn Source>);

impl Collector for Told {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.tell(&mut Sheet { encoder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Two;

    impl Source for Two {
        fn tell(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
            sheet.gauge("vufleet_lease_left_seconds", "Until the load stops", 7.5)?;
            sheet.gauge_if_known("vufleet_unknown", "Nobody knows", None)?;
            let odd = [("agent", "a \"b\" \\ \n c")];
            sheet.counters("vufleet_events", "Events", [(odd.as_slice(), 3.0)])
        }

        fn ailment(&self) -> Option<String> {
            None
        }
    }

    #[test]
    fn it_is_prometheus_text() {
        let source: Arc<dyn Source> = Arc::new(Two);
        assert_eq!(
            write(&source).unwrap(),
            "# HELP vufleet_lease_left_seconds Until the load stops\n\
             # TYPE vufleet_lease_left_seconds gauge\n\
             vufleet_lease_left_seconds 7.5\n\
             # HELP vufleet_events_total Events\n\
             # TYPE vufleet_events_total counter\n\
             vufleet_events_total{agent=\"a \\\"b\\\" \\\\ \\n c\"} 3.0\n"
        );
    }
}
