//! MySQL and MariaDB: their global variables.

use super::{Form, Question};

/// What a name of a variable holds that may be a secret: passwords, keys, tokens of plugins for encryption, storage in a cloud or
/// the transfer of state to another node. Paths of keys have `_key` in their names too, and are no loss.
const SECRET: &str = "passw|pwd|passphrase|secret|token|credential|_auth$|_key$|filekey|key_path";

/// Variables that move while nobody touches them: how far replication is, and what belongs to the session that asks.
const MOVING: &str = "^gtid_(binlog|current|slave|executed|purged|next|seq)|^(timestamp|identity|rand_seed[12]|pseudo_thread_id)$|\
                      last_(insert_id|gtid)|^insert_id$|_binlog_pos$";

pub(super) fn questions() -> Vec<Question> {
    let sql = format!(
        "SHOW GLOBAL VARIABLES WHERE Variable_name NOT RLIKE '{SECRET}' AND Variable_name NOT RLIKE '{MOVING}'"
    );
    vec![Question { what: "SHOW GLOBAL VARIABLES", sql, rows: Form::Named("") }]
}
