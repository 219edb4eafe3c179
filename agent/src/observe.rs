//! What an agent sees of its host and of the database, beside the load: samples and counters, never judgements.
//!
//! Everything is cumulative since boot or since the server's start. Differences, rates and percentages belong to whoever
//! chose a window.

pub mod control;
pub mod database;
pub mod description;
pub mod host;
pub mod meter;
pub mod orders;
pub mod process;

#[cfg(test)]
mod scripted;
