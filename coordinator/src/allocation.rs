//! Who does how much: virtual users and chunks of a build, shared out over the driving agents.

use vufleet_scenarios::study::Share;
use vufleet_scenarios::workload::Chunk;

use crate::fleet::registry::Agent;

/// An agent as far as shares depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Cores that it may use.
    pub cores: u32,
}

impl From<&Agent> for Candidate {
    fn from(agent: &Agent) -> Self {
        Candidate { name: agent.hello.name.clone(), cores: agent.hello.cores }
    }
}

/// One agent's whole virtual users: `first .. first + count` of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allotment {
    /// Whose they are.
    pub name: String,
    /// First virtual user.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// Shares out `total` virtual users, whole ones, by the largest remainder. `neighbourhoods` are the first of each row of
/// virtual users that work on the same part of the tables: rows stay together where there is one for every agent. Agents
/// that would get none are left out.
pub fn virtual_users(total: u32, neighbourhoods: &[u32], candidates: &[Candidate], share: Share) -> Vec<Allotment> {
    let weights = weights(candidates, share);
    let alone = largest_remainder(u64::from(total), &weights);
    let rows = largest_remainder(neighbourhoods.len() as u64, &weights);
    let is_enough = alone.iter().zip(&rows).all(|(users, rows)| *users == 0 || *rows > 0);
    let counts = if is_enough { together(total, neighbourhoods, &rows) } else { alone };
    let mut first = 0;
    let allotments = candidates.iter().zip(counts).map(|(candidate, count)| {
        let allotment = Allotment { name: candidate.name.clone(), first, count: count as u32 };
        first += allotment.count;
        allotment
    });
    allotments.filter(|allotment| allotment.count > 0).collect()
}

/// Virtual users in so many rows each.
fn together(total: u32, neighbourhoods: &[u32], rows: &[u64]) -> Vec<u64> {
    let first_of = |row: usize| u64::from(*neighbourhoods.get(row).unwrap_or(&total));
    let mut from = 0;
    let counts = rows.iter().map(|rows| {
        let to = from + *rows as usize;
        let count = first_of(to) - first_of(from);
        from = to;
        count
    });
    counts.collect()
}

/// Shares out chunks, neighbours together, by the agents' weights and as evenly by rows as whole chunks allow.
pub fn chunks(chunks: &[Chunk], candidates: &[Candidate], share: Share) -> Vec<Vec<Chunk>> {
    let total: u64 = chunks.iter().map(|chunk| chunk.count).sum();
    let mut weight_so_far = 0;
    let weights = weights(candidates, share).into_iter().map(|weight| {
        weight_so_far += weight;
        u128::from(weight_so_far)
    });
    let bounds: Vec<u128> = weights.collect();
    let mut shares = vec![Vec::new(); candidates.len()];
    let mut before = 0;
    for chunk in chunks {
        // By the chunk's middle, so that no agent is ever more than one chunk ahead of its part.
        let middle = u128::from(before + chunk.count / 2);
        let is_below = |bound: &u128| middle * u128::from(weight_so_far) < bound * u128::from(total);
        let owner = bounds.iter().position(is_below).unwrap_or(candidates.len() - 1);
        shares[owner].push(*chunk);
        before += chunk.count;
    }
    shares
}

/// How much each agent takes, in proportion.
fn weights(candidates: &[Candidate], share: Share) -> Vec<u64> {
    let weight = |candidate: &Candidate| match share {
        Share::Cores => u64::from(candidate.cores.max(1)),
        Share::Even => 1,
    };
    candidates.iter().map(weight).collect()
}

