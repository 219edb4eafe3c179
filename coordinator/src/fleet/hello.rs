//! How an agent may introduce itself. What it says is stored, printed and joined on; it is held to sizes and to printable characters
//! before any of that.

use tonic::Status;
use vufleet_proto::v1::{Goodbye, Heartbeat, Hello};

/// Characters of a name.
const NAME: usize = 100;
/// Characters of a label, a role, a host, a version.
const WORD: usize = 256;
/// Characters of a path.
const PATH: usize = 4_096;
/// Roles, labels, commands; and what a heartbeat names.
const MANY: usize = 256;

/// Whether a terminal would do something else with a character than show it: control characters, and those without a width that turn
/// the direction of what follows, break its line or hide.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn fits(what: &str, text: &str, longest: usize) -> Result<(), Status> {
    if text.chars().count() > longest {
        return Err(refused(format!("{what} is longer than {longest} characters")));
    }
    if text.chars().any(is_unprintable) {
        return Err(refused(format!("{what} \"{}\" holds control characters", escaped(text))));
    }
    Ok(())
}

/// A text that may hold anything, in printable characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) { escaped.extend(c.escape_unicode()) } else { escaped.push(c) }
    }
    escaped
}

/// The same of a text of several lines and columns, which stay.
pub fn shown(text: &str) -> String {
    let parts = text.split_inclusive(['\n', '\t']);
    let shown = parts.map(|part| match part.strip_suffix(['\n', '\t']) {
        Some(words) => escaped(words) + &part[words.len()..],
        None => escaped(part),
    });
    shown.collect()
}

/// The sizes and the characters of what an agent says of itself, of whichever protocol it is.
///
/// # Errors
/// What is too long, or holds control characters, with its name.
pub fn check(hello: &Hello) -> Result<(), Status> {
    fits("its name", &hello.name, NAME)?;
    for (what, count) in
        [("roles", hello.roles.len()), ("labels", hello.labels.len()), ("commands", hello.commands.len())]
    {
        if count > MANY {
            return Err(refused(format!("it has more than {MANY} {what}")));
        }
    }
    let labels = hello.labels.iter().flat_map(|(key, value)| [key, value]).map(|text| ("a label", text));
    let roles = hello.roles.iter().map(|text| ("a role", text));
    let commands = hello.commands.iter().map(|text| ("a command's name", text));
    let others =
        [("its version", &hello.version), ("its host's name", &hello.hostname), ("its machine", &hello.machine)];
    for (what, text) in labels.chain(roles).chain(commands).chain(others) {
        fits(what, text, WORD)?;
    }
    fits("its [snapshot] datadir", &hello.snapshot, PATH)
}

/// What an agent of this protocol has to say.
///
/// # Errors
/// What is missing.
pub fn check_complete(hello: &Hello) -> Result<(), Status> {
    if hello.name.is_empty() {
        return Err(refused("its name is empty".to_owned()));
    }
    if hello.boot == 0 {
        return Err(refused("it does not say which process it is (boot)".to_owned()));
    }
    Ok(())
}

/// Why an agent ends, as it may be shown. One that says it in a way that may not be shown ends all the same.
pub fn reason(goodbye: Goodbye) -> String {
    match fits("its reason", &goodbye.reason, WORD) {
        Ok(()) => goodbye.reason,
        Err(_) => "ends, for a reason that is too long or holds control characters".to_owned(),
    }
}

/// Keeps so much of a heartbeat that it cannot fill memory. An agent has a few jobs and holds; of one that claims to have more, the first
/// are told to end, and the next ones after that.
pub fn shorten(heartbeat: &mut Heartbeat) {
    for numbers in [&mut heartbeat.jobs, &mut heartbeat.holds] {
        numbers.truncate(MANY);
        numbers.shrink_to_fit();
    }
}

