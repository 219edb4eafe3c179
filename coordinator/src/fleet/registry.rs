//! Who is there: every agent that has joined, what it last said, and how to command it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use vufleet_proto::v1::{self, command};
use vufleet_trust::server::Peer;

use super::queue::Queue;

/// Agents of a fleet, those that have left included.
const MOST_AGENTS: usize = 2_048;
/// Processes of agents whose last word is remembered.
const MOST_PROCESSES: usize = 4 * MOST_AGENTS;

/// What the registry tells whoever works with the fleet.
#[derive(Debug)]
pub enum FleetEvent {
    /// An agent joined, or came back. Another boot is another process.
    Joined {
        /// Which.
        name: String,
        /// Its process.
        boot: u64,
    },
    /// An agent's stream ended; it may come back.
    Left {
        /// Which.
        name: String,
    },
    /// A recorded event of an agent.
    Event {
        /// Whose.
        name: String,
        /// What was recorded.
        event: Box<v1::Event>,
    },
    /// An agent has been told to end, and does not come back.
    Goodbye {
        /// Which.
        name: String,
    },
    /// What an agent said about now. One waits for the listener; it tells the latest.
    Heartbeat {
        /// Which.
        name: String,
        /// Sessions that it has connected.
        sessions: Arc<AtomicU32>,
    },
    /// Events could not be recorded.
    LedgerFailed(String),
}

/// One agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// How it introduced itself.
    pub hello: v1::Hello,
    /// What it last said about now.
    pub heartbeat: v1::Heartbeat,
    /// Whether its stream is open.
    pub connected: bool,
    /// Why it ends, once it has said so; as the end of "agent NAME ...".
    pub goodbye: Option<String>,
    commands: Queue,
    stream: u64,
    /// What the listener has not yet taken of its heartbeats.
    untold: Weak<AtomicU32>,
}

/// Whether an agent can be counted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is connected.
    Connected,
    /// Its stream broke, and it may come back.
    Silent,
    /// It has been told to end, and has said so.
    Ended,
}

impl Presence {
    /// All of them.
    pub const ALL: [Presence; 3] = [Presence::Connected, Presence::Silent, Presence::Ended];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Presence::Connected => "connected",
            Presence::Silent => "silent",
            Presence::Ended => "ended",
        }
    }
}

impl Agent {
    /// Where it dialled from last, and who it is by its certificate.
    pub fn peer(&self) -> &Peer {
        self.commands.peer()
    }

    /// Whether it can be counted on.
    pub fn presence(&self) -> Presence {
        match self.connected {
            _ if self.goodbye.is_some() => Presence::Ended,
            true => Presence::Connected,
            false => Presence::Silent,
        }
    }

    /// Whether it takes orders.
    pub fn is_here(&self) -> bool {
        self.presence() == Presence::Connected
    }

    /// Whether it has a role.
    pub fn has_role(&self, role: &str) -> bool {
        self.hello.roles.iter().any(|own| own == role)
    }

    /// Whether it has all of these labels.
    pub fn has_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        labels.iter().all(|(key, value)| self.hello.labels.get(key) == Some(value))
    }
}

/// All agents, and the one listener to what they say.
#[derive(Debug, Default)]
pub struct Registry {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    agents: BTreeMap<String, Agent>,
    /// When each process of an agent was last heard of, by its boot.
    heard: BTreeMap<u64, Instant>,
    /// Numbers of the runs and jobs that agents are to work on.
    at_hand: BTreeSet<u64>,
    /// Runs whose variants agents are to keep the undoing of.
    held: BTreeSet<u64>,
    listener: Option<mpsc::UnboundedSender<FleetEvent>>,
    streams: u64,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an agent in. Returns the number of its stream.
    ///
    /// # Errors
    /// When another process of that name is alive: two of them would be counted as one. When there are too many.
    pub fn join(&self, hello: v1::Hello, commands: Queue) -> Result<u64, String> {
        let mut inner = self.lock();
        if let Some(known) = inner.agents.get(&hello.name)
            && known.connected
            && known.hello.boot != hello.boot
        {
            return Err(format!(
                "an agent named {} is already here, from host {}; give this one another --name",
                hello.name, known.hello.hostname
            ));
        }
        inner.make_room(&hello.name)?;
        inner.streams += 1;
        let stream = inner.streams;
        let (name, boot) = (hello.name.clone(), hello.boot);
        let heartbeat = v1::Heartbeat { uncertainty_ns: u64::MAX, ..Default::default() };
        // A process that ends and comes back, to hand over what it has, still ends.
        let known = inner.agents.get(&name).filter(|known| known.hello.boot == boot);
        let goodbye = known.and_then(|known| known.goodbye.clone());
        let untold = known.map(|known| known.untold.clone()).unwrap_or_default();
        let agent = Agent { hello, heartbeat, connected: true, goodbye, commands, stream, untold };
        inner.agents.insert(name.clone(), agent);
        inner.heard.insert(boot, Instant::now());
        inner.tell(FleetEvent::Joined { name, boot });
        Ok(stream)
    }

