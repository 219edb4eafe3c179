//! Every text that restores a backup, whatever the database and the files are called.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use vufleet_scenarios::backup;
use vufleet_scenarios::study::Backup;

use super::batch::{batch, query};

/// A name that would break out of its quotes, if anything could.
fn hostile() -> impl Strategy<Value = String> {
    "[\\]\\[' ;A-Ca-c.{}\"/*-]{1,24}"
}

proptest! {
    #[test]
    fn a_restore_is_read_and_its_names_are_what_they_were(
        database in hostile(), files in vec(hostile(), 1..5), moves in btree_map(hostile(), hostile(), 0..3)
    ) {
        let backup = Backup { files, moves };
        let texts = backup.restore(&database).into_iter().chain(backup.look());
        let read = texts.map(|text| batch(&text).map_err(|error| TestCaseError::fail(format!("{error} in\n{text}"))));
        let parsers = read.collect::<Result<Vec<_>, _>>()?;
        prop_assert!(parsers[..3].iter().all(|parser| parser.names.contains(&database)));
        let told = |text: &String| parsers[1].texts.contains(text);
        prop_assert!(backup.files.iter().chain(backup.moves.keys()).chain(backup.moves.values()).all(told));
        let state = backup::state(&database);
        prop_assert!(query(state.trim_end_matches(';')).is_ok(), "{state}");
    }
}
