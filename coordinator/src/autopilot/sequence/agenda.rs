//! The plan as it is worked off: what is left, and what has to be made again. Pure: it is told how runs ended, and of those that an
//! earlier coordinator made.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use vufleet_scenarios::plan::{self, PlannedRun};
use vufleet_scenarios::study::Order;

/// What an earlier coordinator left of a study.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Past {
    /// Attempts at each run of the plan that were begun, by its number.
    pub(super) attempts: BTreeMap<u32, u32>,
    /// Numbers of the runs that count.
    pub(super) counted: BTreeSet<u32>,
}

/// What is to be made, in order.
#[derive(Debug)]
pub(super) struct Agenda {
    left: VecDeque<PlannedRun>,
    plan: Vec<PlannedRun>,
    /// Attempts at each run of the plan, by its number, whoever made them.
    attempts: BTreeMap<u32, u32>,
    /// Those of them that this coordinator has made: the bound is on these.
    made: BTreeMap<u32, u32>,
    /// Numbers of runs whose last attempt was invalid.
    invalid: BTreeSet<u32>,
    max_repeats: u32,
    by_group: bool,
}

impl Agenda {
    pub(super) fn new(max_repeats: u32, order: Order, past: &Past) -> Self {
        Agenda {
            left: VecDeque::new(),
            plan: Vec::new(),
            attempts: past.attempts.clone(),
            made: BTreeMap::new(),
            invalid: BTreeSet::new(),
            max_repeats,
            by_group: order == Order::Blocks,
        }
    }

    /// Takes up the runs of `plan` that it does not have yet. A group of which every run counts already is left as it is. Any other
    /// is made as a whole, with the runs of it that count: a comparison pairs runs that were made one after the other.
    pub(super) fn extend(&mut self, plan: &[PlannedRun], counted: &BTreeSet<u32>) {
        let fresh: Vec<PlannedRun> = plan.iter().filter(|run| !self.plan.contains(run)).cloned().collect();
        self.plan.extend(fresh.iter().cloned());
        for run in fresh {
            let complete = self.members(&run).iter().all(|member| counted.contains(&member.number));
            if !complete {
                self.left.push_back(run);
            }
        }
    }

    /// Runs that are still to be made, as far as is known.
    pub(super) fn left(&self) -> u32 {
        self.left.len() as u32
    }

    /// The next run with the number of its attempt.
    pub(super) fn next(&mut self) -> Option<(PlannedRun, u32)> {
        let run = self.left.pop_front()?;
        *self.made.entry(run.number).or_insert(0) += 1;
        let attempt = self.attempts.entry(run.number).or_insert(0);
        *attempt += 1;
        self.invalid.remove(&run.number);
        Some((run, *attempt))
    }

    /// Notes how a run ended. Its group is run again, once its last member is through and if the bound allows it.
    /// Returns the runs that were put back.
    pub(super) fn done(&mut self, run: &PlannedRun, valid: bool) -> Vec<PlannedRun> {
        if !valid {
            self.invalid.insert(run.number);
        }
        let members = self.members(run);
        let under_way = members.iter().any(|member| self.left.contains(member));
        let failed = members.iter().any(|member| self.invalid.contains(&member.number));
        let exhausted = self.made.get(&run.number).is_some_and(|made| *made > self.max_repeats);
        if under_way || !failed || exhausted {
            return Vec::new();
        }
        for member in members.iter().rev() {
            self.left.push_front(member.clone());
        }
        members
    }

