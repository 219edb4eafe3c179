//! The readings of each source, put together again from what the ledger keeps of them: the differences.

use std::collections::{BTreeMap, BTreeSet};

use super::{SettingCause, SettingChange, SettingsReport, Unread};
use crate::ledger::{DATABASE, Fact, Moment, RunRecord};

/// Every source's readings so far.
#[derive(Debug, Default)]
pub(super) struct Tracks(BTreeMap<String, Track>);

/// One source's.
#[derive(Debug, Default)]
struct Track {
    readings: Vec<Reading>,
    /// By name: from which reading on it has which value.
    values: BTreeMap<String, Vec<(usize, Option<String>)>>,
    unread: Vec<Unread>,
}

/// When settings were read.
#[derive(Debug)]
struct Reading {
    run: u64,
    variant: String,
    profile: String,
    moment: Moment,
}

impl Reading {
    /// What its values may depend on: the variant that was on, if any was.
    fn state(&self) -> Option<&str> {
        (self.moment == Moment::Load).then_some(self.variant.as_str())
    }
}

impl Tracks {
    /// Takes in a run. A reading that found nothing new left no fact: it is made up for.
    pub(super) fn follow(&mut self, run: &RunRecord, facts: &[Fact]) {
        for moment in [Moment::First, Moment::Load, Moment::Last] {
            let mut told = BTreeSet::new();
            for fact in facts {
                match fact {
                    Fact::Settings { source, moment: at, values, .. } if *at == moment => {
                        told.insert(source.as_str());
                        self.0.entry(source.clone()).or_default().read(run, moment, values);
                    }
                    Fact::SettingsUnread { source, moment: at, reason, .. } if *at == moment => {
                        told.insert(source.as_str());
                        let unread = Unread { run: run.id.0, reason: reason.clone() };
                        self.0.entry(source.clone()).or_default().unread.push(unread);
                    }
                    _ => {}
                }
            }
            if moment == Moment::Load && loaded(run) {
                let silent = self.0.iter_mut().filter(|(source, _)| !told.contains(source.as_str()));
                silent.filter(|(source, _)| takes_part(run, source)).for_each(|(_, track)| {
                    track.read(run, moment, &BTreeMap::new());
                });
            }
        }
    }

    /// The database first, then hosts by the names of their agents.
    pub(super) fn reports(self) -> Vec<SettingsReport> {
        let mut reports: Vec<_> = self.0.into_iter().map(|(source, track)| track.report(source)).collect();
        reports.sort_by_key(|report| report.source != DATABASE);
        reports
    }
}

fn loaded(run: &RunRecord) -> bool {
    run.facts.as_ref().is_some_and(|facts| facts.start_at_ns.is_some())
}

fn takes_part(run: &RunRecord, source: &str) -> bool {
    let Some(facts) = &run.facts else { return false };
    source == DATABASE
        || facts.observing.iter().any(|name| name == source)
        || facts.driving.iter().any(|agent| agent.name == source)
}

impl Track {
    fn read(&mut self, run: &RunRecord, moment: Moment, values: &BTreeMap<String, Option<String>>) {
        let index = self.readings.len();
        let (variant, profile) = (run.planned.variant.clone(), run.planned.profile.clone());
        self.readings.push(Reading { run: run.id.0, variant, profile, moment });
        for (name, value) in values {
            self.values.entry(name.clone()).or_default().push((index, value.clone()));
        }
    }

    fn report(self, source: String) -> SettingsReport {
        let at_first =
            |points: &Vec<(usize, Option<String>)>| points.first().filter(|(index, _)| *index == 0)?.1.clone();
        let before = self.values.iter().filter_map(|(name, points)| Some((name.clone(), at_first(points)?))).collect();
        let mut changes: Vec<(usize, SettingChange)> = Vec::new();
        for (name, points) in &self.values {
            let constant = points.len() == 1 && points[0].0 == 0;
            if !constant {
                changes.extend(Course::of(name, points, &self.readings).changes());
            }
        }
        changes.sort_by(|(one, a), (other, b)| (one, &a.name).cmp(&(other, &b.name)));
        SettingsReport {
            source,
            before,
            changes: changes.into_iter().map(|(_, change)| change).collect(),
            unread: self.unread,
            read_after: self.readings.last().is_some_and(|reading| reading.moment == Moment::Last),
        }
    }
}

/// One setting over all readings.
struct Course<'a> {
    name: &'a str,
    readings: &'a [Reading],
    /// Of each reading.
    values: Vec<Option<&'a str>>,
    /// Not there at first, and there in every run of some variant: where it is not there it has no value that could differ.
    is_brought: bool,
}

