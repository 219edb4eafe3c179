//! What is different between two texts, line by line, for people.

/// Lines that are shown at most.
const SHOWN: usize = 40;

/// The lines that only one of two texts has, each with its number there: `- 3: old`, `+ 3: new`. None where they are equal.
pub fn difference(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let changes = changes(&olds, &news);
    if changes.is_empty() {
        return Some("line ends or spaces at the end".to_owned());
    }
    let mut shown: Vec<String> = changes.iter().take(SHOWN).map(Change::to_string).collect();
    if changes.len() > SHOWN {
        shown.push(format!("... and {} lines more", changes.len() - SHOWN));
    }
    Some(shown.join("\n"))
}

/// A line that only one side has, counted from 1.
#[derive(Debug, PartialEq, Eq)]
enum Change<'a> {
    Gone(usize, &'a str),
    Come(usize, &'a str),
}

impl std::fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Change::Gone(number, line) => write!(f, "- {number}: {line}"),
            Change::Come(number, line) => write!(f, "+ {number}: {line}"),
        }
    }
}

/// What is left beside a longest common subsequence.
fn changes<'a>(olds: &[&'a str], news: &[&'a str]) -> Vec<Change<'a>> {
    let head = olds.iter().zip(news).take_while(|(old, new)| old == new).count();
    let (olds, news) = (&olds[head..], &news[head..]);
    let tail = olds.iter().rev().zip(news.iter().rev()).take_while(|(old, new)| old == new).count();
    let (olds, news) = (&olds[..olds.len() - tail], &news[..news.len() - tail]);
    // common[i][j]: the length of the longest common subsequence of what follows i and j.
    let mut common = vec![vec![0_u32; news.len() + 1]; olds.len() + 1];
    for i in (0..olds.len()).rev() {
        for j in (0..news.len()).rev() {
            common[i][j] = match olds[i] == news[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut changes = Vec::new();
    while i < olds.len() || j < news.len() {
        if i < olds.len() && j < news.len() && olds[i] == news[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == news.len() || (i < olds.len() && common[i + 1][j] >= common[i][j + 1]) {
            changes.push(Change::Gone(head + i + 1, olds[i]));
            i += 1;
        } else {
            changes.push(Change::Come(head + j + 1, news[j]));
            j += 1;
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_side_are_told_with_their_numbers() {
        for (old, new, told) in [
            ("a\nb\nc\n", "a\nb\nc\n", None),
            ("a\nb\nc\n", "a\nB\nc\n", Some("- 2: b\n+ 2: B")),
            ("a\nb\n", "a\nx\nb\ny\n", Some("+ 2: x\n+ 4: y")),
            ("a\nb\nc\nd\n", "b\nd\n", Some("- 1: a\n- 3: c")),
            ("a\nb\nc", "c\nb\na", Some("- 1: a\n- 2: b\n+ 2: b\n+ 3: a")),
            ("", "a", Some("+ 1: a")),
            ("a", "", Some("- 1: a")),
            ("a\n", "a", Some("line ends or spaces at the end")),
            ("a\r\nb", "a\nb", Some("line ends or spaces at the end")),
        ] {
            assert_eq!(difference(old, new).as_deref(), told, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_long_difference_is_told_in_part() {
        let new: String = (0..100).map(|line| format!("{line}\n")).collect();
        let told = difference("", &new).unwrap();
        assert_eq!(told.lines().count(), SHOWN + 1);
        assert!(told.ends_with("... and 60 lines more"), "{told}");
    }
}
