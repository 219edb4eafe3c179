//! The commands and links of the pages that people install by.

use std::path::Path;

use super::programs::Line;
use super::{root, text};

const PAGES: [&str; 3] = ["README.md", "deploy/README.md", "docs/security.md"];

/// Lines of the blocks of a page that begin with one of our programs, without the remark behind them.
fn commands(page: &str) -> Vec<String> {
    let text = text(page);
    let blocks = text.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).map(|line| line.split(" #").next().unwrap().trim());
    let ours =
        lines.filter(|line| line.split(' ').next().is_some_and(|word| word == "vufleet" || word == "vufleet-agent"));
    ours.filter(|line| !line.contains("...")).map(|line| line.trim_end_matches(" &").to_owned()).collect()
}

#[test]
fn every_command_can_be_typed() {
    let all: Vec<(&str, String)> =
        PAGES.iter().flat_map(|page| commands(page).into_iter().map(move |line| (*page, line))).collect();
    assert!(all.len() >= 15, "the pages have commands: {all:?}");
    for (page, line) in all {
        Line::of_text(&line, page).is_taken();
    }
}

#[test]
fn every_link_leads_somewhere() {
    for page in PAGES {
        let text = text(page);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = root().join(page).parent().unwrap().join(path);
            let target = if path.is_empty() { root().join(page) } else { target };
            assert!(target.exists(), "{page}: {link} leads nowhere");
            assert!(
                anchor.is_empty() || anchors(&target).iter().any(|there| there == anchor),
                "{page}: {link} has no such heading"
            );
        }
    }
}

fn anchors(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn certificates_have_the_names_that_programs_look_for() {
    let page = text("deploy/README.md");
    for name in ["ca.key", "SHA256SUMS", "systemd-tmpfiles --create vufleet.conf", "systemd-sysusers vufleet.conf"] {
        assert!(page.contains(name), "{name}");
    }
    let (tmpfiles, dist) = (text("deploy/systemd/tmpfiles.conf"), text("deploy/dist"));
    assert!(tmpfiles.contains("lib/tmpfiles.d/vufleet.conf") && dist.contains("lib/tmpfiles.d/vufleet.conf"));
    assert!(dist.contains("lib/sysusers.d/vufleet.conf"));
}
