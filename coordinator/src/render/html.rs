//! `report.html`: the whole report on one page that needs neither network nor script, for a screen by day and night and for
//! paper.
//!
//! The charts are drawn here and not by a library: the few that draw SVG in Rust know neither titles for people who hear a
//! page nor colours that follow it into the dark, and what is left of them is the arithmetic of axes.

mod changes;
mod course;
mod distributions;
mod families;
mod latencies;
mod levels;
mod method;
mod page;
mod settings;
mod statistics;
mod validity;
mod waits;

use std::io::{self, Write};

use super::answer::answer;
use super::chart::escape;
use super::doubts::doubts;
use super::spread::spread;
use crate::analysis::Report;
use page::Page;

const STYLE: &str = include_str!("html/page.css");

/// Nothing may be loaded from anywhere, and nothing may run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::default();
    changes::section(report, &mut page);
    levels::section(report, &mut page);
    course::section(report, &mut page);
    latencies::section(report, &mut page)?;
    waits::section(report, &mut page);
    validity::section(report, &mut page);
    settings::section(report, &mut page);
    statistics::section(report, &mut page);
    apart(report, &mut page);
    method::section(report, &mut page);
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}: vufleet report</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        title = escape(&report.study)
    )?;
    out.write_all(head(report, &page).as_bytes())?;
    out.write_all(page.body().as_bytes())?;
    write!(
        out,
        "<footer>Made by vufleet {} from the ledger of study {}. Every figure of this page is in results.json, runs.csv, \
         samples.csv and histograms.hgrm beside it; docs/method.md says how each is computed.</footer>\n</body>\n</html>\n",
        escape(&report.vufleet),
        escape(&report.study_id)
    )
}

/// The study, the answer, and where the rest is.
fn head(report: &Report, page: &Page) -> String {
    let mut top = Page::default();
    let begun = report.runs.iter().filter_map(|run| run.window).map(|window| window.start_ns).min();
    let when = begun.and_then(super::json::rfc3339).map_or_else(String::new, |when| format!(", first window {when}"));
    let state = format!("study {}, {}{when}", report.study_id, report.state.name());
    top.raw(&format!(
        "<header>\n<h1>{}</h1>\n<p class=\"under\">{}</p>\n</header>\n<main>\n",
        escape(&report.study),
        escape(&state)
    ));
    let answer = answer(report);
    let (sentence, limits) = answer.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    top.raw(&format!("<section class=\"answer\" aria-label=\"The answer\">\n<p>{}</p>\n", unbroken(sentence)));
    for limit in limits {
        top.raw(&format!("<p class=\"limit\">{}</p>\n", unbroken(limit)));
    }
    top.raw("</section>\n");
    top.raw(&page.contents());
    top.body().to_owned()
}

/// As markup, with every figure and its sign on one line.
fn unbroken(words: &str) -> String {
    escape(words).replace(" %", "\u{a0}%")
}

/// What equal runs differ by, and what the tool doubts about the whole.
fn apart(report: &Report, page: &mut Page) {
    let (spread, doubts) = (spread(report), doubts(report));
    if !spread.is_empty() {
        page.heading("spread", "How far equal runs are apart");
        page.list(&spread);
    }
    if !doubts.is_empty() {
        page.heading("doubts", "Doubts");
        page.list(&doubts);
    }
}
