//! What to say when a text is not TOML at all.

use toml_edit::TomlError;

use super::mistakes::line_at;
use super::{Problem, Refusal};

/// The one mistake of a text that could not be parsed.
pub(super) fn refusal(text: &str, error: &TomlError) -> Refusal {
    let line = error.span().map(|span| line_at(text, span.start));
    let written = line.and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
    Refusal {
        problems: vec![Problem {
            line,
            key: "syntax".to_owned(),
            what: error.message().replace('\n', " "),
            remedy: remedy(error.message(), written),
        }],
    }
}

/// The usual slips have their own advice. A line about a password is never repeated.
fn remedy(message: &str, written: &str) -> String {
    let general = "write the line as TOML: key = value, text in double quotes, tables as [name] (https://toml.io)";
    if message.contains("duplicate key") {
        return "keep one of the two".to_owned();
    }
    match written.split_once('=') {
        Some((key, value)) if message.contains("must be quoted") && !key.contains("password") => {
            let value = value.split('#').next().unwrap_or_default().trim();
            match value.contains(['"', '\'', '[', '{']) {
                true => general.to_owned(),
                false => format!("put text and times in quotes: {} = \"{value}\"", key.trim()),
            }
        }
        _ => general.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml_edit::DocumentMut;

    #[test]
    fn the_line_and_the_usual_slip_are_named() {
        for (text, line, remedy) in [
            ("a = 1\nmeasure = 10s # short\n", 2, "put text and times in quotes: measure = \"10s\""),
            ("a = 1\na = 2\n", 2, "keep one of the two"),
            ("password = hunter2\n", 1, "write the line as TOML"),
            ("a = [yes]\n", 1, "write the line as TOML"),
            ("[a\n", 1, "write the line as TOML"),
        ] {
            let error = text.parse::<DocumentMut>().unwrap_err();
            let refusal = refusal(text, &error);
            let [problem] = refusal.problems.as_slice() else { panic!("one problem for {text:?}") };
            assert_eq!(problem.line, Some(line), "{text}");
            assert!(problem.remedy.starts_with(remedy), "{text}: {}", problem.remedy);
            assert!(!refusal.to_string().contains("hunter2"));
        }
    }
}