impl<'a> Course<'a> {
    fn of(name: &'a str, points: &'a [(usize, Option<String>)], readings: &'a [Reading]) -> Self {
        let mut values = Vec::with_capacity(readings.len());
        let mut points = points.iter().peekable();
        let mut now = None;
        for index in 0..readings.len() {
            if let Some((_, value)) = points.next_if(|(from, _)| *from == index) {
                now = value.as_deref();
            }
            values.push(now);
        }
        let mut course = Course { name, readings, values, is_brought: false };
        course.is_brought = course.values.first().is_some_and(Option::is_none)
            && course.states().iter().any(|(state, of)| state.is_some() && course.is_there(of));
        course
    }

    /// The readings of each state.
    fn states(&self) -> BTreeMap<Option<&'a str>, Vec<usize>> {
        let mut states: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for (index, reading) in self.readings.iter().enumerate() {
            states.entry(reading.state()).or_default().push(index);
        }
        states
    }

    /// Whether it has a value in all of these readings.
    fn is_there(&self, of: &[usize]) -> bool {
        of.iter().all(|index| self.values[*index].is_some())
    }

    /// With the reading that each was seen at first.
    fn changes(&self) -> Vec<(usize, SettingChange)> {
        let states = self.states();
        let is_constant = |of: &Vec<usize>| of.iter().all(|index| self.values[*index] == self.values[of[0]]);
        let is_told = |of: &Vec<usize>| is_constant(of) && (!self.is_brought || self.is_there(of));
        let unasked = self.unasked();
        if !unasked.is_empty()
            && let Some(changes) = self.by_profile()
        {
            return changes;
        }
        let mut changes = Vec::new();
        for (state, of) in states.iter().filter(|(state, of)| state.is_some() && is_told(of)) {
            let value = self.values[of[0]];
            // Where others moved by themselves, a value that they have too says nothing about this variant.
            let is_others =
                states.iter().any(|(other, of)| other != state && of.iter().any(|index| self.values[*index] == value));
            let is_own = if unasked.is_empty() { value != self.values[0] } else { !is_others };
            if is_own {
                changes.push((of[0], self.change(0, of[0], SettingCause::Variant)));
            }
        }
        changes.extend(unasked);
        changes
    }

    /// Where the set-up of profiles decides: all runs of each cell had the same, profiles of one variant had not, and each
    /// cell was read more than once.
    fn by_profile(&self) -> Option<Vec<(usize, SettingChange)>> {
        let mut cells: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (index, reading) in self.readings.iter().enumerate().filter(|(_, reading)| reading.moment == Moment::Load) {
            cells.entry((&reading.variant, &reading.profile)).or_default().push(index);
        }
        let value = |of: &[usize]| self.values[of[0]];
        let is_settled = |of: &Vec<usize>| of.len() > 1 && of.iter().all(|index| self.values[*index] == value(of));
        let differ = |(variant, of): (&str, &[usize])| {
            cells.iter().any(|((other, _), theirs)| *other == variant && value(theirs) != value(of))
        };
        if !cells.values().all(is_settled) || !cells.iter().any(|((variant, _), of)| differ((variant, of))) {
            return None;
        }
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for ((_, profile), of) in cells.iter().filter(|(_, of)| value(of) != self.values[0]) {
            let first = seen.entry(profile).or_insert(of[0]);
            *first = of[0].min(*first);
        }
        Some(seen.into_values().map(|first| (first, self.change(0, first, SettingCause::Profile))).collect())
    }

    /// Every time a state was found with another value than the last time.
    fn unasked(&self) -> Vec<(usize, SettingChange)> {
        let mut last_of: BTreeMap<Option<&str>, usize> = BTreeMap::new();
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        let told = |(index, _): &(usize, &Reading)| !self.is_brought || self.values[*index].is_some();
        for (index, reading) in self.readings.iter().enumerate().filter(told) {
            let Some(last) = last_of.insert(reading.state(), index) else { continue };
            let (from, to) = (self.values[last], self.values[index]);
            if from == to {
                continue;
            }
            // Readings of other states in between may tell more closely when it was.
            let since = (last..index).rev().find(|at| self.values[*at] == from).unwrap_or(last);
            let seen = (since + 1..=index).find(|at| self.values[*at] == to).unwrap_or(index);
            found.entry(seen).or_insert(since);
        }
        found.into_iter().map(|(seen, since)| (seen, self.change(since, seen, self.cause(since, seen)))).collect()
    }

    fn cause(&self, since: usize, seen: usize) -> SettingCause {
        match self.readings[seen].moment {
            Moment::Last => SettingCause::Left,
            Moment::First | Moment::Load => {
                SettingCause::Meanwhile { since: (since > 0).then(|| self.readings[since].run) }
            }
        }
    }

    fn change(&self, from: usize, to: usize, cause: SettingCause) -> SettingChange {
        let value = |index: usize| self.values[index].map(str::to_owned);
        SettingChange {
            name: self.name.to_owned(),
            run: self.readings[to].run,
            variant: self.readings[to].variant.clone(),
            profile: self.readings[to].profile.clone(),
            from: value(from),
            to: value(to),
            cause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setting that was read in these states: "" for none, "end" after the last run, else a variant or a variant and a profile.
    fn told(course: &[(&str, &str)]) -> Vec<String> {
        let mut track = Track::default();
        let mut last = None;
        for (index, (state, value)) in course.iter().enumerate() {
            let moment = match *state {
                "" => Moment::First,
                "end" => Moment::Last,
                _ => Moment::Load,
            };
            let (variant, profile) = state.split_once('/').unwrap_or((state, "4vu"));
            let (variant, profile) = (variant.to_owned(), profile.to_owned());
            let run = index as u64 - u64::from(moment == Moment::Last);
            track.readings.push(Reading { run, variant, profile, moment });
            if last != Some(*value) {
                last = Some(*value);
                let value = (*value != "-").then(|| (*value).to_owned());
                track.values.entry("x".to_owned()).or_default().push((index, value));
            }
        }
        track.report("database".to_owned()).changes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_depends_on_the_variant_alone_is_its_doing() {
        let alternating = [("", "OFF"), ("off", "OFF"), ("on", "ON"), ("off", "OFF"), ("on", "ON"), ("end", "OFF")];
        assert_eq!(told(&alternating), ["x is ON in on instead of OFF"]);
        let first = [("", "OFF"), ("on", "ON"), ("off", "OFF"), ("on", "ON"), ("off", "OFF")];
        assert_eq!(told(&first), ["x is ON in on instead of OFF"]);
        let there = [("", "-"), ("on", "1"), ("off", "-"), ("on", "1"), ("end", "-")];
        assert_eq!(told(&there), ["x is 1 in on instead of absent"]);
        assert_eq!(told(&[("", "1"), ("off", "1"), ("on", "1"), ("end", "1")]), [""; 0]);
    }

    #[test]
    fn what_changed_by_itself_is_told_once_and_as_closely_as_it_was_seen() {
        let moved = [("", "a"), ("off", "a"), ("on", "b"), ("off", "b"), ("on", "b"), ("end", "b")];
        assert_eq!(told(&moved), ["x was a until run 1 and b from run 2 on"]);
        let early = [("", "a"), ("off", "b"), ("on", "b"), ("off", "b"), ("end", "b")];
        assert_eq!(told(&early), ["x was a before the first run and b from run 1 on"]);
        let back = [("", "a"), ("off", "a"), ("off", "b"), ("off", "a"), ("end", "a")];
        assert_eq!(told(&back), ["x was a until run 1 and b from run 2 on", "x was b until run 2 and a from run 3 on"]);
        let left = [("", "a"), ("off", "a"), ("on", "b"), ("end", "b")];
        assert_eq!(told(&left), ["x was a until run 1 and b from run 2 on"], "a variant that is not undone");
        assert_eq!(told(&[("", "a"), ("off", "a"), ("end", "b")]), ["x was a until run 1 and b after it"]);
    }

    #[test]
    fn what_a_variant_brings_may_linger() {
        let lingers =
            [("", "-"), ("off", "-"), ("on", "ON"), ("off", "OFF"), ("off", "-"), ("on", "ON"), ("end", "OFF")];
        assert_eq!(told(&lingers), ["x is ON in on instead of absent"]);
        let moves = [("", "-"), ("on", "1"), ("off", "-"), ("on", "2"), ("end", "-")];
        assert_eq!(told(&moves), ["x was 1 until run 1 and 2 from run 3 on"]);
        let comes = [("", "-"), ("off", "-"), ("off", "1"), ("off", "1")];
        assert_eq!(told(&comes), ["x was absent until run 1 and 1 from run 2 on"], "nobody's");
    }

    #[test]
    fn what_a_profile_sets_up_is_its_own() {
        let set_up =
            [("", "8"), ("off/a", "2"), ("off/b", "8"), ("on/b", "8"), ("on/a", "2"), ("off/b", "8"), ("on/b", "8")];
        let again = [("off/a", "2"), ("on/a", "2"), ("end", "2")];
        assert_eq!(told(&[&set_up[..], &again].concat()), ["x is 2 in profile a instead of 8"]);
        let once = [("", "8"), ("off/a", "8"), ("off/b", "2"), ("end", "2")];
        assert_eq!(told(&once), ["x was 8 until run 1 and 2 from run 2 on"], "seen once, it may be anybody's");
    }

    #[test]
    fn a_variant_beside_a_change_of_its_own_is_told_too() {
        let both = [("", "a"), ("off", "a"), ("on", "c"), ("off", "b"), ("on", "c"), ("end", "b")];
        assert_eq!(told(&both), ["x is c in on instead of a", "x was a until run 1 and b from run 3 on"]);
    }
}
