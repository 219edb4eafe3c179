//! How ids and values of k are drawn from 1..=table_size.
//!
//! A [`Distribution`] is what the study says; [`Ids`] is the same with everything worked out for one table size. Both
//! are plain values: the random bits come from the caller's stream.

use super::Distribution;
use super::zipf::Zipf;
use crate::random::{Stream, below, unit};

/// A distribution over 1..=count, ready to draw from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ids {
    count: u32,
    law: Law,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    Uniform,
    /// The hot region starts after `before` values and spans `width`.
    Special {
        res: u32,
        before: u32,
        width: u32,
        iter: u32,
    },
    Bell {
        iter: u32,
    },
    Pareto {
        power: f64,
    },
    Zipf(Zipf),
}

impl Distribution {
    /// Name in studies and results.
    pub fn name(&self) -> &'static str {
        match self {
            Distribution::Special { .. } => "special",
            Distribution::Uniform => "uniform",
            Distribution::Gaussian { .. } => "gaussian",
            Distribution::Pareto { .. } => "pareto",
            Distribution::Zipfian { .. } => "zipfian",
        }
    }

    /// Works the distribution out for values from 1 to `count`, which must not be 0.
    pub fn over(&self, count: u32) -> Ids {
        let law = match *self {
            Distribution::Uniform => Law::Uniform,
            Distribution::Special { pct, iter, res } => {
                let width = (u64::from(count) * u64::from(pct) / 100).clamp(1, u64::from(count)) as u32;
                Law::Special { res, before: (count - width) / 2, width, iter }
            }
            Distribution::Gaussian { iter } => Law::Bell { iter },
            Distribution::Pareto { h } => Law::Pareto { power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { exponent } => Law::Zipf(Zipf::new(count, exponent)),
        };
        Ids { count, law }
    }
}

impl Ids {
    /// The next value.
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        match &self.law {
            Law::Uniform => 1 + below(stream, self.count),
            Law::Special { res, before, width, iter } => {
                if below(stream, 100) < *res {
                    1 + before + below(stream, *width)
                } else {
                    bell(stream, self.count, *iter)
                }
            }
            Law::Bell { iter } => bell(stream, self.count, *iter),
            Law::Pareto { power } => self_similar(unit(stream), self.count, *power),
            Law::Zipf(zipf) => zipf.draw(stream),
        }
    }
}

/// The mean of `iter` uniform draws, rounded down.
fn bell(stream: &mut Stream, count: u32, iter: u32) -> u32 {
    let sum: u64 = (0..iter).map(|_| u64::from(below(stream, count))).sum();
    1 + (sum / u64::from(iter)) as u32
}

/// J. Gray, P. Sundaresan, S. Englert, K. Baclawski, P. Weinberger, "Quickly generating billion-record synthetic
/// databases", SIGMOD 1994, self-similar distribution: n * u^(log h / log(1 - h)).
fn self_similar(u: f64, count: u32, power: f64) -> u32 {
    // For h near 1 the power of u may round up to 1.
    1 + ((f64::from(count) * u.powf(power)) as u32).min(count - 1)
}

#[cfg(test)]
mod tests;
