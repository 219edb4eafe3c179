//! Latencies as histograms that add.

mod encoded;

use std::fmt;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

pub use encoded::Encoded;

/// Significant decimal digits: buckets are a thousandth wide.
const DIGITS: u8 = 3;
const NS_PER_MS: f64 = 1e6;

/// A histogram of nanoseconds.
#[derive(Clone, PartialEq)]
pub struct Latency(Histogram<u64>);

/// A histogram in the V2 serialisation cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an HDR histogram in its V2 serialisation")]
pub struct Unreadable;

impl Default for Latency {
    fn default() -> Self {
        Latency(Histogram::new(DIGITS).expect("3 digits are allowed"))
    }
}

impl fmt::Debug for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Latency({} values)", self.0.len())
    }
}

impl Latency {
    /// Reads a histogram; no bytes at all are an empty one.
    pub fn read(bytes: &[u8]) -> Result<Latency, Unreadable> {
        if bytes.is_empty() {
            return Ok(Latency::default());
        }
        let mut histogram = Deserializer::new().deserialize(&mut &bytes[..]).map_err(|_| Unreadable)?;
        histogram.auto(true); // not part of the serialisation, and `add` relies on it
        Ok(Latency(histogram))
    }

    /// The histogram in its V2 serialisation.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).expect("writing to memory does not fail");
        bytes
    }

    /// Adds one value.
    pub fn record_ns(&mut self, value: u64) {
        self.0.record(value).expect("the histogram resizes itself");
    }

    /// Adds what another histogram holds.
    pub fn add(&mut self, other: &Latency) {
        self.0.add(&other.0).expect("the histogram resizes itself");
    }

    /// The same of one that was read without building it.
    pub fn add_encoded(&mut self, other: &Encoded) {
        for (value, count) in other.counts() {
            self.0.record_n(*value, *count).expect("the histogram resizes itself");
        }
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The histogram itself.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// Value below which a share of all values lies; none of nothing.
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(quantile) as f64 / NS_PER_MS)
    }

    /// Mean; none of nothing.
    pub fn mean_ms(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.mean() / NS_PER_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values_ns: &[u64]) -> Latency {
        let mut latency = Latency::default();
        for value in values_ns {
            latency.0.record(*value).unwrap();
        }
        latency
    }

    #[test]
    fn histograms_survive_the_wire_and_add() {
        let mut sum = Latency::read(&of(&[1_000_000, 2_000_000]).to_bytes()).unwrap();
        sum.add(&of(&[3_000_000, 90_000_000_000]));
        assert_eq!(sum.count(), 4);
        let p50 = sum.quantile_ms(0.5).unwrap();
        assert!((p50 - 2.0).abs() < 0.002, "{p50}");
        let max = sum.quantile_ms(1.0).unwrap();
        assert!((max - 90_000.0).abs() < 90.0, "{max}");
    }

    #[test]
    fn nothing_has_no_percentile_and_nonsense_is_refused() {
        assert_eq!(Latency::read(&[]).unwrap().quantile_ms(0.95), None);
        assert_eq!(Latency::default().mean_ms(), None);
        assert_eq!(Latency::read(b"not a histogram").unwrap_err(), Unreadable);
        let cut = &of(&[5, 6, 7]).to_bytes()[..20];
        assert_eq!(Latency::read(cut).unwrap_err(), Unreadable);
    }
}