    /// Notes that a stream has ended, unless the agent has already opened another.
    pub fn leave(&self, name: &str, stream: u64) {
        let mut inner = self.lock();
        if let Some(agent) = inner.agents.get_mut(name)
            && agent.stream == stream
        {
            agent.connected = false;
            // The last sender ends the stream of commands, so that an agent that is still there dials again.
            agent.commands = agent.commands.closed();
            inner.tell(FleetEvent::Left { name: name.to_owned() });
        }
    }

    /// Notes that an agent ends, and why: from now on nobody counts on it. False when that was known.
    pub fn goodbye(&self, name: &str, stream: u64, reason: String) -> bool {
        let mut inner = self.lock();
        let Some(agent) = inner.agents.get_mut(name).filter(|agent| agent.stream == stream) else { return false };
        if agent.goodbye.is_some() {
            return false;
        }
        agent.goodbye = Some(reason);
        inner.tell(FleetEvent::Goodbye { name: name.to_owned() });
        true
    }

    /// Notes a heartbeat.
    pub fn beat(&self, name: &str, heartbeat: v1::Heartbeat) {
        let mut inner = self.lock();
        if let Some(agent) = inner.agents.get_mut(name) {
            let (boot, latest) = (agent.hello.boot, heartbeat.sessions);
            agent.heartbeat = heartbeat;
            let untold = agent.untold.upgrade();
            let sessions = untold.clone().unwrap_or_default();
            sessions.store(latest, Ordering::Relaxed);
            agent.untold = Arc::downgrade(&sessions);
            inner.heard.insert(boot, Instant::now());
            if untold.is_none() {
                inner.tell(FleetEvent::Heartbeat { name: name.to_owned(), sessions });
            }
        }
    }

    /// Notes that a process said something.
    pub fn heard(&self, boot: u64) {
        self.lock().heard.insert(boot, Instant::now());
    }

    /// How long a process has been silent; none when it was never heard of.
    pub fn silence(&self, boot: u64) -> Option<Duration> {
        self.lock().heard.get(&boot).map(Instant::elapsed)
    }

    /// From now on agents may work on this run or job.
    pub fn take_up(&self, number: u64) {
        self.lock().at_hand.insert(number);
    }

    /// From now on no agent may: who still does was out of reach when it was told to stop.
    pub fn put_down(&self, number: u64) {
        self.lock().at_hand.remove(&number);
    }

    /// What an agent works on although nobody waits for it any more.
    pub fn unwanted(&self, heartbeat: &v1::Heartbeat) -> Vec<u64> {
        let inner = self.lock();
        let named = heartbeat.jobs.iter().chain([&heartbeat.run]).copied();
        named.filter(|number| *number != 0 && !inner.at_hand.contains(number)).collect()
    }

    /// From now on agents keep what undoes the variant of this run.
    pub fn hold(&self, run: u64) {
        self.lock().held.insert(run);
    }

    /// The variant of a run is undone: agents forget it, those that are out of reach as soon as they are back.
    pub fn release(&self, run: u64) {
        let mut inner = self.lock();
        inner.held.remove(&run);
        for agent in inner.agents.values().filter(|agent| agent.connected) {
            if !agent.commands.send(command::Body::Release(v1::Release { run })) {
                tracing::debug!(agent = agent.hello.name, "it is told when it is back");
            }
        }
    }

    /// Tells of what an agent would undo although it is undone; before anything is held for that run again, which a switch of
    /// variants does a moment after.
    pub fn each_released(&self, heartbeat: &v1::Heartbeat, tell: impl FnMut(u64)) {
        let inner = self.lock();
        heartbeat.holds.iter().copied().filter(|run| !inner.held.contains(run)).for_each(tell);
    }

    /// Passes on what an agent said.
    pub fn pass_on(&self, event: FleetEvent) {
        self.lock().tell(event);
    }

