//! Which transaction comes next: cards dealt from a shuffled deck, so that the mix is exact over every deck, as TPC-C has
//! it [5.2.4.2].

use crate::random::{Stream, below};

/// Kinds of cards, at most.
pub(crate) const MOST_KINDS: usize = 256;

/// Cards of the smallest deck with these weights; 0 where none is above 0.
pub(crate) fn size(weights: &[u32]) -> u32 {
    let total: u32 = weights.iter().sum();
    total.checked_div(weights.iter().copied().fold(0, gcd)).unwrap_or(0)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One session's deck. Weights that are all 0 have no deck.
#[derive(Debug)]
pub(crate) struct Deck {
    /// A kind each.
    cards: Box<[u8]>,
    /// Dealt since the last shuffle.
    dealt: usize,
}

impl Deck {
    /// The smallest deck with the weights of at most [`MOST_KINDS`] kinds, to be shuffled before its first card.
    pub(crate) fn new(weights: &[u32]) -> Deck {
        let whole: u32 = weights.iter().sum();
        let copies = whole.checked_div(size(weights)).unwrap_or(1);
        let cards: Box<[u8]> = weights
            .iter()
            .zip(0_u8..=u8::MAX)
            .flat_map(|(weight, kind)| std::iter::repeat_n(kind, (weight / copies) as usize))
            .collect();
        Deck { dealt: cards.len(), cards }
    }

    /// The next card: the index of a transaction kind.
    pub(crate) fn deal(&mut self, stream: &mut Stream) -> usize {
        if self.dealt == self.cards.len() {
            self.shuffle(stream);
            self.dealt = 0;
        }
        self.dealt += 1;
        usize::from(self.cards[self.dealt - 1])
    }

    /// Every order equally likely (Fisher and Yates).
    fn shuffle(&mut self, stream: &mut Stream) {
        for last in (1..self.cards.len()).rev() {
            self.cards.swap(last, below(stream, last as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use crate::tprocc::Mix;

    fn dealt(mix: &Mix, count: usize) -> Vec<usize> {
        let (mut deck, mut stream) = (Deck::new(&mix.weights()), stream(3, &[]));
        (0..count).map(|_| deck.deal(&mut stream)).collect()
    }

    fn counted(cards: &[usize]) -> [usize; 5] {
        let mut counts = [0; 5];
        cards.iter().for_each(|card| counts[*card] += 1);
        counts
    }

    #[test]
    fn the_mix_is_exact_over_every_deck() {
        for (mix, deck, counts) in [
            (Mix::default(), 23, [10, 10, 1, 1, 1]),
            (Mix { new_order: 45, payment: 43, order_status: 4, delivery: 4, stock_level: 4 }, 100, [45, 43, 4, 4, 4]),
            (Mix { order_status: 50, stock_level: 50, ..Mix::NOTHING }, 2, [0, 0, 1, 0, 1]),
            (Mix { new_order: 1_000, ..Mix::NOTHING }, 1, [1, 0, 0, 0, 0]),
        ] {
            assert_eq!(mix.deck_size(), deck);
            for cards in dealt(&mix, 20 * deck as usize).chunks(deck as usize) {
                assert_eq!(counted(cards), counts);
            }
        }
    }

    #[test]
    fn decks_are_shuffled_each_time_and_every_place_is_alike() {
        let cards = dealt(&Mix::default(), 23 * 4_000);
        let decks: Vec<&[usize]> = cards.chunks(23).collect();
        assert!(decks.windows(2).all(|pair| pair[0] != pair[1]));
        for place in 0..23 {
            let deliveries = decks.iter().filter(|deck| deck[place] == 3).count();
            // Binomial: 4000 / 23 = 174, standard deviation 12.9.
            assert!((110..240).contains(&deliveries), "place {place}: {deliveries}");
        }
    }
}
