//! What somebody probably meant: the known word nearest to a misspelt one.

/// The known word with the fewest slips of the pen from `word`, where they are few for its length.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normal(word);
    let bound = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(&word, &normal(candidate)), candidate))
        .filter(|(slips, candidate)| *slips <= bound && *slips < candidate.chars().count())
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

fn normal(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

/// Letters left out, added, changed or swapped with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before_last[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_counted() {
        for (a, b, slips) in
            [("", "", 0), ("abc", "", 3), ("mesure", "measure", 1), ("maesure", "measure", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), slips, "{a} {b}");
            assert_eq!(distance(b, a), slips, "{b} {a}");
        }
    }

    #[test]
    fn only_near_words_are_suggested() {
        let known = ["ramp_up", "measure", "settle", "vus"];
        for (word, expected) in [
            ("mesure", Some("measure")),
            ("ramp-up", Some("ramp_up")),
            ("rampup", Some("ramp_up")),
            ("Settle", Some("settle")),
            ("vu", Some("vus")),
            ("threads", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
