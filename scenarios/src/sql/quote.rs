//! Names and texts as they stand in SQL, whatever is in them.

/// A name in T-SQL: `[a]]b]`.
pub fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A Unicode text in T-SQL: `N'it''s'`.
pub fn national(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// A text in MySQL. Whether a backslash escapes there depends on `sql_mode`, so a text with one is written as its bytes.
pub fn literal(text: &str) -> String {
    if text.contains('\\') {
        let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
        return format!("_utf8mb4 x'{digits}'");
    }
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::Dialect;
    use crate::sql::verbatim_length;

    #[test]
    fn what_would_end_a_quote_is_doubled() {
        assert_eq!(bracketed("a];DROP TABLE x--"), "[a]];DROP TABLE x--]");
        assert_eq!(national("it's ]"), "N'it''s ]'");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("C:\\a'b"), "_utf8mb4 x'433A5C612762'");
    }

    proptest! {
        #[test]
        fn a_quote_ends_where_its_text_ends(text in "[\\]\\['\"\\\\;a -]{0,12}") {
            let name = bracketed(&text);
            prop_assert_eq!(verbatim_length(Dialect::Mssql, &name), name.len());
            let quoted = &national(&text)[1..];
            prop_assert!(ends_at_its_last_byte(quoted));
            prop_assert!(text.contains('\\') || ends_at_its_last_byte(&literal(&text)));
        }
    }

    /// Two texts back to back are a doubled quote, so the pieces are joined.
    fn ends_at_its_last_byte(quoted: &str) -> bool {
        let inner = &quoted[1..quoted.len() - 1];
        inner.replace("''", "").chars().all(|c| c != '\'')
    }
}
