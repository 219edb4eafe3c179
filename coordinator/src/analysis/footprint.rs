//! What an observer did in a run, as the database counts it: work that it dropped did not cost anything, and makes it look
//! cheaper than it is.

use std::collections::BTreeMap;

use crate::ledger::Fact;

/// Ends of the names of counts of what was lost.
const LOSSES: [&str; 3] = ["dropped", "failed", "lost"];

/// Of every footprint that has a number, what it came to in the run.
pub(super) fn observer(facts: &[Fact]) -> BTreeMap<String, u64> {
    let amount = |fact: &Fact| match fact {
        Fact::Footprint { name, cumulative: false, after, .. } => Some((name.clone(), (*after)?)),
        // A count that fell was begun anew in mid-run, by a file that rolled over or a session that was started again.
        Fact::Footprint { name, before, after, .. } => Some((name.clone(), (*after)?.checked_sub((*before)?)?)),
        _ => None,
    };
    facts.iter().filter_map(amount).collect()
}

/// The counts among them of what the observer lost.
pub(super) fn losses(observer: &BTreeMap<String, u64>) -> impl Iterator<Item = (&str, u64)> {
    let is_loss = |name: &str| LOSSES.iter().any(|end| name.ends_with(end));
    observer
        .iter()
        .filter(move |(name, count)| **count > 0 && is_loss(name))
        .map(|(name, count)| (name.as_str(), *count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(name: &str, cumulative: bool, before: Option<u64>, after: Option<u64>) -> Fact {
        Fact::Footprint { name: name.to_owned(), cumulative, before, after }
    }

    #[test]
    fn growth_is_a_difference_and_a_level_is_not() {
        for (cumulative, before, after, amount) in [
            (true, Some(10), Some(25), Some(15)),
            (true, Some(10), Some(10), Some(0)),
            (true, Some(10), Some(3), None),
            (true, None, Some(3), None),
            (true, Some(3), None, None),
            (false, Some(10), Some(3), Some(3)),
            (false, None, Some(3), Some(3)),
            (false, Some(3), None, None),
        ] {
            let found = observer(&[footprint("bytes_written", cumulative, before, after)]);
            assert_eq!(found.get("bytes_written").copied(), amount, "{cumulative} {before:?} {after:?}");
        }
    }

    #[test]
    fn only_losses_are_losses_and_only_where_there_are_some() {
        let seen = [("events_dropped", 3), ("buffers_dropped", 0), ("bytes_written", 9), ("writes_failed", 1)];
        let observer = seen.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(losses(&observer).collect::<Vec<_>>(), [("events_dropped", 3), ("writes_failed", 1)]);
    }
}
