//! This module bounds how many bytes are under way to each member, by a window that follows what the line carries.
//!
//! The library counts messages, and takes what isn't answered within a heartbeat for lost: on a narrow line it would
//! send the same entries again and again, behind those that are still on their way. Here
//!
//! - no more bytes are under way than the line carried lately in about `AGE_WANTED`, so that little is lost with a
//!   connection, and what waits in the log goes in fuller messages;
//! - a heartbeat's answer makes nothing be sent again that is still on its way.
//!
//! Loss that the transport knows of is reported (`lost`) and mended at once; what is lost unseen, after a while.
use raft::eraftpb::{Message, MessageType};
use raft::{Progress, ProgressState};
use std::collections::{BTreeMap, VecDeque};

/// Ticks from an entry's departure to its acknowledgement: above this the window shrinks, below half of it grows.
const AGE_WANTED: u64 = 10;
/// Lines that are this long when idle are given as much again for what waits.
const AGE_PER_QUICKEST: u64 = 2;
/// Each time nothing came of asking again, patience doubles, so many times.
const TRIES_MAX: u32 = 3;

#[derive(Clone, Copy)]
pub struct Limits {
    pub bytes_min: u64,
    pub bytes_first: u64,
    pub bytes_max: u64,
    pub message_bytes_max: u64,
    pub messages_max: usize,
    pub election_ticks: u64,
    /// Members whose id has this bit are sent entries without their data.
    pub without_data: u64,
}

struct Sent {
    last: u64,
    bytes: u64,
    tick: u64,
}

pub struct Line {
    sent: VecDeque<Sent>,
    pub bytes: u64,
    pub window: u64,
    pub highest: u64, // entry ever sent in this term
    pub resent: u64,  // entries sent more than once
    quickest: u64,    // age of an acknowledged message
    shrunk_through: u64,
    asked: u64,       // tick of the last departure
    tries: u32,
}

impl Line {
    fn new(limits: &Limits) -> Line {
        Line {
            sent: VecDeque::new(),
            bytes: 0,
            window: limits.bytes_first,
            highest: 0,
            resent: 0,
            quickest: u64::MAX,
            shrunk_through: 0,
            asked: 0,
            tries: 0,
        }
    }

    fn clear(&mut self) {
        self.sent.clear();
        self.bytes = 0;
    }

    fn left(&mut self, first: u64, last: u64, bytes: u64, tick: u64) {
        self.resent += (self.highest.min(last) + 1).saturating_sub(first);
        self.highest = self.highest.max(last);
        self.bytes += bytes;
        self.asked = tick;
        self.sent.push_back(Sent { last, bytes, tick });
    }

    fn acknowledged(&mut self, index: u64, tick: u64, limits: &Limits) {
        let limited = self.bytes + limits.message_bytes_max >= self.window;
        let (mut freed, mut age) = (0, 0);
        while self.sent.front().map_or(false, |sent| sent.last <= index) {
            let sent = self.sent.pop_front().unwrap();
            freed += sent.bytes;
            age = tick - sent.tick;
        }
        if freed == 0 {
            return;
        }
        self.bytes -= freed;
        self.tries = 0;
        self.quickest = self.quickest.min(age);
        let wanted = AGE_WANTED.max(AGE_PER_QUICKEST * self.quickest);
        if age > wanted {
            // Once for all that left under the window that was too large.
            if index > self.shrunk_through {
                self.window = (self.window * wanted / age).max(limits.bytes_min);
                self.shrunk_through = self.highest;
            }
        } else if limited && age * 2 <= wanted {
            self.window = (self.window + freed).min(limits.bytes_max);
        }
    }
}

pub struct Flow {
    pub limits: Limits,
    tick: u64,
    term: u64, // that this member leads in; 0: it doesn't
    lines: BTreeMap<u64, Line>,
}

fn entry_bytes(message: &Message, limits: &Limits) -> u64 {
    const FRAME: u64 = 16;
    let whole = message.to & limits.without_data == 0;
    let bytes = |entry: &raft::eraftpb::Entry| if whole { entry.data.len() + entry.context.len() } else { 0 };
    message.entries.iter().map(|entry| bytes(entry) as u64 + FRAME).sum()
}

impl Flow {
    pub fn new(limits: Limits) -> Flow {
        Flow { limits, tick: 0, term: 0, lines: BTreeMap::new() }
    }

    pub fn tick(&mut self) {
        self.tick += 1;
    }

    pub fn line(&self, id: u64) -> Option<&Line> {
        self.lines.get(&id)
    }

    /// Every term of leadership begins with nothing known.
    pub fn leads(&mut self, term: u64) {
        if term != self.term {
            self.term = term;
            self.lines.clear();
        }
    }

    fn of(&mut self, id: u64) -> &mut Line {
        let limits = self.limits;
        self.lines.entry(id).or_insert_with(|| Line::new(&limits))
    }

    /// Before the library may send: how many messages more fit into the window.
    pub fn allow(&mut self, id: u64, progress: &mut Progress) {
        let limits = self.limits;
        let line = self.of(id);
        if progress.state != ProgressState::Replicate && !progress.paused {
            line.clear();
        }
        let room = if line.bytes >= line.window { 0 } else { (line.window - line.bytes) / limits.message_bytes_max + 1 };
        progress.ins.set_cap(progress.ins.count().saturating_add(room as usize).min(limits.messages_max));
    }

    /// No message more goes before something is acknowledged.
    pub fn full(&mut self, id: u64, progress: &mut Progress) -> bool {
        self.allow(id, progress);
        progress.ins.full()
    }

    pub fn left(&mut self, messages: &[Message], waits: impl Fn(u64) -> bool) {
        let (tick, limits) = (self.tick, self.limits);
        for message in messages {
            if message.msg_type() != MessageType::MsgAppend || message.entries.is_empty() {
                continue;
            }
            let line = self.of(message.to);
            if waits(message.to) {
                line.clear(); // of what went before nothing is counted on any more
            }
            let (first, last) = (message.entries[0].index, message.entries[message.entries.len() - 1].index);
            line.left(first, last, entry_bytes(message, &limits), tick);
        }
    }

    pub fn acknowledged(&mut self, id: u64, index: u64) {
        let (tick, limits) = (self.tick, self.limits);
        self.of(id).acknowledged(index, tick, &limits);
    }

    pub fn lost(&mut self, id: u64) {
        let line = self.of(id);
        line.clear();
        line.tries = 0;
    }

    /// A heartbeat was answered while something isn't acknowledged: may that be sent again? `under_way`: the transport
    /// knows that it hasn't arrived yet, and will tell if it doesn't. Else true once in a while, for what is lost unseen.
    pub fn send_again(&mut self, id: u64, under_way: impl FnOnce() -> bool) -> bool {
        let (tick, limits) = (self.tick, self.limits);
        let line = self.of(id);
        if line.sent.is_empty() {
            return true;
        }
        if tick - line.asked < limits.election_ticks << line.tries || under_way() {
            return false;
        }
        line.asked = tick;
        line.tries = (line.tries + 1).min(TRIES_MAX);
        line.clear(); // nobody counts on it any more
        true
    }
}
