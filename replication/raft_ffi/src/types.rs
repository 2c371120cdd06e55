//! The structures of raft_ffi.h, which cbindgen makes of them.
use std::ffi::c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    pub data: *const u8,
    pub size: usize,
}

impl Bytes {
    pub fn of(slice: &[u8]) -> Bytes {
        Bytes { data: slice.as_ptr(), size: slice.len() }
    }
    /// # Safety
    /// `data` points to `size` bytes, or `size` is 0.
    pub unsafe fn slice<'a>(self) -> &'a [u8] {
        if self.size == 0 { &[] } else { std::slice::from_raw_parts(self.data, self.size) }
    }
}

#[repr(C)]
pub struct Entry {
    pub index: u64,
    pub term: u64,
    /// 0: data, 1: membership (one change), 2: membership.
    pub kind: u32,
    pub data: Bytes,
    pub context: Bytes,
}

#[repr(C)]
#[derive(Default)]
pub struct HardState {
    pub term: u64,
    /// 0: none.
    pub vote: u64,
    pub commit: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ids {
    pub ids: *const u64,
    pub count: usize,
}

impl Ids {
    pub fn of(ids: &[u64]) -> Ids {
        Ids { ids: ids.as_ptr(), count: ids.len() }
    }
    /// # Safety
    /// `ids` points to `count` numbers, or `count` is 0.
    pub unsafe fn to_vec(self) -> Vec<u64> {
        if self.count == 0 { Vec::new() } else { std::slice::from_raw_parts(self.ids, self.count).to_vec() }
    }
}

#[repr(C)]
pub struct ConfState {
    pub voters: Ids,
    pub learners: Ids,
    /// Where it isn't empty, the configuration is a joint one.
    pub voters_outgoing: Ids,
    pub learners_next: Ids,
    pub auto_leave: bool,
}

pub type PushEntry = extern "C" fn(sink: *mut c_void, entry: *const Entry);

/// The log, as the node reads it. Entries handed out by raft_ready must be readable when that returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Storage {
    pub owner: *mut c_void,
    pub hard_state: extern "C" fn(owner: *mut c_void, out: *mut HardState),
    /// What `out` points to is valid until the next call.
    pub conf_state: extern "C" fn(owner: *mut c_void, out: *mut ConfState),
    /// The index of the entry that made the conf_state.
    pub conf_index: extern "C" fn(owner: *mut c_void) -> u64,
    pub first_index: extern "C" fn(owner: *mut c_void) -> u64,
    pub last_index: extern "C" fn(owner: *mut c_void) -> u64,
    /// The index lies between first_index - 1 and last_index. Returns 0: found, 1: compacted, 2: not there yet.
    pub term: extern "C" fn(owner: *mut c_void, index: u64, out: *mut u64) -> i32,
    /// Pushes the entries of [low, high), at least one, then up to bytes_max. Returns what `term` does.
    pub entries: extern "C" fn(owner: *mut c_void, low: u64, high: u64, bytes_max: u64, sink: *mut c_void, push: PushEntry) -> i32,
}

/// Such a node stands when there has been no leader for several election timeouts. No lead is transferred to it.
pub const RAFT_RANK_CARETAKER: u32 = 4;
/// Such a node never stands for election, nor is a lead transferred to it.
pub const RAFT_RANK_NEVER: u32 = 5;

#[repr(C)]
pub struct Config {
    pub id: u64,
    /// Entries up to here are not handed out again.
    pub applied: u64,
    /// A leader that is silent for so long is given up; elections come within one to two of these.
    pub election_ticks: u32,
    pub heartbeat_ticks: u32,
    pub message_bytes_max: u64,
    pub inflight_messages_max: u64,
    /// Proposals beyond are refused.
    pub uncommitted_bytes_max: u64,
    /// One raft_ready hands out at most so many bytes of committed entries, or one larger entry.
    pub committed_bytes_max: u64,
    /// 0 to 3: 0 is the first to stand when a leader is silent, 3 waits longest. RAFT_RANK_CARETAKER and RAFT_RANK_NEVER.
    pub rank: u32,
    /// The seed of the jitter between elections.
    pub seed: u64,
    /// Bytes of entries under way to one member: the ends between which they follow what the line carries, and where they begin.
    pub flight_bytes_min: u64,
    pub flight_bytes_first: u64,
    pub flight_bytes_max: u64,
    /// Members whose id has this bit are sent entries without their data.
    pub without_data: u64,
}

/// raft_ready calls these functions.
#[repr(C)]
pub struct Sink {
    pub owner: *mut c_void,
    /// `kind` is as RAFT_MSG_* says. `last_index` is that of the message's entries, or 0. With `after_persist` the message must
    /// not go before everything that this raft_ready handed out is on disk.
    pub message: extern "C" fn(owner: *mut c_void, to: u64, kind: u32, last_index: u64, after_persist: bool, bytes: Bytes),
    pub hard_state: extern "C" fn(owner: *mut c_void, state: *const HardState, must_sync: bool),
    /// The entries are contiguous; everything from the first one on is replaced.
    pub append: extern "C" fn(owner: *mut c_void, entry: *const Entry),
    pub committed: extern "C" fn(owner: *mut c_void, entry: *const Entry),
    pub read_state: extern "C" fn(owner: *mut c_void, index: u64, context: Bytes),
}

#[repr(C)]
pub struct Status {
    pub term: u64,
    pub vote: u64,
    pub commit: u64,
    pub applied: u64,
    /// 0: unknown.
    pub leader: u64,
    pub transferring_to: u64,
    pub last_index: u64,
    pub uncommitted_bytes: u64,
    /// RAFT_FOLLOWER to RAFT_PRE_CANDIDATE.
    pub role: u32,
    /// A leader may answer reads.
    pub committed_in_term: bool,
    /// A membership change is under way.
    pub conf_pending: bool,
}

#[repr(C)]
pub struct Progress {
    pub id: u64,
    pub matched: u64,
    pub next: u64,
    pub recently_active: bool,
    pub receiving_snapshot: bool,
    /// Bytes that were sent, and are neither acknowledged nor known to be lost.
    pub flight_bytes: u64,
    /// So many bytes may be under way to the member.
    pub window_bytes: u64,
    /// So many entries were sent more than once in this term.
    pub resent_entries: u64,
}

pub const RAFT_FOLLOWER: u32 = 0;
pub const RAFT_CANDIDATE: u32 = 1;
pub const RAFT_LEADER: u32 = 2;
pub const RAFT_PRE_CANDIDATE: u32 = 3;

pub const RAFT_MSG_APPEND: u32 = 3;
pub const RAFT_MSG_SNAPSHOT: u32 = 7;
pub const RAFT_MSG_HEARTBEAT_RESPONSE: u32 = 9;
pub const RAFT_MSG_PRE_VOTE: u32 = 17;
pub const RAFT_MSG_PRE_VOTE_RESPONSE: u32 = 18;

pub const RAFT_OK: i32 = 0;
/// The node isn't the leader, a transfer is under way, or too many bytes are uncommitted.
pub const RAFT_DROPPED: i32 = 1;
pub const RAFT_BAD_MESSAGE: i32 = 2;
/// The message is a snapshot for a log that ends before it begins; `index` and `term` tell where.
pub const RAFT_BEHIND: i32 = 3;
/// The leader knows of entries that this member once had and has no more.
pub const RAFT_LOST_LOG: i32 = 4;
pub const RAFT_UNKNOWN_PEER: i32 = 5;
