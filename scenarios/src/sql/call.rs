//! A statement that does nothing but call a stored procedure, taken apart, so that a driver can call it without text.

use super::lex::body;
use crate::session::Dialect;

/// `EXEC procedure @name = :value, ...`: every argument a parameter, nothing before, between or behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The procedure as written, its schema and brackets included.
    pub procedure: String,
    /// The arguments, in slot order.
    pub arguments: Vec<Argument>,
}

/// One argument of a [`Call`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Name of the procedure's parameter with its `@`; empty where the argument goes by its position.
    pub name: String,
    /// Whether the procedure hands a value back in it.
    pub output: bool,
}

impl Call {
    /// Reads T-SQL whose parameters are `@P1`, `@P2` and so on already, `slots` of them. None for anything but a call.
    pub(super) fn parse(sql: &str, slots: usize) -> Option<Call> {
        let text = body(sql, Dialect::Mssql).trim_end().trim_end_matches(';').trim_end();
        let (verb, rest) = text.split_once(|c: char| c.is_ascii_whitespace())?;
        if !verb.eq_ignore_ascii_case("EXEC") && !verb.eq_ignore_ascii_case("EXECUTE") {
            return None;
        }
        let rest = rest.trim_start();
        let length = name_length(rest)?;
        let (procedure, rest) = rest.split_at(length);
        if !rest.is_empty() && !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            return None;
        }
        let rest = rest.trim();
        let arguments = match rest {
            "" => Vec::new(),
            _ => (1..).zip(rest.split(',')).map(|(slot, text)| argument(text, slot)).collect::<Option<Vec<_>>>()?,
        };
        (arguments.len() == slots).then(|| Call { procedure: procedure.to_owned(), arguments })
    }
}

/// Length of a name of up to four parts, in brackets or without, at the beginning of `text`.
fn name_length(text: &str) -> Option<usize> {
    let mut length = 0;
    loop {
        let part = part_length(&text[length..])?;
        length += part;
        if !text[length..].starts_with('.') {
            return Some(length);
        }
        length += 1;
    }
}

fn part_length(text: &str) -> Option<usize> {
    let Some(inside) = text.strip_prefix('[') else {
        let end = text.find(|c: char| !c.is_alphanumeric() && !"_#$".contains(c)).unwrap_or(text.len());
        return (end > 0).then_some(end);
    };
    // A closing bracket of the name's own is doubled.
    let mut at = 0;
    loop {
        at += inside[at..].find(']')? + 1;
        if !inside[at..].starts_with(']') {
            return Some(1 + at);
        }
        at += 1;
    }
}

/// `@name = @P3 OUTPUT`, where 3 is the slot.
fn argument(text: &str, slot: usize) -> Option<Argument> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), value.trim()),
        None => ("", text.trim()),
    };
    let mut words = value.split_ascii_whitespace();
    let fits = words.next()? == format!("@P{slot}") && (name.is_empty() || is_variable(name));
    let output = match words.next() {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("OUTPUT") || word.eq_ignore_ascii_case("OUT") => true,
        Some(_) => return None,
    };
    (fits && words.next().is_none()).then(|| Argument { name: name.to_owned(), output })
}

fn is_variable(name: &str) -> bool {
    name.strip_prefix('@')
        .is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_#$".contains(c)))
}

#[cfg(test)]
mod tests {
    use crate::session::Dialect;
    use crate::sql::{Protocol, Statement};

    fn call(sql: &str) -> Option<(String, Vec<(String, bool)>)> {
        let call = Statement::parse(sql, Dialect::Mssql, Protocol::Prepared).call?;
        Some((call.procedure, call.arguments.into_iter().map(|argument| (argument.name, argument.output)).collect()))
    }

    #[test]
    fn calls_are_taken_apart() {
        for (sql, procedure, arguments) in [
            ("EXEC neword @no_w_id = :w::int, @no_d_id=:d", "neword", &[("@no_w_id", false), ("@no_d_id", false)][..]),
            ("exec dbo.slev :w, :d ;", "dbo.slev", &[("", false), ("", false)]),
            ("-- why\nEXECUTE [my db].[d]]bo].[a.b]\n :w OUTPUT", "[my db].[d]]bo].[a.b]", &[("", true)]),
            ("EXEC p @a = :a OUT", "p", &[("@a", true)]),
            ("EXEC nothing", "nothing", &[]),
        ] {
            let arguments = arguments.iter().map(|(name, output)| ((*name).to_owned(), *output)).collect();
            assert_eq!(call(sql), Some((procedure.to_owned(), arguments)), "{sql}");
        }
    }

    #[test]
    fn what_does_more_than_call_is_no_call() {
        for sql in [
            "SELECT :a",
            "EXEC",
            "EXEC p :a, 1",
            "EXEC p 'text'",
            "EXEC p :a; SELECT 1",
            "EXEC p :a WITH RECOMPILE",
            "EXEC @status = p :a",
            "EXEC (:a)",
            "EXEC sp_executesql N'SELECT @a, @b', N'@a int', :a",
            "EXEC p :a /* why */",
            "EXEC p @a = @b = :a",
            "EXEC p a = :a",
            "EXEC p :b + :a",
            "EXEC [p :a",
            "EXECP :a",
            "BEGIN EXEC p :a END",
        ] {
            assert_eq!(call(sql), None, "{sql}");
        }
        assert_eq!(Statement::parse("EXEC p :a", Dialect::Sqlite, Protocol::Prepared).call, None);
    }
}
