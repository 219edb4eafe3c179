//! How long a study takes, and what of its order is not known before it runs.

use vufleet_scenarios::plan::{self, PlannedRun};
use vufleet_scenarios::study::{Measure, Repetitions, Study};

use super::{count, spoken};

/// Behind a number of runs, where a pilot decides on more.
pub(super) fn or_more(study: &Study) -> &'static str {
    match study.schedule.repetitions {
        Repetitions::Fixed(_) => "",
        Repetitions::Until(_) => " or more",
    }
}

/// "about 2 h 30 min", with what is not known of it.
pub(super) fn length(study: &Study, runs: &[PlannedRun]) -> String {
    let time = plan::duration(study);
    let length = match (time.total, study.schedule.repetitions) {
        (Some(most), Repetitions::Until(_)) => {
            format!("at least about {}, at most about {}", spoken(time.at_least), spoken(most))
        }
        (Some(total), Repetitions::Fixed(_)) => format!("about {}", spoken(total)),
        (None, Repetitions::Until(_)) => {
            format!("at least {} and the time of the transactions", spoken(time.at_least))
        }
        (None, Repetitions::Fixed(_)) => format!("{} and the time of the transactions", spoken(time.at_least)),
    };
    match plan::resets(study, runs) {
        0 => length,
        resets => {
            let resets = format!("{}{}", count(resets, "reset"), or_more(study));
            format!("{length}, and {resets} of unknown length")
        }
    }
}

/// The times of one run.
pub(super) fn each_run(study: &Study) -> String {
    let schedule = &study.schedule;
    let measure = match schedule.measure {
        Measure::Duration(time) => format!("{} measured", spoken(time)),
        Measure::Transactions(1) => "1 transaction a session measured".to_owned(),
        Measure::Transactions(count) => format!("{count} transactions a session measured"),
    };
    format!("{} ramp-up, {measure}, {} settle", spoken(schedule.ramp_up), spoken(schedule.settle))
}

/// What is made beside the runs of blocks that are sure to come; a line each.
pub(super) fn more(study: &Study) -> String {
    let mut lines = String::new();
    if let Repetitions::Until(until) = study.schedule.repetitions {
        let runs = (until.max - until.min) as usize * study.variants.len() * study.profiles.len();
        lines.push_str(&format!(
            "then as many blocks more as an interval of \u{b1}{} % of {} takes by these {}, at most {} ({})\n",
            until.percent,
            until.metric,
            until.min,
            until.max - until.min,
            count(runs, "run")
        ));
    }
    if !study.switches.is_empty() {
        let switches = study.switches.iter().map(|switch| format!("{} at {}", switch.variant, spoken(switch.at)));
        let switches = switches.collect::<Vec<_>>().join(", ");
        lines.push_str(&format!("runs without a block come last and show switches: {switches}\n"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use vufleet_scenarios::study::{Edits, Reset, ResetBefore, ResetMethod, read};

    use super::*;

    fn study(schedule: &str) -> Study {
        let text = format!(
            "name = 'a'\nseed = 1\n[target]\nkind = 'simulated'\n[workload]\nkind = 'oltp'\nscript = \
             'read_only'\n[[profiles]]\nvus = 1\n[[variants]]\nname = 'baseline'\n[[variants]]\nname = 'audit'\n[schedule]\n\
             ramp_up = '1m'\nsettle = '1m'\nconnect_rate = 1000000\n{schedule}"
        );
        read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    #[test]
    fn lengths_say_what_is_not_known() {
        let until = "repetitions = { max = 20, until = '2%' }";
        for (schedule, told) in [
            ("measure = '3m'\nrepetitions = 3", "about 30 min"),
            ("transactions = 5\nrepetitions = 3", "6 min and the time of the transactions"),
            (&format!("measure = '3m'\n{until}"), "at least about 50 min, at most about 3 h 20 min"),
            (&format!("transactions = 5\n{until}"), "at least 10 min and the time of the transactions"),
            ("measure = '3m'\nrepetitions = 3\n[[switch]]\nat = '90s'\nvariant = 'audit'", "about 35 min"),
        ] {
            let study = study(schedule);
            assert_eq!(length(&study, &plan::expand(&study)), told, "{schedule}");
        }
        let mut reset = study("measure = '3m'\nrepetitions = 3");
        reset.reset = Some(Reset::new(ResetBefore::Run, ResetMethod::Rebuild));
        let told = length(&reset, &plan::expand(&reset));
        assert_eq!(told, "about 30 min, and 6 resets of unknown length");
    }

    #[test]
    fn what_comes_beside_the_blocks_is_told() {
        assert_eq!(more(&study("measure = '3m'")), "");
        let both =
            "measure = '3m'\nrepetitions = { max = 20, until = '2%' }\n[[switch]]\nat = '90s'\nvariant = 'audit'";
        assert_eq!(
            more(&study(both)),
            "then as many blocks more as an interval of \u{b1}2 % of tps takes by these 5, at most 15 (30 runs)\n\
             runs without a block come last and show switches: audit at 1 min 30 s\n"
        );
    }
}
