//! Amounts of memory and disk as people write them: "2048KB", "100MB", "1GB". A unit is 1024 of the one before.

use toml_edit::Item;

use super::mistakes::Objection;
use super::value::wrong_type;

/// Units in KB, the smallest that any server takes.
const UNITS: [(&str, u64); 4] = [("TB", 1 << 30), ("GB", 1 << 20), ("MB", 1 << 10), ("KB", 1)];

/// An amount in whole KB, between two others.
pub(super) fn kilobytes(least: u64, most: u64) -> impl Fn(&Item) -> Result<u64, Objection> {
    move |item| {
        if let Some(number) = item.as_integer() {
            let what = format!("{number} has no unit");
            return Err(Objection::new(what, format!("write \"{number}KB\" or \"{number}MB\", in quotes")));
        }
        let text =
            item.as_str().ok_or_else(|| wrong_type(item, "a size", "a size in quotes, for example \"100MB\""))?;
        let size = parse(text).ok_or_else(|| {
            let what = format!("\"{text}\" is not a size");
            Objection::new(what, "write a whole number with one of the units KB, MB, GB and TB: \"2048KB\"")
        })?;
        match (least..=most).contains(&size) {
            true => Ok(size),
            false => {
                let remedy = format!("write a size from {} to {}", format(least), format(most));
                Err(Objection::new(format!("\"{text}\" is out of range"), remedy))
            }
        }
    }
}

/// The same, in whole MB.
pub(super) fn megabytes(least: u64, most: u64) -> impl Fn(&Item) -> Result<u64, Objection> {
    let checked = kilobytes(least << 10, most << 10);
    move |item| {
        let size = checked(item)?;
        match size.is_multiple_of(1 << 10) {
            true => Ok(size >> 10),
            false => {
                let what = format!("{} is not a whole number of megabytes", format(size));
                Err(Objection::new(what, format!("write \"{}MB\"", size.div_ceil(1 << 10))))
            }
        }
    }
}

fn parse(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, kilobytes) = UNITS.iter().find(|(name, _)| unit.trim_start().eq_ignore_ascii_case(name))?;
    number.parse::<u64>().ok()?.checked_mul(*kilobytes)
}

fn format(kilobytes: u64) -> String {
    let (name, unit) = UNITS.iter().find(|(_, unit)| kilobytes.is_multiple_of(*unit)).unwrap_or(&UNITS[3]);
    format!("{}{name}", kilobytes / unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml_edit::Value;

    fn item(toml: &str) -> Item {
        Item::Value(toml.parse::<Value>().unwrap())
    }

    #[test]
    fn sizes_are_read_in_every_unit() {
        let check = kilobytes(64, 1 << 31);
        for (text, expected) in [("64KB", 64), ("2048 KB", 2048), ("2mb", 2048), ("1GB", 1 << 20), ("2TB", 1 << 31)] {
            assert_eq!(check(&item(&format!("\"{text}\""))), Ok(expected), "{text}");
        }
        assert_eq!(megabytes(2, 4096)(&item("\"4096KB\"")), Ok(4));
    }

    #[test]
    fn anything_else_is_refused_with_its_range() {
        let check = kilobytes(64, 2048);
        for (toml, words) in [
            ("100", "100 has no unit; write \"100KB\" or \"100MB\""),
            ("true", "is true or false, not a size"),
            ("\"100\"", "\"100\" is not a size"),
            ("\"MB\"", "is not a size"),
            ("\"1.5MB\"", "is not a size"),
            ("\"-1MB\"", "is not a size"),
            ("\"1 M\"", "is not a size"),
            ("\"99999999999999999999KB\"", "is not a size"),
            ("\"99999999999999TB\"", "is not a size"),
            ("\"63KB\"", "out of range; write a size from 64KB to 2MB"),
            ("\"3MB\"", "out of range"),
        ] {
            let Objection { what, remedy } = check(&item(toml)).unwrap_err();
            let shown = format!("{what}; {remedy}");
            assert!(shown.contains(words), "{toml}: {shown}");
        }
        let objection = megabytes(2, 100)(&item("\"2049KB\"")).unwrap_err();
        assert_eq!(objection.remedy, "write \"3MB\"");
    }
}