    /// Listens to the fleet from now on, instead of whoever did before.
    pub fn listen(&self) -> mpsc::UnboundedReceiver<FleetEvent> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut inner = self.lock();
        inner.listener = Some(sender);
        inner.agents.values_mut().for_each(|agent| agent.untold = Weak::new());
        receiver
    }

    /// Sends a command. False when the agent is not connected.
    pub fn command(&self, name: &str, body: command::Body) -> bool {
        let inner = self.lock();
        inner.agents.get(name).is_some_and(|agent| agent.connected && agent.commands.send(body))
    }

    /// Something of one agent as it is now, without copying the rest of it: a run asks this of everybody again and again.
    pub fn look<T>(&self, name: &str, of: impl FnOnce(&Agent) -> T) -> Option<T> {
        self.lock().agents.get(name).map(of)
    }

    /// One agent as it is now.
    pub fn agent(&self, name: &str) -> Option<Agent> {
        self.lock().agents.get(name).cloned()
    }

    /// All agents that ever joined, as they are now, by name.
    pub fn agents(&self) -> Vec<Agent> {
        self.lock().agents.values().cloned().collect()
    }
}

impl Inner {
    /// One more agent may come. Where there are many, those that left longest ago are forgotten for it.
    fn make_room(&mut self, name: &str) -> Result<(), String> {
        while self.heard.len() >= MOST_PROCESSES {
            let Some((&boot, _)) = self.heard.iter().min_by_key(|(_, heard)| **heard) else { break };
            self.heard.remove(&boot);
        }
        if self.agents.len() < MOST_AGENTS || self.agents.contains_key(name) {
            return Ok(());
        }
        let gone = self.agents.values().filter(|agent| !agent.connected);
        let longest = gone.min_by_key(|agent| self.heard.get(&agent.hello.boot)).map(|agent| agent.hello.name.clone());
        let Some(longest) = longest else {
            return Err(format!("{MOST_AGENTS} agents are here already, which is the limit"));
        };
        self.agents.remove(&longest);
        Ok(())
    }

