//! Who does how much: virtual users and chunks of a build, shared out over the driving agents.

use vufleet_scenarios::study::Share;
use vufleet_scenarios::workload::Chunk;

/// An agent as far as shares depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Cores that it may use.
    pub cores: u32,
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

/// Shares out `total` virtual users, whole ones, by the largest remainder. Agents that would get none are left out.
pub fn virtual_users(total: u32, candidates: &[Candidate], share: Share) -> Vec<Allotment> {
    let weights: Vec<u64> = candidates
        .iter()
        .map(|candidate| match share {
            Share::Cores => u64::from(candidate.cores.max(1)),
            Share::Even => 1,
        })
        .collect();
    let mut first = 0;
    let counts = largest_remainder(u64::from(total), &weights);
    let allotments = candidates.iter().zip(counts).map(|(candidate, count)| {
        let allotment = Allotment { name: candidate.name.clone(), first, count: count as u32 };
        first += allotment.count;
        allotment
    });
    allotments.filter(|allotment| allotment.count > 0).collect()
}

/// Shares out chunks, neighbours together, as evenly by rows as whole chunks allow.
pub fn chunks(chunks: &[Chunk], agents: usize) -> Vec<Vec<Chunk>> {
    let total: u64 = chunks.iter().map(|chunk| chunk.count).sum();
    let mut shares = vec![Vec::new(); agents];
    let mut before = 0;
    for chunk in chunks {
        // By the chunk's middle, so that no agent is ever more than one chunk ahead of its part.
        let middle = before + chunk.count / 2;
        let owner = (middle as u128 * agents as u128 / u128::from(total.max(1))) as usize;
        shares[owner.min(agents - 1)].push(*chunk);
        before += chunk.count;
    }
    shares
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
        virtual_users(total, &candidates(cores), share).iter().map(|allotment| allotment.count).collect()
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

    proptest! {
        #[test]
        fn every_virtual_user_has_one_agent(total in 1u32..5_000, cores in prop::collection::vec(0u32..65, 1..20)) {
            for share in [Share::Cores, Share::Even] {
                let mut next = 0;
                for allotment in virtual_users(total, &candidates(&cores), share) {
                    prop_assert_eq!(allotment.first, next);
                    next += allotment.count;
                }
                prop_assert_eq!(next, total);
            }
        }

        #[test]
        fn every_chunk_has_one_agent(counts in prop::collection::vec(1u64..60_000, 1..60), agents in 1usize..9) {
            let all: Vec<Chunk> = counts.iter().enumerate()
                .map(|(part, count)| Chunk { part: part as u32, first: 0, count: *count }).collect();
            let shares = chunks(&all, agents);
            prop_assert_eq!(shares.len(), agents);
            prop_assert_eq!(shares.concat(), all.clone());
            let largest = *counts.iter().max().unwrap();
            let fair = counts.iter().sum::<u64>() / agents as u64;
            for share in shares {
                prop_assert!(share.iter().map(|chunk| chunk.count).sum::<u64>() <= fair + 2 * largest);
            }
        }
    }
}
