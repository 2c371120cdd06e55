//! The library's view of the log, which lives on the other side.
use raft::eraftpb::{ConfState, Entry, EntryType, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Result, StorageError};
use std::ffi::c_void;

use crate::types;

pub struct Store(pub types::Storage);

pub fn kind_of(kind: u32) -> EntryType {
    match kind {
        1 => EntryType::EntryConfChange,
        2 => EntryType::EntryConfChangeV2,
        _ => EntryType::EntryNormal,
    }
}

pub fn with_entry<R>(entry: &Entry, call: impl FnOnce(*const types::Entry) -> R) -> R {
    let raw = types::Entry {
        index: entry.index,
        term: entry.term,
        kind: entry.entry_type as u32,
        data: types::Bytes::of(&entry.data),
        context: types::Bytes::of(&entry.context),
    };
    call(&raw)
}

pub fn with_conf<R>(conf: &ConfState, call: impl FnOnce(*const types::ConfState) -> R) -> R {
    let raw = types::ConfState {
        voters: types::Ids::of(&conf.voters),
        learners: types::Ids::of(&conf.learners),
        voters_outgoing: types::Ids::of(&conf.voters_outgoing),
        learners_next: types::Ids::of(&conf.learners_next),
        auto_leave: conf.auto_leave,
    };
    call(&raw)
}

fn conf_of(raw: &types::ConfState) -> ConfState {
    let mut conf = ConfState::default();
    unsafe {
        conf.voters = raw.voters.to_vec();
        conf.learners = raw.learners.to_vec();
        conf.voters_outgoing = raw.voters_outgoing.to_vec();
        conf.learners_next = raw.learners_next.to_vec();
    }
    conf.auto_leave = raw.auto_leave;
    conf
}

extern "C" fn push(sink: *mut c_void, entry: *const types::Entry) {
    let (out, raw) = unsafe { (&mut *(sink as *mut Vec<Entry>), &*entry) };
    let mut entry = Entry::default();
    entry.index = raw.index;
    entry.term = raw.term;
    entry.set_entry_type(kind_of(raw.kind));
    unsafe {
        entry.data = raw.data.slice().to_vec().into();
        entry.context = raw.context.slice().to_vec().into();
    }
    out.push(entry);
}

fn failure(result: i32) -> Error {
    Error::Store(if result == 1 { StorageError::Compacted } else { StorageError::Unavailable })
}

fn no_ids() -> types::Ids {
    types::Ids { ids: std::ptr::null(), count: 0 }
}

impl raft::Storage for Store {
    fn initial_state(&self) -> Result<RaftState> {
        let mut hard = types::HardState::default();
        (self.0.hard_state)(self.0.owner, &mut hard);
        let mut conf = types::ConfState {
            voters: no_ids(),
            learners: no_ids(),
            voters_outgoing: no_ids(),
            learners_next: no_ids(),
            auto_leave: false,
        };
        (self.0.conf_state)(self.0.owner, &mut conf);
        let mut state = HardState::default();
        state.term = hard.term;
        state.vote = hard.vote;
        state.commit = hard.commit;
        Ok(RaftState::new(state, conf_of(&conf)))
    }

    fn entries(&self, low: u64, high: u64, max: impl Into<Option<u64>>, _: GetEntriesContext) -> Result<Vec<Entry>> {
        let mut out: Vec<Entry> = Vec::new();
        let max = max.into().unwrap_or(u64::MAX);
        let sink = &mut out as *mut Vec<Entry> as *mut c_void;
        match (self.0.entries)(self.0.owner, low, high, max, sink, push) {
            0 => Ok(out),
            other => Err(failure(other)),
        }
    }

    fn term(&self, index: u64) -> Result<u64> {
        let mut term = 0;
        match (self.0.term)(self.0.owner, index, &mut term) {
            0 => Ok(term),
            other => Err(failure(other)),
        }
    }

    fn first_index(&self) -> Result<u64> {
        Ok((self.0.first_index)(self.0.owner))
    }

    fn last_index(&self) -> Result<u64> {
        Ok((self.0.last_index)(self.0.owner))
    }

    // Only where the log begins: whoever gets it copies the data elsewhere and comes back with a log from there on.
    fn snapshot(&self, _: u64, _: u64) -> Result<Snapshot> {
        let index = self.first_index()? - 1;
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        metadata.index = index;
        metadata.term = self.term(index)?;
        metadata.set_conf_state(self.initial_state()?.conf_state);
        snapshot.data = (self.0.conf_index)(self.0.owner).to_le_bytes().to_vec().into();
        Ok(snapshot)
    }
}
