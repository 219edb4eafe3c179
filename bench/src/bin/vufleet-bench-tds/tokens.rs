//! What the scripted server says, written once: packets of complete answers. [MS-TDS 2.2.7]

/// The handle of every prepared statement.
pub const HANDLE: i32 = 1;
/// The descriptor of every transaction.
const TRANSACTION: u64 = 7;
/// An answer of one packet.
const ANSWER: u8 = 4;
/// The last packet of a message.
const END: u8 = 1;
const LATIN1: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];
const DONE: u8 = 0xfd;
const DONE_PROC: u8 = 0xfe;
const DONE_IN_PROC: u8 = 0xff;
/// Statuses of DONE. [MS-TDS 2.2.7.6]
const MORE: u16 = 1;
const COUNT: u16 = 0x10;
const ATTENTION: u16 = 0x20;

/// A column of a row, and the value that is always in it.
#[derive(Debug, Clone, Copy)]
pub enum Cell {
    Int(i32),
    Money(i64),
    SmallMoney(i32),
    /// So many characters.
    Char(u16),
    Text(&'static str),
    Moment,
}

impl Cell {
    fn write_type(self, out: &mut Vec<u8>) {
        match self {
            Cell::Int(_) => out.extend([0x26, 4]),
            Cell::Money(_) => out.extend([0x6e, 8]),
            Cell::SmallMoney(_) => out.extend([0x6e, 4]),
            Cell::Char(length) => {
                out.push(0xaf);
                out.extend(length.to_le_bytes());
                out.extend(LATIN1);
            }
            Cell::Text(_) => {
                out.push(0xe7);
                out.extend(8_000_u16.to_le_bytes());
                out.extend(LATIN1);
            }
            Cell::Moment => out.extend([0x6f, 8]),
        }
    }

    fn write_value(self, out: &mut Vec<u8>) {
        match self {
            Cell::Int(value) | Cell::SmallMoney(value) => {
                out.push(4);
                out.extend(value.to_le_bytes());
            }
            Cell::Money(value) => {
                out.push(8);
                out.extend(((value >> 32) as i32).to_le_bytes());
                out.extend((value as u32).to_le_bytes());
            }
            Cell::Char(length) => {
                out.extend(length.to_le_bytes());
                out.extend((0..length).map(|at| b'a' + (at % 26) as u8));
            }
            Cell::Text(text) => {
                let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
                out.extend((units.len() as u16).to_le_bytes());
                out.extend(units);
            }
            Cell::Moment => {
                out.push(8);
                out.extend([45_000_u32, 3_000_000].into_iter().flat_map(u32::to_le_bytes));
            }
        }
    }
}

/// Tokens of one answer.
#[derive(Debug, Default)]
pub struct Tokens(Vec<u8>);

impl Tokens {
    /// COLMETADATA, one ROW, and the end of the statement.
    pub fn row(mut self, cells: &[(&str, Cell)]) -> Tokens {
        self.0.push(0x81);
        self.0.extend((cells.len() as u16).to_le_bytes());
        for (name, cell) in cells {
            // No user type; nullable.
            self.0.extend([0, 0, 0, 0, 1, 0]);
            cell.write_type(&mut self.0);
            self.name(name);
        }
        self.0.push(0xd1);
        cells.iter().for_each(|(_, cell)| cell.write_value(&mut self.0));
        self
    }

    /// The end of a statement of a procedure.
    pub fn in_procedure(self, count: Option<u64>) -> Tokens {
        self.done(DONE_IN_PROC, MORE | count.map_or(0, |_| COUNT), count.unwrap_or(0))
    }

    /// An OUT parameter.
    pub fn output(mut self, name: &str, value: i32) -> Tokens {
        self.0.extend([0xac, 0, 0]);
        self.name(name);
        self.0.extend([1, 0, 0, 0, 0, 0, 0]);
        Cell::Int(0).write_type(&mut self.0);
        Cell::Int(value).write_value(&mut self.0);
        self
    }

    /// The handle that sp_prepexec hands back.
    pub fn handle(self) -> Tokens {
        self.output("", HANDLE)
    }

    /// RETURNSTATUS and DONEPROC: the end of a procedure.
    pub fn procedure(mut self) -> Vec<u8> {
        self.0.extend([0x79, 0, 0, 0, 0]);
        self.done(DONE_PROC, 0, 0).packet()
    }

    /// The end of a batch.
    pub fn batch(self) -> Vec<u8> {
        self.done(DONE, 0, 0).packet()
    }

    fn done(mut self, token: u8, status: u16, count: u64) -> Tokens {
        self.0.push(token);
        self.0.extend(status.to_le_bytes());
        self.0.extend([0, 0]);
        self.0.extend(count.to_le_bytes());
        self
    }

    /// A change of the environment. [MS-TDS 2.2.7.9]
    fn change(mut self, kind: u8, new: &[u8], old: &[u8]) -> Tokens {
        self.0.push(0xe3);
        self.0.extend(((new.len() + old.len() + 3) as u16).to_le_bytes());
        self.0.extend([kind, new.len() as u8]);
        self.0.extend(new);
        self.0.push(old.len() as u8);
        self.0.extend(old);
        self
    }

    fn name(&mut self, name: &str) {
        self.0.push(name.len() as u8);
        self.0.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
    }

    fn packet(self) -> Vec<u8> {
        let length = (self.0.len() + 8) as u16;
        let mut packet = vec![ANSWER, END];
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 1, 0]);
        packet.extend(self.0);
        packet
    }
}

/// The answer to the negotiation: version 16, no encryption. [MS-TDS 2.2.6.5]
pub fn negotiation() -> Vec<u8> {
    let options = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff];
    let version_and_encryption = [16, 0, 0, 0, 0, 0, 2];
    Tokens([&options[..], &version_and_encryption].concat()).packet()
}

/// Lets in.
pub fn welcome() -> Vec<u8> {
    const PROGRAM: &str = "Microsoft SQL Server";
    let mut tokens = Tokens::default().change(7, &LATIN1, &[]);
    tokens.0.push(0xad);
    tokens.0.extend((10 + 2 * PROGRAM.len() as u16).to_le_bytes());
    tokens.0.extend([1, 0x74, 0, 0, 4]);
    tokens.name(PROGRAM);
    tokens.0.extend([16, 0, 0, 0]);
    tokens.batch()
}

/// A transaction has begun.
pub fn begun() -> Vec<u8> {
    Tokens::default().change(8, &TRANSACTION.to_le_bytes(), &[]).batch()
}

/// A transaction has ended, well or not.
pub fn ended(committed: bool) -> Vec<u8> {
    Tokens::default().change(if committed { 9 } else { 10 }, &[], &TRANSACTION.to_le_bytes()).batch()
}

/// An attention was heard.
pub fn attention() -> Vec<u8> {
    Tokens::default().done(DONE, ATTENTION, 0).packet()
}
