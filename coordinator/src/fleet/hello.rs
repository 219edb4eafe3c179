//! How an agent may introduce itself. What it says is stored, printed and joined on; it is held to sizes and to printable characters
//! before any of that.

use tonic::Status;
use vufleet_proto::v1::Hello;

/// Characters of a name.
const NAME: usize = 100;
/// Characters of a label, a role, a host, a version.
const WORD: usize = 256;
/// Characters of a path.
const PATH: usize = 4_096;
/// Roles, labels, commands.
const MANY: usize = 256;

/// # Errors
/// What is too long, or holds control characters, with its name.
pub fn check(hello: &Hello) -> Result<(), Status> {
    let fits = |what: &str, text: &str, longest: usize| {
        if text.chars().count() > longest {
            return Err(refused(format!("{what} is longer than {longest} characters")));
        }
        if text.chars().any(char::is_control) {
            return Err(refused(format!("{what} {text:?} holds control characters")));
        }
        Ok(())
    };
    if hello.name.is_empty() {
        return Err(refused("its name is empty".to_owned()));
    }
    if hello.boot == 0 {
        return Err(refused("it does not say which process it is (boot)".to_owned()));
    }
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
    }

    #[test]
    fn the_rest_is_named() {
        let labels = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
        for (hello, words) in [
            (Hello { name: String::new(), ..hello() }, "name is empty"),
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
            let status = check(&hello).unwrap_err();
            assert!(status.message().contains(words), "{status}");
            assert!(status.message().chars().all(|c| !c.is_control()), "{status}");
        }
    }
}