/// Splits `total` in proportion to `weights` into whole numbers that add up (Hamilton's method).
fn largest_remainder(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u64 = weights.iter().sum::<u64>().max(1);
    let mut counts: Vec<u64> = weights.iter().map(|weight| total * weight / sum).collect();
    let missing = total - counts.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(total * weights[index] % sum), index));
    for &index in order.iter().take(missing as usize) {
        counts[index] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidates(cores: &[u32]) -> Vec<Candidate> {
        let named = |(index, cores): (usize, &u32)| Candidate { name: format!("agent-{index}"), cores: *cores };
        cores.iter().enumerate().map(named).collect()
    }

    fn counts(total: u32, cores: &[u32], share: Share) -> Vec<u32> {
        let nobody_shares: Vec<u32> = (0..total).collect();
        counts_in(total, &nobody_shares, cores, share)
    }

    fn counts_in(total: u32, neighbourhoods: &[u32], cores: &[u32], share: Share) -> Vec<u32> {
        let allotments = virtual_users(total, neighbourhoods, &candidates(cores), share);
        allotments.iter().map(|allotment| allotment.count).collect()
    }

    fn rows_of(shares: &[Vec<Chunk>]) -> Vec<u64> {
        shares.iter().map(|share| share.iter().map(|chunk| chunk.count).sum()).collect()
    }

    fn parts(counts: &[u64]) -> Vec<Chunk> {
        let chunk = |(part, count): (usize, &u64)| Chunk { part: part as u32, first: 0, count: *count };
        counts.iter().enumerate().map(chunk).collect()
    }

    #[test]
    fn shares_follow_cores_or_heads() {
        assert_eq!(counts(16, &[2, 2], Share::Cores), [8, 8]);
        assert_eq!(counts(16, &[2, 6], Share::Cores), [4, 12]);
        assert_eq!(counts(16, &[2, 6], Share::Even), [8, 8]);
        assert_eq!(counts(10, &[1, 1, 1], Share::Even), [4, 3, 3]);
        assert_eq!(counts(1, &[4, 4, 4], Share::Cores), [1], "agents without work are left out");
        assert_eq!(counts(3, &[0, 0], Share::Cores), [2, 1], "an agent that tells no cores still counts");
    }

    #[test]
    fn neighbours_stay_together_where_every_agent_has_a_row_of_them() {
        let four = [0, 4, 8, 12];
        assert_eq!(counts_in(16, &four, &[1, 1, 1], Share::Even), [8, 4, 4]);
        assert_eq!(counts_in(16, &four, &[2, 6], Share::Cores), [4, 12]);
        assert_eq!(counts_in(100, &[0, 34, 67], &[1, 1], Share::Even), [67, 33]);
        assert_eq!(counts_in(16, &four, &[1; 5], Share::Even), [4, 3, 3, 3, 3], "four rows are not enough for five");
        assert_eq!(counts_in(16, &four, &[1, 16], Share::Cores), [1, 15], "the small one would have none");
    }

    #[test]
    fn chunks_follow_cores_or_heads() {
        let eight = parts(&[10; 8]);
        assert_eq!(rows_of(&chunks(&eight, &candidates(&[2, 6]), Share::Cores)), [20, 60]);
        assert_eq!(rows_of(&chunks(&eight, &candidates(&[2, 6]), Share::Even)), [40, 40]);
        assert_eq!(rows_of(&chunks(&parts(&[10]), &candidates(&[1, 1]), Share::Cores)), [0, 10]);
    }

    proptest! {
        #[test]
        fn every_virtual_user_has_one_agent(
            total in 1u32..5_000, row in 1u32..40, cores in prop::collection::vec(0u32..65, 1..20)
        ) {
            let neighbourhoods: Vec<u32> = (0..total).step_by(row as usize).collect();
            for share in [Share::Cores, Share::Even] {
                let mut next = 0;
                for allotment in virtual_users(total, &neighbourhoods, &candidates(&cores), share) {
                    prop_assert_eq!(allotment.first, next);
                    next += allotment.count;
                }
                prop_assert_eq!(next, total);
            }
        }

        #[test]
        fn every_chunk_has_one_agent(
            counts in prop::collection::vec(1u64..60_000, 1..60), cores in prop::collection::vec(1u32..65, 1..9)
        ) {
            let (all, candidates) = (parts(&counts), candidates(&cores));
            let shares = chunks(&all, &candidates, Share::Cores);
            prop_assert_eq!(shares.len(), candidates.len());
            prop_assert_eq!(shares.concat(), all.clone());
            let largest = *counts.iter().max().unwrap();
            let cores: u64 = cores.iter().map(|cores| u64::from(*cores)).sum();
            for (rows, candidate) in rows_of(&shares).iter().zip(&candidates) {
                let fair = counts.iter().sum::<u64>() * u64::from(candidate.cores) / cores;
                prop_assert!(*rows <= fair + 2 * largest);
            }
        }
    }
}