fn refused(why: String) -> Status {
    Status::invalid_argument(format!("an agent is refused as it introduces itself: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let labels = [("zone".to_owned(), "a b".to_owned())].into();
        Hello { name: "load-1".into(), boot: 1, roles: vec!["drive".into()], labels, ..Default::default() }
    }

    #[test]
    fn what_is_printable_and_short_is_taken() {
        check(&hello()).unwrap();
        check(&Hello { name: "Lastgenerator-ä".into(), snapshot: "/var/lib/mysql".into(), ..hello() }).unwrap();
        check(&Hello { name: "a\u{308}负载".into(), ..hello() }).unwrap();
        check_complete(&hello()).unwrap();
    }

    #[test]
    fn the_rest_is_named() {
        let labels = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
        for (hello, words) in [
            (Hello { name: String::new(), ..hello() }, "name is empty"),
            (Hello { version: "1\n2".into(), ..hello() }, "its version"),
            (Hello { version: "1".repeat(1 << 20), ..hello() }, "its version is longer"),
            (Hello { hostname: "db\u{202e}moc".into(), ..hello() }, "control characters"),
            (Hello { name: "a".repeat(101), ..hello() }, "its name is longer"),
            (Hello { name: "a\u{1b}[2J".into(), ..hello() }, "control characters"),
            (Hello { boot: 0, ..hello() }, "boot"),
            (Hello { labels: labels("a\nb", "c"), ..hello() }, "a label"),
            (Hello { labels: labels("a", &"x".repeat(257)), ..hello() }, "a label"),
            (
                Hello { labels: (0..257).map(|n| (n.to_string(), String::new())).collect(), ..hello() },
                "more than 256 labels",
            ),
            (Hello { roles: vec!["drive".into(); 257], ..hello() }, "more than 256 roles"),
            (Hello { commands: vec!["\0".into()], ..hello() }, "a command's name"),
            (Hello { hostname: "h".repeat(300), ..hello() }, "its host's name"),
            (Hello { machine: "\r".into(), ..hello() }, "its machine"),
            (Hello { snapshot: "/".repeat(5_000), ..hello() }, "datadir"),
        ] {
            let status = check(&hello).and_then(|()| check_complete(&hello)).unwrap_err();
            assert!(status.message().contains(words), "{status}");
            assert!(!status.message().chars().any(is_unprintable), "{status}");
        }
    }

    /// Of protocols that knew no boot too: who is older is told that, not what else is missing.
    #[test]
    fn an_older_agent_may_leave_things_out() {
        check(&Hello { name: "load-1".into(), protocol: 1, version: "0.0.1".into(), ..Default::default() }).unwrap();
    }

    #[test]
    fn a_reason_is_shown_where_it_can_be() {
        let reason = |text: &str| super::reason(Goodbye { reason: text.to_owned() });
        assert_eq!(reason("was told to end (SIGTERM)"), "was told to end (SIGTERM)");
        for strange in ["a\nb", "\u{1b}[2J", "a\u{2028}b", &"x".repeat(WORD + 1)] {
            assert!(reason(strange).starts_with("ends, for a reason that is too long"), "{strange:?}");
        }
    }

    #[test]
    fn words_of_others_are_shown_and_not_obeyed() {
        assert_eq!(shown("a\tb\nTabelle «ä»\n"), "a\tb\nTabelle «ä»\n");
        assert_eq!(shown("\u{1b}]0;x\u{7}\r\nb\u{202e}"), "\\u{1b}]0;x\\u{7}\\u{d}\nb\\u{202e}");
    }

    #[test]
    fn a_heartbeat_names_so_many_numbers() {
        let numbers: Vec<u64> = (1..=1_000_000).collect();
        let mut heartbeat = Heartbeat { jobs: numbers.clone(), holds: numbers, run: 7, ..Default::default() };
        shorten(&mut heartbeat);
        assert_eq!((heartbeat.jobs.len(), heartbeat.holds.len(), heartbeat.run), (MANY, MANY, 7));
        assert!(heartbeat.jobs.capacity() < 2 * MANY && heartbeat.holds.capacity() < 2 * MANY);
    }
}
