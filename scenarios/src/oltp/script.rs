//! What each script does: which groups of statements make up one of its transactions, in which order.

use super::{Script, Shape};
use crate::sql::Protocol;

/// What one member of a group does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
    /// Deletes a row and inserts it anew under the same id.
    DeleteInsert,
}

impl Action {
    /// Statements it sends when it meets no fault.
    pub(super) fn statements(self) -> u32 {
        if self == Action::DeleteInsert { 2 } else { 1 }
    }

    pub(super) fn writes(self) -> bool {
        use Action::*;
        matches!(self, IndexUpdate | NonIndexUpdate | Delete | Insert | DeleteInsert)
    }
}

/// Members of one kind in a transaction. They share a table, drawn once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) action: Action,
    pub(super) times: u32,
}

impl Script {
    /// All scripts, in the order of the documentation.
    pub const ALL: [Script; 8] = [
        Script::ReadOnly,
        Script::ReadWrite,
        Script::WriteOnly,
        Script::PointSelect,
        Script::UpdateIndex,
        Script::UpdateNonIndex,
        Script::Insert,
        Script::Delete,
    ];

    /// Name in studies and results.
    pub fn name(self) -> &'static str {
        match self {
            Script::ReadOnly => "read_only",
            Script::ReadWrite => "read_write",
            Script::WriteOnly => "write_only",
            Script::PointSelect => "point_select",
            Script::UpdateIndex => "update_index",
            Script::UpdateNonIndex => "update_non_index",
            Script::Insert => "insert",
            Script::Delete => "delete",
        }
    }

    /// The script of that name, with or without the `oltp_` that sysbench puts before it.
    pub fn parse(name: &str) -> Option<Script> {
        let bare = name.strip_prefix("oltp_").unwrap_or(name);
        Script::ALL.into_iter().find(|script| script.name() == bare)
    }

    /// sysbench prepares the statements of every script but `insert`.
    pub fn default_protocol(self) -> Protocol {
        if self == Script::Insert { Protocol::Text } else { Protocol::Prepared }
    }

    /// Whether BEGIN and COMMIT enclose its statements unless `skip_trx` says otherwise.
    pub(super) fn has_transaction(self) -> bool {
        matches!(self, Script::ReadOnly | Script::ReadWrite | Script::WriteOnly)
    }
}

impl Shape {
    /// The groups of one transaction in the order in which they are sent; none is empty.
    pub(super) fn groups(&self) -> Vec<Group> {
        let mut groups = match self.script {
            Script::ReadOnly => self.reads(),
            Script::ReadWrite => [self.reads(), self.writes()].concat(),
            Script::WriteOnly => self.writes(),
            Script::PointSelect => vec![Group { action: Action::PointSelect, times: 1 }],
            Script::UpdateIndex => vec![Group { action: Action::IndexUpdate, times: self.counts.index_updates }],
            Script::UpdateNonIndex => {
                vec![Group { action: Action::NonIndexUpdate, times: self.counts.non_index_updates }]
            }
            Script::Insert => vec![Group { action: Action::Insert, times: 1 }],
            Script::Delete => vec![Group { action: Action::Delete, times: 1 }],
        };
        groups.retain(|group| group.times > 0);
        groups
    }

    fn reads(&self) -> Vec<Group> {
        let counts = self.counts;
        let mut groups = vec![Group { action: Action::PointSelect, times: counts.point_selects }];
        if self.range_selects {
            groups.extend([
                Group { action: Action::SimpleRange, times: counts.simple_ranges },
                Group { action: Action::SumRange, times: counts.sum_ranges },
                Group { action: Action::OrderRange, times: counts.order_ranges },
                Group { action: Action::DistinctRange, times: counts.distinct_ranges },
            ]);
        }
        groups
    }

    fn writes(&self) -> Vec<Group> {
        vec![
            Group { action: Action::IndexUpdate, times: self.counts.index_updates },
            Group { action: Action::NonIndexUpdate, times: self.counts.non_index_updates },
            Group { action: Action::DeleteInsert, times: self.counts.delete_inserts },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_with_and_without_prefix() {
        for script in Script::ALL {
            assert_eq!(Script::parse(script.name()), Some(script));
            assert_eq!(Script::parse(&format!("oltp_{}", script.name())), Some(script));
        }
        for unknown in ["", "oltp_", "oltp", "read-write", "READ_WRITE", "oltp_oltp_insert", "insert "] {
            assert_eq!(Script::parse(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn only_insert_travels_as_text_by_default() {
        for script in Script::ALL {
            let text = script.default_protocol() == Protocol::Text;
            assert_eq!(text, script == Script::Insert, "{}", script.name());
        }
    }
}
