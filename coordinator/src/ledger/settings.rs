//! Settings as a study last wrote them down: what the next reading is compared with.

use std::collections::BTreeMap;

use super::{Fact, Ledger, LedgerError, StudyId};

/// Settings of one source, by name.
pub type Settings = BTreeMap<String, String>;

impl Ledger {
    /// The settings of every source as a study last wrote them down, whoever wrote them: a coordinator that goes on with it
    /// knows what the one before it knew.
    pub fn settings(&self, study: &StudyId) -> Result<BTreeMap<String, Settings>, LedgerError> {
        let mut known: BTreeMap<String, Settings> = BTreeMap::new();
        for run in self.runs(study)? {
            for fact in self.facts(run.id)? {
                if let Fact::Settings { source, values, .. } = fact {
                    take(known.entry(source).or_default(), values);
                }
            }
        }
        Ok(known)
    }
}

fn take(settings: &mut Settings, changes: BTreeMap<String, Option<String>>) {
    for (name, value) in changes {
        match value {
            Some(value) => settings.insert(name, value),
            None => settings.remove(&name),
        };
    }
}

/// What has to be written down where settings were `before` and are `now`.
pub fn difference(before: &Settings, now: &Settings) -> BTreeMap<String, Option<String>> {
    let gone = before.keys().filter(|name| !now.contains_key(*name)).map(|name| (name.clone(), None));
    let new = now.iter().filter(|(name, value)| before.get(*name) != Some(value));
    gone.chain(new.map(|(name, value)| (name.clone(), Some(value.clone())))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_difference_leads_from_one_to_the_other(
            before in prop::collection::btree_map("[a-d]", "[x-z]", 0..4),
            now in prop::collection::btree_map("[a-d]", "[x-z]", 0..4),
        ) {
            let changes = difference(&before, &now);
            prop_assert_eq!(changes.is_empty(), before == now);
            let mut settings = before;
            take(&mut settings, changes);
            prop_assert_eq!(settings, now);
        }
    }
}