    /// The runs that are repeated together with this one, itself among them, in their order.
    fn members(&self, run: &PlannedRun) -> Vec<PlannedRun> {
        if !self.by_group {
            return vec![run.clone()];
        }
        self.plan.iter().filter(|other| plan::group(other) == plan::group(run)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(number: u32, variant: &str, repetition: u32) -> PlannedRun {
        PlannedRun { number, variant: variant.to_owned(), profile: "4vu".to_owned(), repetition }
    }

    fn drain(agenda: &mut Agenda, mut valid: impl FnMut(u32, u32) -> bool) -> Vec<(u32, u32)> {
        let mut flown = Vec::new();
        while let Some((run, attempt)) = agenda.next() {
            flown.push((run.number, attempt));
            agenda.done(&run, valid(run.number, attempt));
        }
        flown
    }

    fn two_by_two() -> Vec<PlannedRun> {
        vec![planned(1, "a", 1), planned(2, "b", 1), planned(3, "b", 2), planned(4, "a", 2)]
    }

    fn agenda(plan: &[PlannedRun], max_repeats: u32, order: Order, past: &Past) -> Agenda {
        let mut agenda = Agenda::new(max_repeats, order, past);
        agenda.extend(plan, &past.counted);
        agenda
    }

    fn new(plan: &[PlannedRun], max_repeats: u32, order: Order) -> Agenda {
        agenda(plan, max_repeats, order, &Past::default())
    }

    #[test]
    fn valid_runs_are_made_once() {
        let mut agenda = new(&two_by_two(), 3, Order::Blocks);
        assert_eq!(drain(&mut agenda, |_, _| true), [(1, 1), (2, 1), (3, 1), (4, 1)]);
    }

    #[test]
    fn an_invalid_run_repeats_its_whole_group_after_it() {
        let mut agenda = new(&two_by_two(), 3, Order::Blocks);
        let flown = drain(&mut agenda, |number, attempt| !(number == 1 && attempt == 1));
        assert_eq!(flown, [(1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (4, 1)]);
    }

    #[test]
    fn grouped_order_repeats_the_run_alone() {
        let mut agenda = new(&two_by_two(), 3, Order::Grouped);
        let flown = drain(&mut agenda, |number, attempt| !(number == 1 && attempt == 1));
        assert_eq!(flown, [(1, 1), (1, 2), (2, 1), (3, 1), (4, 1)]);
    }

    #[test]
    fn repeats_are_bounded() {
        let mut agenda = new(&two_by_two()[..2], 2, Order::Blocks);
        let flown = drain(&mut agenda, |_, _| false);
        assert_eq!(flown, [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)]);
    }

    #[test]
    fn a_run_of_no_block_is_repeated_alone() {
        let plan = [two_by_two(), vec![planned(5, "a", 0)]].concat();
        let mut agenda = new(&plan, 1, Order::Blocks);
        let flown = drain(&mut agenda, |number, _| number != 5);
        assert_eq!(flown[4..], [(5, 1), (5, 2)]);
    }

    #[test]
    fn more_blocks_come_behind_the_pilot() {
        let mut agenda = new(&two_by_two()[..2], 3, Order::Blocks);
        assert_eq!(drain(&mut agenda, |_, _| true), [(1, 1), (2, 1)]);
        agenda.extend(&two_by_two(), &BTreeSet::new());
        assert_eq!(agenda.left.len(), 2);
        assert_eq!(drain(&mut agenda, |number, attempt| number != 3 || attempt > 1), [(3, 1), (4, 1), (3, 2), (4, 2)]);
    }

    /// How runs went before the study was interrupted, by number and attempt, and what is made when it goes on.
    #[test]
    fn finished_groups_are_neither_lost_nor_repeated() {
        type Attempts<'a> = &'a [(u32, u32)];
        let cases: [(&str, Order, Attempts<'_>, &[u32], Attempts<'_>); 9] = [
            ("nothing was made", Order::Blocks, &[], &[], &[(1, 1), (2, 1), (3, 1), (4, 1)]),
            ("everything is there", Order::Blocks, &[(1, 1), (2, 1), (3, 1), (4, 1)], &[1, 2, 3, 4], &[]),
            ("between two groups", Order::Blocks, &[(1, 1), (2, 1)], &[1, 2], &[(3, 1), (4, 1)]),
            ("in its first run", Order::Blocks, &[(1, 1)], &[], &[(1, 2), (2, 1), (3, 1), (4, 1)]),
            ("in its second run", Order::Blocks, &[(1, 1), (2, 1)], &[1], &[(1, 2), (2, 2), (3, 1), (4, 1)]),
            ("between its runs", Order::Blocks, &[(1, 1), (2, 1), (3, 1)], &[1, 2, 3], &[(3, 2), (4, 1)]),
            (
                "a group used up its repeats",
                Order::Blocks,
                &[(1, 4), (2, 4), (3, 1)],
                &[1],
                &[(1, 5), (2, 5), (3, 2), (4, 1)],
            ),
            ("the order has no groups", Order::Grouped, &[(1, 1), (2, 1)], &[1], &[(2, 2), (3, 1), (4, 1)]),
            (
                "a valid run was repeated for another's sake",
                Order::Blocks,
                &[(1, 2), (2, 1)],
                &[1, 2],
                &[(3, 1), (4, 1)],
            ),
        ];
        for (what, order, attempts, counted, made) in cases {
            let past =
                Past { attempts: attempts.iter().copied().collect(), counted: counted.iter().copied().collect() };
            let mut agenda = agenda(&two_by_two(), 3, order, &past);
            assert_eq!(agenda.left.len(), made.len(), "{what}");
            assert_eq!(drain(&mut agenda, |_, _| true), made, "{what}");
        }
    }

    #[test]
    fn attempts_that_others_made_do_not_count_against_the_bound() {
        let past = Past { attempts: [(1, 9)].into(), counted: BTreeSet::new() };
        let mut agenda = agenda(&two_by_two()[..1], 1, Order::Blocks, &past);
        assert_eq!(drain(&mut agenda, |_, _| false), [(1, 10), (1, 11)]);
    }
}
