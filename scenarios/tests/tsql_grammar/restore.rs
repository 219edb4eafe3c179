//! RESTORE DATABASE: <https://learn.microsoft.com/sql/t-sql/statements/restore-statements-transact-sql>.
//!
//! The complete restore and the return to a snapshot; not files, pages, logs and variables.

use super::parser::{Parser, Read};

/// The whole statement.
pub fn statement(parser: &mut Parser) -> Read {
    parser.words("RESTORE DATABASE")?;
    parser.name()?;
    if parser.takes("FROM") {
        // `FROM DATABASE_SNAPSHOT = database_snapshot_name` stands alone.
        if parser.takes("DATABASE_SNAPSHOT") {
            parser.sign("=")?;
            return match parser.peek() {
                Some(super::token::Token::Text { .. }) => parser.text().map(drop),
                _ => parser.name().map(drop),
            };
        }
        parser.list(device)?;
    }
    if parser.takes("WITH") { options(parser) } else { Ok(()) }
}

/// `RESTORE LABELONLY FROM <backup_device>`, one device:
/// <https://learn.microsoft.com/sql/t-sql/statements/restore-statements-labelonly-transact-sql>.
pub fn label_only(parser: &mut Parser) -> Read {
    parser.words("RESTORE LABELONLY FROM")?;
    device(parser)
}

/// `logical_backup_device_name | { DISK | TAPE | URL } = 'physical_backup_device_name'`
fn device(parser: &mut Parser) -> Read {
    for medium in ["DISK", "TAPE", "URL"] {
        if parser.takes(medium) {
            parser.sign("=")?;
            return parser.text().map(drop);
        }
    }
    parser.name().map(drop)
}

/// `[ RECOVERY | NORECOVERY | STANDBY = .. ] , <general_WITH_options>`, each once but MOVE.
fn options(parser: &mut Parser) -> Read {
    let mut seen: Vec<&str> = Vec::new();
    parser.list(|parser| {
        let option = option(parser)?;
        if seen.contains(&option) {
            return Err(format!("{option} comes twice"));
        }
        if option != "MOVE" {
            seen.push(option);
        }
        Ok(())
    })?;
    let excluding =
        [("RECOVERY", "NORECOVERY"), ("RECOVERY", "STANDBY"), ("NORECOVERY", "STANDBY"), ("CHECKSUM", "NO_CHECKSUM")];
    match excluding.iter().find(|(one, other)| seen.contains(one) && seen.contains(other)) {
        Some((one, other)) => Err(format!("{one} and {other} exclude each other")),
        None => Ok(()),
    }
}

fn option(parser: &mut Parser) -> Read<&'static str> {
    const PLAIN: [&str; 9] = [
        "RECOVERY",
        "NORECOVERY",
        "REPLACE",
        "RESTART",
        "RESTRICTED_USER",
        "CHECKSUM",
        "NO_CHECKSUM",
        "STOP_ON_ERROR",
        "CONTINUE_AFTER_ERROR",
    ];
    const NUMBERS: [&str; 4] = ["FILE", "BLOCKSIZE", "BUFFERCOUNT", "MAXTRANSFERSIZE"];
    if let Some(option) = PLAIN.into_iter().find(|option| parser.takes(option)) {
        return Ok(option);
    }
    if let Some(option) = NUMBERS.into_iter().find(|option| parser.takes(option)) {
        parser.sign("=")?;
        parser.number(1, u64::MAX)?;
        return Ok(option);
    }
    if parser.takes("STANDBY") {
        parser.sign("=")?;
        parser.text()?;
        return Ok("STANDBY");
    }
    // `STATS [ = percentage ]`
    if parser.takes("STATS") {
        if parser.takes_sign("=") {
            parser.number(1, 100)?;
        }
        return Ok("STATS");
    }
    // `MOVE 'logical_file_name_in_backup' TO 'operating_system_file_name'`
    parser.words("MOVE")?;
    parser.text()?;
    parser.words("TO")?;
    parser.text()?;
    Ok("MOVE")
}
