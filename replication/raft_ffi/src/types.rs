//! The C structures of raft_ffi.h.
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
    pub kind: u32,
    pub data: Bytes,
    pub context: Bytes,
}

#[repr(C)]
#[derive(Default)]
pub struct HardState {
    pub term: u64,
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
    pub voters_outgoing: Ids,
    pub learners_next: Ids,
    pub auto_leave: bool,
}

pub type PushEntry = extern "C" fn(*mut c_void, *const Entry);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Storage {
    pub this: *mut c_void,
    pub hard_state: extern "C" fn(*mut c_void, *mut HardState),
    pub conf_state: extern "C" fn(*mut c_void, *mut ConfState),
    pub conf_index: extern "C" fn(*mut c_void) -> u64,
    pub first_index: extern "C" fn(*mut c_void) -> u64,
    pub last_index: extern "C" fn(*mut c_void) -> u64,
    pub term: extern "C" fn(*mut c_void, u64, *mut u64) -> i32,
    pub entries: extern "C" fn(*mut c_void, u64, u64, u64, *mut c_void, PushEntry) -> i32,
}

#[repr(C)]
pub struct Config {
    pub id: u64,
    pub applied: u64,
    pub election_ticks: u32,
    pub heartbeat_ticks: u32,
    pub message_bytes_max: u64,
    pub inflight_messages_max: u64,
    pub uncommitted_bytes_max: u64,
    pub committed_bytes_max: u64,
    pub rank: u32,
    pub seed: u64,
    pub electable: bool,
    pub flight_bytes_min: u64,
    pub flight_bytes_first: u64,
    pub flight_bytes_max: u64,
    pub without_data: u64,
}

#[repr(C)]
pub struct Sink {
    pub this: *mut c_void,
    pub message: extern "C" fn(*mut c_void, u64, u32, u64, bool, Bytes),
    pub hard_state: extern "C" fn(*mut c_void, *const HardState, bool),
    pub append: extern "C" fn(*mut c_void, *const Entry),
    pub committed: extern "C" fn(*mut c_void, *const Entry),
    pub read_state: extern "C" fn(*mut c_void, u64, Bytes),
}

#[repr(C)]
pub struct Status {
    pub term: u64,
    pub vote: u64,
    pub commit: u64,
    pub applied: u64,
    pub leader: u64,
    pub transferring_to: u64,
    pub last_index: u64,
    pub uncommitted_bytes: u64,
    pub role: u32,
    pub committed_in_term: bool,
    pub conf_pending: bool,
}

#[repr(C)]
pub struct Progress {
    pub id: u64,
    pub matched: u64,
    pub next: u64,
    pub recently_active: bool,
    pub receiving_snapshot: bool,
    pub flight_bytes: u64,
    pub window_bytes: u64,
    pub resent_entries: u64,
}

pub const OK: i32 = 0;
pub const DROPPED: i32 = 1;
pub const BAD_MESSAGE: i32 = 2;
pub const BEHIND: i32 = 3;
pub const LOST_LOG: i32 = 4;
pub const UNKNOWN_PEER: i32 = 5;
