//! Per-user statistics of MariaDB and Percona Server (`userstat`).

use super::{remember, require, sql};
use crate::study::{Change, When};

/// The preset `userstat`, which has no parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Userstat;

impl Userstat {
    /// What switches it on and puts the setting back as it was. What has been counted by then stays until somebody flushes it.
    pub fn change(self) -> Change {
        Change {
            when: When::default(),
            remember: vec![remember("userstat", "SELECT @@global.userstat")],
            apply: vec![sql("SET GLOBAL userstat = ON")],
            verify: vec![require("SELECT @@global.userstat", "1")],
            revert: vec![sql("SET GLOBAL userstat = {remembered:userstat}")],
            undone: vec![require("SELECT @@global.userstat", "{remembered:userstat}")],
            footprint: Vec::new(),
        }
    }
}
