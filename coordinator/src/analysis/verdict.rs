//! Whether a run may be believed, and why not.
//!
//! A reason is a value with its figures; it becomes a sentence only at the end, so that the figures that
//! `relative_only` withholds can be left out of it.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How far a run may be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing was found against it.
    Valid,
    /// Analysed, with a doubt.
    Degraded,
    /// Left out.
    Invalid,
}

impl Verdict {
    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::Degraded => "degraded",
            Verdict::Invalid => "invalid",
        }
    }
}

/// Sessions of one agent that hardly all stand still at the same time because of each other.
const CROWD: u32 = 8;

/// One thing that was found against a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The load never began.
    NeverStarted,
    /// The coordinator ended before the run did.
    Unfinished,
    /// By the operator, inside the window.
    Stopped,
    /// By the coordinator's end in good order, inside the window.
    CoordinatorEnded,
    /// The run could not go on.
    Failed(String),
    /// An agent is gone.
    AgentLost {
        /// Which.
        agent: String,
        /// Seconds after the start of the load.
        at_s: f64,
        /// Why.
        reason: String,
    },
    /// An agent gave up.
    AgentFailed {
        /// Which.
        agent: String,
        /// In its own words.
        message: String,
    },
    /// An agent did nothing for a while.
    AgentHung {
        /// Which.
        agent: String,
        /// Seconds after the start of the load.
        from_s: f64,
        /// Seconds.
        for_s: f64,
        /// Of that agent.
        sessions: u32,
    },
    /// Not every session was there when the window began.
    TooFewSessions {
        /// Connected.
        connected: u32,
        /// Wanted.
        wanted: u32,
    },
    /// The database was away inside the window.
    Outage(String),
    /// No transaction inside the window did what it was sent for.
    NothingDone {
        /// How many were given up; none when that is withheld.
        failed: Option<u64>,
        /// What the database said to the first of the most frequent faults.
        words: Option<String>,
    },
    /// The database was not in the variant's state.
    WrongState {
        /// The variant.
        variant: String,
        /// What was found instead.
        found: String,
    },
    /// The client and the database count differently.
    Witness {
        /// Metric at hand.
        metric: Cow<'static, str>,
        /// By how much.
        difference_percent: f64,
        /// Both counts; none when they are withheld.
        counts: Option<(f64, f64)>,
        /// The database's counters.
        source: Cow<'static, str>,
        /// How bad it is.
        verdict: Verdict,
    },
    /// Samples that should be there are not.
    SamplesMissing {
        /// Whose.
        agent: String,
        /// What.
        what: Cow<'static, str>,
        /// How many are there.
        got: u64,
        /// How many should be.
        expected: u64,
    },
    /// Samples that are there cannot be read.
    Unreadable {
        /// Whose.
        agent: String,
    },
    /// The window holds no whole interval.
    NoInterval,
    /// A driving host has no CPU left.
    DriverBusy {
        /// Which.
        agent: String,
        /// All cores of the host = 100.
        cpu_percent: f64,
        /// Other driving hosts of which the same is true, none of them busier.
        #[serde(default)]
        others: usize,
    },
    /// A driving agent has used what it may use of its host's CPU.
    DriverHeld {
        /// Which.
        agent: String,
        /// What it used of that.
        used_percent: f64,
        /// What it may use.
        cores: f64,
        /// What its host has.
        of: usize,
    },
    /// Too many faults.
    Errors {
        /// Faults per hundred transactions.
        percent: f64,
        /// What the database said to the first of the most frequent ones.
        words: Option<String>,
    },
    /// Over the whole run the database took other orders than the virtual users placed.
    OrdersAstray {
        /// Committed and of unknown outcome as the virtual users count, and taken by the database; none when withheld.
        counts: Option<(u64, u64, u64)>,
    },
    /// An agent did not begin its load at the appointed time.
    StartedApart {
        /// Which, of those that did not the farthest.
        agent: String,
        /// By how much later; below 0 earlier.
        late_ms: f64,
    },
    /// An agent that the run had not ordered to sent figures for it, or another process of its name did.
    Stranger {
        /// Which.
        agent: String,
    },
    /// What was found when there was more to look at cannot be read.
    Forgotten {
        /// Version of the coordinator that wrote it down.
        vufleet: String,
    },
    /// The clocks do not agree well enough.
    ClockUncertain {
        /// The worst.
        uncertainty_ms: f64,
        /// What would do.
        bound_ms: f64,
    },
    /// Throughput went somewhere.
    Unsteady {
        /// Where its trend leads from the first to the last instant of the window.
        percent: f64,
        /// Of no trend.
        p: f64,
    },
    /// Sessions that ended before the run.
    EndedEarly {
        /// How many.
        sessions: u32,
    },
    /// Open arrivals that nobody could take.
    NotStarted {
        /// How many, of how many; none when they are withheld.
        counts: Option<(u64, u64)>,
    },
    /// An observer did not do all of its work.
    ObserverLost {
        /// What it lost, as its count is called.
        what: String,
        /// How much; none when that is withheld.
        count: Option<u64>,
    },
    /// Open arrivals that came faster than transactions ended.
    Behind {
        /// How many became due, and how many transactions ended; none when they are withheld.
        counts: Option<(u64, u64)>,
    },
}

