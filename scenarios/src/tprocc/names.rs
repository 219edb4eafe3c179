//! Last names [4.3.2.3]: three syllables, one for each digit of a number from 0 to 999.

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Letters of the longest last name.
const LONGEST: usize = 15;

/// A last name, without an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastName {
    letters: [u8; LONGEST],
    length: u8,
}

impl LastName {
    /// Last names that there are.
    pub(super) const COUNT: u32 = 1_000;

    /// The name of a number below [`LastName::COUNT`].
    pub(super) fn of(number: u32) -> LastName {
        let mut name = LastName { letters: [0; LONGEST], length: 0 };
        for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
            let syllable = SYLLABLES[digit as usize].as_bytes();
            let from = usize::from(name.length);
            name.letters[from..from + syllable.len()].copy_from_slice(syllable);
            name.length += syllable.len() as u8;
        }
        name
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.letters[..usize::from(self.length)]).expect("syllables are ASCII")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_spelt() {
        for (number, name) in [
            (0, "BARBARBAR"),
            (371, "PRICALLYOUGHT"),
            (40, "BARPRESBAR"),
            (999, "EINGEINGEING"),
            (777, "CALLYCALLYCALLY"),
        ] {
            assert_eq!(LastName::of(number).as_str(), name);
        }
    }

    #[test]
    fn every_number_has_a_name_of_its_own_that_fits_the_column() {
        let names: std::collections::BTreeSet<String> =
            (0..LastName::COUNT).map(|number| LastName::of(number).as_str().to_owned()).collect();
        assert_eq!(names.len(), 1_000);
        assert_eq!(names.iter().map(String::len).max(), Some(LONGEST));
    }
}
