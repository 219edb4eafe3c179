//! `vufleet studies`: what is in the ledger, how far it came, and what can be gone on with.

use std::fmt;

use comfy_table::{Table, presets};
use jiff::Timestamp;
use vufleet_scenarios::plan;
use vufleet_scenarios::study::{self, Edits, Repetitions, Study};

use crate::args::Studies;
use crate::exit::Exit;
use crate::ledger::{Ledger, LedgerError, StudyRecord, StudyState};
use crate::stdout;

/// Lists.
pub fn run(args: &Studies) -> anyhow::Result<Exit> {
    let ledger = Ledger::read_only(&args.ledger.data)?;
    let lines = lines(&ledger)?;
    if lines.is_empty() {
        println!("no studies in {}", args.ledger.data.display());
        return Ok(Exit::Done);
    }
    stdout::line(table(&lines).trim_fmt())?;
    for line in lines.iter().filter(|line| line.can_go_on()) {
        stdout::line(format_args!("{} can go on: vufleet run --resume {}", line.study.id, line.study.id))?;
    }
    Ok(Exit::Done)
}

/// One study.
struct Line {
    study: StudyRecord,
    state: StudyState,
    made: u32,
    planned: Planned,
}

/// How many runs a study is to have.
#[derive(Debug, PartialEq, Eq)]
enum Planned {
    /// So many.
    All(usize),
    /// So many and what its pilot adds.
    AtLeast(usize),
    /// One for each cell, to see that it works.
    Smoke(usize),
    /// This version does not read it.
    Unknown,
}

fn lines(ledger: &Ledger) -> Result<Vec<Line>, LedgerError> {
    let mut lines = Vec::new();
    for study in ledger.studies()? {
        // Its coordinator was killed, and nobody has opened the ledger since.
        let orphaned = study.state == StudyState::Running && !ledger.has_writer();
        lines.push(Line {
            state: if orphaned { StudyState::Interrupted } else { study.state },
            made: ledger.runs_made(&study.id)?,
            planned: Planned::of(&study),
            study,
        });
    }
    Ok(lines)
}

impl Planned {
    fn of(record: &StudyRecord) -> Planned {
        match study::read(&record.text, &Edits::default()) {
            Ok(study) if study.name != record.name => Planned::Smoke(study.variants.len() * study.profiles.len()),
            Ok(study) => Planned::of_study(&study),
            Err(_) => Planned::Unknown,
        }
    }

    fn of_study(study: &Study) -> Planned {
        let runs = plan::expand(study).len();
        match study.schedule.repetitions {
            Repetitions::Fixed(_) => Planned::All(runs),
            Repetitions::Until(_) => Planned::AtLeast(runs),
        }
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Planned::All(runs) | Planned::Smoke(runs) => write!(f, "/{runs}"),
            Planned::AtLeast(runs) => write!(f, "/{runs} or more"),
            Planned::Unknown => Ok(()),
        }
    }
}

impl Line {
    fn can_go_on(&self) -> bool {
        let unfinished = matches!(self.state, StudyState::Interrupted | StudyState::Failed);
        // A finished one that has something to say ended with fewer runs than asked for.
        let is_short = self.state == StudyState::Finished && !self.study.message.is_empty();
        (unfinished || is_short) && matches!(self.planned, Planned::All(_) | Planned::AtLeast(_))
    }

    /// When it ended and why, as far as there is something to say.
    fn end(&self) -> String {
        let ended = self.study.ended_ns.map(instant);
        let why = self.study.message.lines().next().map(str::to_owned);
        ended.into_iter().chain(why).collect::<Vec<_>>().join(": ")
    }
}

/// One study a line, the oldest first.
fn table(lines: &[Line]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["id", "name", "state", "runs made", "begun", "ended"]);
    for line in lines {
        table.add_row([
            line.study.id.to_string(),
            line.study.name.clone(),
            line.state.name().to_owned(),
            format!("{}{}", line.made, line.planned),
            instant(line.study.facts.begun_ns),
            line.end(),
        ]);
    }
    table
}

/// An instant of the ledger, to the second, UTC.
pub(super) fn instant(ns: u64) -> String {
    let second = i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
    Timestamp::from_second(second).map_or_else(|_| "unknown".to_owned(), |instant| instant.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{RunEnd, StudyFacts};

    const STUDY: &str = "name = 'a'\nseed = 1\n[target]\nkind = 'simulated'\n[workload]\nkind = 'oltp'\nscript = \
                         'read_only'\n[[profiles]]\nvus = [1, 2]\n[schedule]\nrepetitions = 3\n";

    fn read(set: &[&str]) -> Study {
        let set = set.iter().map(|typed| (*typed).to_owned()).collect();
        study::read(STUDY, &Edits { set, ..Edits::default() }).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    #[test]
    fn a_study_without_a_writer_does_not_run_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let facts = StudyFacts { begun_ns: 1_700_000_000_000_000_000, vufleet: "0".to_owned() };
        let study = read(&[]);
        let mut ledger = Ledger::open(dir.path()).unwrap();
        let id = ledger.begin_study(&study, &facts).unwrap();
        for (attempt, end) in [(1, RunEnd::Stopped), (2, RunEnd::Finished), (3, RunEnd::Finished)] {
            let run = ledger.begin_run(&id, &plan::expand(&study)[0], attempt).unwrap();
            ledger.end_run(run, 7, &end).unwrap();
        }
        let [line] = &lines(&ledger).unwrap()[..] else { panic!("one study") };
        assert_eq!((line.state, line.made, line.can_go_on()), (StudyState::Running, 1, false));
        let reader = Ledger::read_only(dir.path()).unwrap();
        assert_eq!(lines(&reader).unwrap()[0].state, StudyState::Running, "it is being written to");
        drop(ledger);
        let lines = lines(&reader).unwrap();
        assert_eq!((lines[0].state, lines[0].can_go_on()), (StudyState::Interrupted, true));
        let shown = table(&lines).to_string();
        assert!(shown.contains("1/6") && shown.contains("2023-11-14T22:13:20Z"), "{shown}");
    }

    #[test]
    fn runs_to_come_are_told_as_far_as_they_are_known() {
        let until = "schedule.repetitions={ max = 20, until = '2%' }";
        for (set, planned, told) in [(&[][..], Planned::All(6), "/6"), (&[until], Planned::AtLeast(10), "/10 or more")]
        {
            assert_eq!(Planned::of_study(&read(set)), planned);
            assert_eq!(planned.to_string(), told);
        }
    }

    #[test]
    fn instants_are_told_to_the_second() {
        assert_eq!(instant(1_700_000_000_999_999_999), "2023-11-14T22:13:20Z");
        assert_eq!(instant(u64::MAX), "2554-07-21T23:34:33Z");
    }
}