    fn tell(&mut self, event: FleetEvent) {
        if self.listener.as_ref().is_some_and(|listener| listener.send(event).is_err()) {
            self.listener = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(name: &str, boot: u64) -> v1::Hello {
        v1::Hello { name: name.to_owned(), boot, roles: vec!["drive".to_owned()], ..Default::default() }
    }

    fn channel() -> (Queue, mpsc::Receiver<v1::Command>) {
        Queue::to(Peer::new(([127, 0, 0, 1], 1).into(), None))
    }

    #[test]
    fn a_second_process_of_a_name_is_refused_until_the_first_has_gone() {
        let registry = Registry::default();
        let stream = registry.join(hello("a", 1), channel().0).unwrap();
        let refusal = registry.join(hello("a", 2), channel().0).unwrap_err();
        assert!(refusal.contains("--name"), "{refusal}");
        registry.leave("a", stream);
        assert!(registry.join(hello("a", 2), channel().0).is_ok());
    }

    #[test]
    fn the_end_of_an_old_stream_does_not_end_the_new_one() {
        let registry = Registry::default();
        let old = registry.join(hello("a", 1), channel().0).unwrap();
        registry.join(hello("a", 1), channel().0).unwrap();
        registry.leave("a", old);
        assert!(registry.agent("a").unwrap().connected);
    }

    #[test]
    fn who_has_said_goodbye_is_not_counted_on_until_another_process_joins() {
        let registry = Registry::default();
        let stream = registry.join(hello("a", 1), channel().0).unwrap();
        let presence = || registry.agent("a").unwrap().presence();
        registry.goodbye("a", stream + 1, "of another stream".to_owned());
        assert_eq!(presence(), Presence::Connected);
        assert!(registry.goodbye("a", stream, "was told to end".to_owned()));
        assert!(!registry.goodbye("a", stream, "says it twice".to_owned()));
        assert_eq!(presence(), Presence::Ended);
        registry.leave("a", stream);
        assert_eq!(presence(), Presence::Ended, "it is not silent: it has said why");
        let stream = registry.join(hello("a", 1), channel().0).unwrap();
        assert_eq!(presence(), Presence::Ended, "its link broke while it ended");
        registry.leave("a", stream);
        registry.join(hello("a", 2), channel().0).unwrap();
        assert_eq!(presence(), Presence::Connected);
    }

    #[test]
    fn one_heartbeat_waits_for_the_listener_and_it_is_the_latest() {
        let registry = Registry::default();
        registry.join(hello("a", 1), channel().0).unwrap();
        let beat = |sessions| registry.beat("a", v1::Heartbeat { sessions, ..Default::default() });
        let next = |heard: &mut mpsc::UnboundedReceiver<FleetEvent>| match heard.try_recv() {
            Ok(FleetEvent::Heartbeat { sessions, .. }) => Some(sessions.load(Ordering::Relaxed)),
            other => other.ok().map(|other| panic!("{other:?}")),
        };
        let mut heard = registry.listen();
        (1..=1_000).for_each(beat);
        assert_eq!(heard.len(), 1);
        assert_eq!((next(&mut heard), next(&mut heard)), (Some(1_000), None));
        beat(7);
        let mut next_listener = registry.listen();
        beat(8);
        assert_eq!((next(&mut heard), next(&mut next_listener)), (Some(7), Some(8)));
    }

    #[test]
    fn commands_reach_connected_agents_only() {
        let registry = Registry::default();
        let (sender, mut inbox) = channel();
        let stream = registry.join(hello("a", 1), sender).unwrap();
        let cancel = || command::Body::Cancel(v1::Cancel { run: 7 });
        assert!(registry.command("a", cancel()));
        assert!(inbox.try_recv().is_ok());
        assert!(!registry.command("b", cancel()));
        registry.leave("a", stream);
        assert!(!registry.command("a", cancel()));
    }

    #[test]
    fn the_end_of_a_stream_ends_its_commands() {
        let registry = Registry::default();
        let (sender, mut inbox) = channel();
        let stream = registry.join(hello("a", 1), sender).unwrap();
        registry.leave("a", stream);
        assert_eq!(inbox.try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
    }

    #[test]
    fn a_process_is_told_from_the_one_before_it() {
        let registry = Registry::default();
        let stream = registry.join(hello("a", 1), channel().0).unwrap();
        registry.leave("a", stream);
        registry.join(hello("a", 2), channel().0).unwrap();
        assert!(registry.silence(1).unwrap() > registry.silence(2).unwrap());
        assert_eq!(registry.silence(3), None);
    }

    #[test]
    fn only_what_is_at_hand_is_wanted() {
        let registry = Registry::default();
        let at_work = |run: u64, jobs: &[u64]| v1::Heartbeat { run, jobs: jobs.to_vec(), ..Default::default() };
        registry.take_up(7);
        registry.take_up(8);
        assert!(registry.unwanted(&at_work(0, &[])).is_empty());
        assert!(registry.unwanted(&at_work(7, &[8])).is_empty());
        assert_eq!(registry.unwanted(&at_work(6, &[8, 9])), [9, 6]);
        registry.put_down(7);
        assert_eq!(registry.unwanted(&at_work(7, &[8])), [7]);
    }

    #[test]
    fn what_is_undone_is_released_now_or_when_its_agent_is_back() {
        let registry = Registry::default();
        let (commands, mut orders) = channel();
        registry.join(hello("a", 1), commands).unwrap();
        registry.hold(7);
        let holding = |holds: &[u64]| v1::Heartbeat { holds: holds.to_vec(), ..Default::default() };
        let released = |holds: &[u64]| {
            let mut told = Vec::new();
            registry.each_released(&holding(holds), |run| told.push(run));
            told
        };
        assert_eq!(released(&[7]), [] as [u64; 0]);
        registry.release(7);
        let order = orders.try_recv().unwrap().body;
        assert_eq!(order, Some(command::Body::Release(v1::Release { run: 7 })));
        assert_eq!(released(&[7, 8]), [7, 8]);
    }

    #[test]
    fn who_left_longest_ago_makes_room() {
        let registry = Registry::default();
        let ways: Vec<_> = (0..MOST_AGENTS as u64)
            .map(|n| {
                let (way, inbox) = channel();
                (registry.join(hello(&format!("a{n}"), n + 1), way).unwrap(), inbox)
            })
            .collect();
        let refusal = registry.join(hello("late", 9_999), channel().0).unwrap_err();
        assert!(refusal.contains("2048 agents"), "{refusal}");
        registry.join(hello("a5", 6), channel().0).unwrap();
        for n in [8, 7] {
            registry.leave(&format!("a{n}"), ways[n].0);
        }
        registry.join(hello("late", 9_999), channel().0).unwrap();
        assert!(registry.agent("a7").is_none() && registry.agent("a8").is_some());
    }

    #[test]
    fn labels_must_all_match() {
        let registry = Registry::default();
        let mut labelled = hello("a", 1);
        labelled.labels.insert("zone".to_owned(), "a".to_owned());
        registry.join(labelled, channel().0).unwrap();
        let agent = registry.agent("a").unwrap();
        let wanted = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        assert!(agent.has_labels(&wanted(&[])));
        assert!(agent.has_labels(&wanted(&[("zone", "a")])));
        assert!(!agent.has_labels(&wanted(&[("zone", "b")])));
        assert!(!agent.has_labels(&wanted(&[("zone", "a"), ("rack", "1")])));
    }
}
