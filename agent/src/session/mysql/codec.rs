//! The protocol's numbers and strings, read from a packet and appended to one.
//!
//! <https://mariadb.com/kb/en/protocol-data-types/>

use std::io;

use super::channel::malformed;

/// What is left of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next `count` bytes.
    pub(super) fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| malformed("a packet is too short"))?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(|| malformed("a packet is too short"))?;
        self.0 = rest;
        Ok(*taken)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub(super) fn u16(&mut self) -> io::Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer, most of which are one byte long.
    #[inline]
    pub(super) fn length(&mut self) -> io::Result<u64> {
        match self.u8()? {
            byte @ 0..=0xfa => Ok(byte.into()),
            first => self.long(first),
        }
    }

    fn long(&mut self, first: u8) -> io::Result<u64> {
        match first {
            0xfc => Ok(self.u16()?.into()),
            0xfd => {
                let [low, middle, high] = self.array()?;
                Ok(u32::from_le_bytes([low, middle, high, 0]).into())
            }
            0xfe => Ok(u64::from_le_bytes(self.array()?)),
            _ => Err(malformed("a length is none")),
        }
    }

    /// A length-encoded string.
    pub(super) fn string(&mut self) -> io::Result<&'a [u8]> {
        let length = self.length()?;
        self.bytes(usize::try_from(length).map_err(|_| malformed("a length is too large"))?)
    }
}

/// Appends a length-encoded string.
pub(super) fn put_string(text: &[u8], out: &mut Vec<u8>) {
    put_length(text.len() as u64, out);
    out.extend_from_slice(text);
}

fn put_length(length: u64, out: &mut Vec<u8>) {
    match length {
        0..=0xfa => out.push(length as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_have_four_sizes() {
        for (length, bytes) in [(0, 1), (250, 1), (251, 3), (65_535, 3), (65_536, 4), (0xff_ffff, 4), (1 << 24, 9)] {
            let mut out = Vec::new();
            put_length(length, &mut out);
            assert_eq!(out.len(), bytes, "{length}");
            assert_eq!(Cursor(&out).length().unwrap(), length);
            for cut in 0..bytes {
                assert!(Cursor(&out[..cut]).length().is_err(), "{length} cut at {cut}");
            }
        }
        for byte in [0xfb, 0xff] {
            assert!(Cursor(&[byte; 9]).length().is_err());
        }
    }

    proptest! {
        #[test]
        fn strings_come_back(text in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut out = Vec::new();
            put_string(&text, &mut out);
            let mut cursor = Cursor(&out);
            prop_assert_eq!(cursor.string().unwrap(), &text[..]);
            prop_assert!(cursor.0.is_empty());
            prop_assert!(Cursor(&out[..out.len() - 1]).string().is_err());
        }
    }
}