impl Reason {
    /// What it makes of a run.
    pub fn verdict(&self) -> Verdict {
        match self {
            Reason::Witness { verdict, .. } => *verdict,
            // A few sessions may all wait for locks, which is the database's to show.
            Reason::AgentHung { sessions, .. } if *sessions < CROWD => Verdict::Degraded,
            Reason::DriverBusy { .. }
            | Reason::DriverHeld { .. }
            | Reason::Errors { .. }
            | Reason::OrdersAstray { .. }
            | Reason::ClockUncertain { .. }
            | Reason::StartedApart { .. }
            | Reason::Stranger { .. }
            | Reason::Unsteady { .. }
            | Reason::EndedEarly { .. }
            | Reason::NotStarted { .. }
            | Reason::ObserverLost { .. }
            | Reason::Behind { .. } => Verdict::Degraded,
            _ => Verdict::Invalid,
        }
    }

    /// The same without figures that tell how much the database did.
    pub fn withheld(self) -> Reason {
        match self {
            Reason::Witness { metric, difference_percent, source, verdict, .. } => {
                Reason::Witness { metric, difference_percent, counts: None, source, verdict }
            }
            Reason::NothingDone { words, .. } => Reason::NothingDone { failed: None, words },
            Reason::OrdersAstray { .. } => Reason::OrdersAstray { counts: None },
            Reason::NotStarted { .. } => Reason::NotStarted { counts: None },
            Reason::Behind { .. } => Reason::Behind { counts: None },
            Reason::ObserverLost { what, .. } => Reason::ObserverLost { what, count: None },
            other => other,
        }
    }
}

/// The verdict that reasons add up to.
pub fn verdict(reasons: &[Reason]) -> Verdict {
    reasons.iter().map(Reason::verdict).max().unwrap_or(Verdict::Valid)
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NeverStarted => f.write_str("the load never started"),
            Reason::Unfinished => f.write_str("the coordinator ended before the run did"),
            Reason::Stopped => f.write_str("stopped by the operator"),
            Reason::CoordinatorEnded => f.write_str("the coordinator was told to end"),
            Reason::Failed(why) | Reason::Outage(why) => f.write_str(why),
            Reason::AgentLost { agent, at_s, reason } if *at_s <= 0.0 => {
                write!(f, "agent {agent} was lost before the start: {reason}")
            }
            Reason::AgentLost { agent, at_s, reason } => {
                write!(f, "agent {agent} was lost {at_s:.1} s after the start: {reason}")
            }
            Reason::AgentFailed { agent, message } => write!(f, "agent {agent} gave up: {message}"),
            Reason::AgentHung { agent, from_s, for_s, sessions } => write!(
                f,
                "no transaction of agent {agent} ({sessions} sessions) succeeded for {for_s:.0} s, from {from_s:.1} s after the \
                 start; look at its way to the database"
            ),
            Reason::TooFewSessions { connected, wanted } => {
                write!(f, "{connected} of {wanted} sessions were connected when the window began")
            }
            Reason::NothingDone { failed, words } => {
                f.write_str("no transaction succeeded inside the window")?;
                match failed {
                    None => {}
                    Some(0) => f.write_str(", and none was given up: ramp up and measure for longer")?,
                    Some(failed) => write!(f, ", and {failed} were given up")?,
                }
                first_words(f, words.as_ref())
            }
            Reason::WrongState { variant, found } => write!(f, "the database was not in state {variant:?}: {found}"),
            Reason::SamplesMissing { agent, what, got, expected } => {
                write!(f, "agent {agent} delivered {got} of {expected} {what}")
            }
            Reason::Forgotten { vufleet } => {
                write!(
                    f,
                    "what vufleet {vufleet} found against it before its seconds were added up cannot be read back"
                )
            }
            Reason::Unreadable { agent } => {
                write!(f, "a latency histogram of agent {agent} cannot be read; is it of this coordinator's version?")
            }
            Reason::NoInterval => f.write_str("the window holds no whole interval; measure for longer"),
            Reason::Witness { .. } => self.witness_sentence(f),
            doubt => doubt.doubt_sentence(f),
        }
    }
}

fn first_words(f: &mut fmt::Formatter<'_>, words: Option<&String>) -> fmt::Result {
    words.map_or(Ok(()), |words| write!(f, "; the first {words}"))
}

impl Reason {
    fn witness_sentence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reason::Witness { metric, difference_percent, counts, source, .. } = self else { return Ok(()) };
        let side = if *difference_percent < 0.0 { "below" } else { "above" };
        write!(f, "the clients' {metric} count is {:.1} % {side} the database's", difference_percent.abs())?;
        if let Some((client, database)) = counts {
            write!(f, " ({client:.0} against {database:.0})")?;
        }
        write!(f, " in {source}; does anybody else use this database?")
    }

    fn doubt_sentence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::DriverBusy { agent, cpu_percent, others: 0 } => {
                write!(f, "the host of driving agent {agent} was {cpu_percent:.0} % busy; add agents on other hosts")
            }
            Reason::DriverHeld { agent, used_percent, cores, of } => {
                write!(
                    f,
                    "driving agent {agent} used {used_percent:.0} % of the CPU that it may use ({cores} of its host's {of} cores); \
                     raise the limit of its container or unit, or add agents"
                )
            }
            Reason::DriverBusy { agent, cpu_percent, others } => {
                write!(
                    f,
                    "the hosts of driving agent {agent} and {others} others were up to {cpu_percent:.0} % busy; add agents \
                     on other hosts"
                )
            }
            Reason::Errors { percent, words } => {
                write!(f, "{percent:.1} faults per 100 transactions")?;
                first_words(f, words.as_ref())
            }
            Reason::OrdersAstray { counts } => {
                f.write_str("over the whole run the database took other orders than the virtual users placed")?;
                if let Some((client, unknown, database)) = counts {
                    write!(f, " ({database} against {client} and {unknown} of unknown outcome)")?;
                }
                f.write_str("; orders are lost or doubled, or somebody else places some")
            }
            Reason::ClockUncertain { uncertainty_ms, bound_ms } => {
                write!(f, "the agents' clocks are known to {uncertainty_ms:.1} ms, the window needs {bound_ms:.1} ms")
            }
            Reason::StartedApart { agent, late_ms } => {
                let side = if *late_ms < 0.0 { "before" } else { "after" };
                let apart_ms = late_ms.abs();
                write!(
                    f,
                    "agent {agent} began its load {apart_ms:.0} ms {side} the appointed time; is its host or network busy?"
                )
            }
            Reason::Stranger { agent } => {
                write!(f, "agent {agent} sent figures that the run had not ordered from it; they are left out")
            }
            Reason::Unsteady { percent, p } => {
                let chance = if *p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
                write!(f, "throughput went {percent:+.0} % over the window ({chance}); ramp up for longer")
            }
            Reason::EndedEarly { sessions: 1 } => f.write_str("1 session ended before the run did"),
            Reason::EndedEarly { sessions } => write!(f, "{sessions} sessions ended before the run did"),
            Reason::NotStarted { counts: Some((count, due)) } => {
                write!(f, "{count} of {due} arrivals found no idle session; add virtual users or lower the rate")
            }
            Reason::ObserverLost { what, count } => {
                f.write_str("the variant's observer did not do all of its work")?;
                match count {
                    Some(count) => write!(f, " ({what}: {count})")?,
                    None => write!(f, " ({what})")?,
                }
                f.write_str(": what it lost cost nothing, and it may look cheaper than it is")
            }
            Reason::Behind { counts } => {
                if let Some((due, ended)) = counts {
                    write!(f, "{due} arrivals became due and {ended} transactions ended: ")?;
                }
                f.write_str(
                    "the load fell behind its rate, and response times grow with the window; add virtual users or lower \
                     the rate",
                )
            }
            _ => f.write_str("arrivals found no idle session; add virtual users or lower the rate"),
        }
    }
}
