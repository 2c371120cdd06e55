//! The calls of raft_ffi.h, which cbindgen makes of their declarations here and of types.rs.
#![allow(clippy::missing_safety_doc)]

mod check;
mod flow;
mod logging;
mod storage;
mod types;

use prost::Message as _;
use raft::eraftpb::{ConfChange, ConfChangeSingle, ConfChangeType, ConfChangeV2, Message, MessageType};
use raft::{Config, ProgressState, RawNode, ReadOnlyOption, SnapshotStatus, StateRole};
use std::ffi::c_void;

use flow::{Flow, Limits};
use storage::{with_conf, with_entry, Store};
use types::{RAFT_BAD_MESSAGE, RAFT_BEHIND, RAFT_DROPPED, RAFT_OK, RAFT_RANK_CARETAKER, RAFT_RANK_NEVER, RAFT_UNKNOWN_PEER};

/// The library draws its election timeouts from the thread's own generator, up to a value that never comes. Each is
/// replaced by one from the seed, so that a simulation can be run again.
const TIMEOUT_NEVER: usize = 1 << 40;
/// A caretaker stands after so many of the others' shortest timeouts.
const CARETAKER_TIMEOUTS: usize = 4;

// The header has the library's own numbers of messages.
const _: () = {
    assert!(types::RAFT_MSG_APPEND == MessageType::MsgAppend as u32);
    assert!(types::RAFT_MSG_SNAPSHOT == MessageType::MsgSnapshot as u32);
    assert!(types::RAFT_MSG_HEARTBEAT_RESPONSE == MessageType::MsgHeartbeatResponse as u32);
    assert!(types::RAFT_MSG_PRE_VOTE == MessageType::MsgRequestPreVote as u32);
    assert!(types::RAFT_MSG_PRE_VOTE_RESPONSE == MessageType::MsgRequestPreVoteResponse as u32);
};

pub struct Node {
    raw: RawNode<Store>,
    flow: Flow,
    seed: u64,
    drawn: u64,
    timeout: usize,
    rank: u32,
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Node {
    fn settle_timeout(&mut self) {
        if self.raw.raft.randomized_election_timeout() == self.timeout {
            return;
        }
        let ticks = self.raw.raft.election_timeout();
        self.drawn += 1;
        // The library's own priorities can leave two members that each refuse the other (equal lengths, different terms);
        // here a member that should lead only times out sooner.
        let jitter = mix(self.seed ^ mix(self.drawn)) as usize;
        self.timeout = match self.rank {
            RAFT_RANK_NEVER.. => TIMEOUT_NEVER - 1,
            // The others have tried more than once by then, so one that could lead has won.
            RAFT_RANK_CARETAKER => CARETAKER_TIMEOUTS * ticks + jitter % ticks,
            rank => {
                let head_start = ticks * rank as usize / 4;
                ticks + head_start + jitter % (ticks - head_start)
            }
        };
        self.raw.raft.set_randomized_election_timeout(self.timeout);
    }

    /// The library elects a member whose own vote is enough at once, and panics where the log isn't on disk then.
    fn must_write_before_it_stands(&self) -> bool {
        let raft = &self.raw.raft;
        let elects_itself = raft.prs().conf().voters().ids().iter().all(|id| id == raft.id);
        elects_itself && !check::log_is_on_disk(&self.raw)
    }

    /// Whatever may make the library send entries goes through here.
    fn drive<T>(&mut self, call: impl FnOnce(&mut RawNode<Store>) -> T) -> T {
        let raft = &mut self.raw.raft;
        let (own, before) = (raft.id, raft.msgs.len());
        if raft.state == StateRole::Leader {
            self.flow.leads(raft.term);
            for (id, progress) in raft.mut_prs().iter_mut().filter(|(id, _)| **id != own) {
                self.flow.allow(*id, progress);
            }
        }
        let result = call(&mut self.raw);
        let raft = &self.raw.raft;
        if raft.state == StateRole::Leader && raft.msgs.len() > before {
            self.flow.leads(raft.term);
            let waits = |id| raft.prs().get(id).map_or(true, |progress| progress.state != ProgressState::Replicate);
            self.flow.left(&raft.msgs[before..], waits);
        }
        result
    }

    /// The library sends again what a member that answers heartbeats hasn't acknowledged. What is still on its way waits.
    fn step_heartbeat_response(&mut self, message: Message, under_way: impl FnOnce() -> bool) -> raft::Result<()> {
        let from = message.from;
        let leads = self.raw.raft.state == StateRole::Leader && message.term == self.raw.raft.term;
        let (paused, full) = match self.raw.raft.mut_prs().get_mut(from).filter(|_| leads) {
            Some(progress) if progress.state == ProgressState::Probe => (progress.paused, false),
            Some(progress) if progress.state == ProgressState::Replicate => (false, self.flow.full(from, progress)),
            _ => (false, false),
        };
        if (!paused && !full) || self.flow.send_again(from, under_way) {
            return self.drive(|raw| raw.step(message));
        }
        let before = self.raw.raft.msgs.len();
        if full {
            self.raw.raft.adjust_max_inflight_msgs(from, 0);
        }
        let stepped = self.raw.step(message);
        let raft = &mut self.raw.raft;
        if paused {
            let mut at = 0;
            raft.msgs.retain(|sent| {
                at += 1;
                at <= before || sent.to != from || sent.msg_type() != MessageType::MsgAppend
            });
            raft.mut_prs().get_mut(from).unwrap().pause();
        }
        stepped
    }

    fn propose(&mut self, index: *mut u64, term: *mut u64, call: impl FnOnce(&mut RawNode<Store>) -> raft::Result<()>) -> i32 {
        if self.raw.raft.state != StateRole::Leader || self.drive(call).is_err() {
            return RAFT_DROPPED;
        }
        unsafe {
            *index = self.raw.raft.raft_log.last_index();
            *term = self.raw.raft.term;
        }
        RAFT_OK
    }
}

/// Process-wide.
#[no_mangle]
pub extern "C" fn raft_set_log(log: logging::LogFunction) {
    logging::set(log);
}

/// NULL: the configuration isn't sound (a line in the log says why).
#[no_mangle]
pub unsafe extern "C" fn raft_new(config: *const types::Config, storage: *const types::Storage) -> *mut Node {
    let given = &*config;
    let config = Config {
        id: given.id,
        applied: given.applied,
        election_tick: given.election_ticks as usize,
        heartbeat_tick: given.heartbeat_ticks as usize,
        max_election_tick: TIMEOUT_NEVER,
        max_size_per_msg: given.message_bytes_max,
        max_inflight_msgs: given.inflight_messages_max as usize,
        max_uncommitted_size: given.uncommitted_bytes_max,
        max_committed_size_per_ready: given.committed_bytes_max,
        check_quorum: true,
        pre_vote: true,
        read_only_option: ReadOnlyOption::Safe,
        ..Default::default()
    };
    let logger = logging::logger();
    match RawNode::new(&config, Store(*storage), &logger) {
        Ok(raw) => {
            let flow = Flow::new(Limits {
                bytes_min: given.flight_bytes_min,
                bytes_first: given.flight_bytes_first,
                bytes_max: given.flight_bytes_max,
                message_bytes_max: given.message_bytes_max,
                messages_max: given.inflight_messages_max as usize,
                election_ticks: given.election_ticks as u64,
                without_data: given.without_data,
            });
            let mut node = Node { raw, flow, seed: given.seed, drawn: 0, timeout: 0, rank: given.rank };
            node.settle_timeout();
            Box::into_raw(Box::new(node))
        }
        Err(error) => {
            slog::error!(logger, "the node cannot start"; "error" => %error);
            std::ptr::null_mut()
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn raft_free(node: *mut Node) {
    drop(Box::from_raw(node));
}

#[no_mangle]
pub unsafe extern "C" fn raft_tick(node: *mut Node) {
    let node = &mut *node;
    node.flow.tick();
    if node.raw.raft.state != StateRole::Leader && node.must_write_before_it_stands() {
        node.raw.raft.election_elapsed = 0;
    }
    node.drive(|raw| raw.tick());
    node.settle_timeout();
}

/// Checks the message before the library sees it: anything a peer may send comes back as one of the RAFT_* results.
/// `under_way` is asked where it matters: are entries sent to that peer known not to have arrived yet, and would the loss of one be
/// reported?
#[no_mangle]
pub unsafe extern "C" fn raft_step(
    node: *mut Node,
    from: u64,
    bytes: types::Bytes,
    owner: *mut c_void,
    under_way: extern "C" fn(owner: *mut c_void) -> bool,
    index: *mut u64,
    term: *mut u64,
) -> i32 {
    let node = &mut *node;
    let message = match Message::decode(bytes.slice()) {
        Ok(message) => message,
        Err(_) => return RAFT_BAD_MESSAGE,
    };
    let (result, at_index, at_term) = check::check(&node.raw, from, &message);
    (*index, *term) = (at_index, at_term);
    if result == RAFT_BEHIND && message.term >= node.raw.raft.term {
        // It is still a sign of life of the leader.
        let mut beat = Message::default();
        beat.set_msg_type(MessageType::MsgHeartbeat);
        (beat.from, beat.to, beat.term) = (message.from, message.to, message.term);
        let _ = node.raw.step(beat);
        node.settle_timeout();
    }
    if result != RAFT_OK {
        return result;
    }
    let kind = message.msg_type();
    let elects_it = matches!(kind, MessageType::MsgTimeoutNow | MessageType::MsgRequestPreVoteResponse);
    let never = kind == MessageType::MsgTimeoutNow && node.rank >= RAFT_RANK_CARETAKER;
    if never || (elects_it && node.must_write_before_it_stands()) {
        return RAFT_OK;
    }
    let stepped = match kind {
        MessageType::MsgHeartbeatResponse => node.step_heartbeat_response(message, || under_way(owner)),
        MessageType::MsgAppendResponse if !message.reject && message.term == node.raw.raft.term => {
            node.flow.acknowledged(message.from, message.index);
            if let Some(progress) = node.raw.raft.mut_prs().get_mut(message.from) {
                progress.ins.free_to(message.index); // what may go is counted from here
            }
            node.drive(|raw| raw.step(message))
        }
        _ => node.drive(|raw| raw.step(message)),
    };
    node.settle_timeout();
    match stepped {
        Ok(()) => RAFT_OK,
        Err(raft::Error::StepPeerNotFound) => RAFT_UNKNOWN_PEER,
        Err(_) => RAFT_BAD_MESSAGE,
    }
}

#[no_mangle]
pub unsafe extern "C" fn raft_propose(
    node: *mut Node,
    data: types::Bytes,
    context: types::Bytes,
    index: *mut u64,
    term: *mut u64,
) -> i32 {
    (*node).propose(index, term, |raw| raw.propose(context.slice().to_vec(), data.slice().to_vec()))
}

/// `types`: 0 add voter, 1 remove, 2 add learner. More than one change goes through a joint configuration, which is left by itself.
#[no_mangle]
pub unsafe extern "C" fn raft_propose_members(
    node: *mut Node,
    types: *const u32,
    ids: *const u64,
    count: usize,
    context: types::Bytes,
    index: *mut u64,
    term: *mut u64,
) -> i32 {
    let mut change = ConfChangeV2::default();
    for i in 0..count {
        let mut single = ConfChangeSingle::default();
        single.node_id = *ids.add(i);
        single.set_change_type(match *types.add(i) {
            0 => ConfChangeType::AddNode,
            1 => ConfChangeType::RemoveNode,
            _ => ConfChangeType::AddLearnerNode,
        });
        change.changes.push(single);
    }
    // With a change pending the library would put an empty entry in this one's place.
    let raft = &(*node).raw.raft;
    if raft.has_pending_conf() || !raft.prs().conf().to_conf_state().voters_outgoing.is_empty() {
        return RAFT_DROPPED;
    }
    (*node).propose(index, term, |raw| raw.propose_conf_change(context.slice().to_vec(), change))
}

/// Is called for every committed entry of kind 1 and 2, in order. `told` gets the configuration. RAFT_BAD_MESSAGE: the entry doesn't
/// decode or doesn't fit the configuration.
#[no_mangle]
pub unsafe extern "C" fn raft_apply_members(
    node: *mut Node,
    kind: u32,
    data: types::Bytes,
    owner: *mut c_void,
    told: extern "C" fn(owner: *mut c_void, state: *const types::ConfState),
) -> i32 {
    let decoded = if kind == 1 {
        ConfChange::decode(data.slice()).map(|change| raft_proto_v2(&change))
    } else {
        ConfChangeV2::decode(data.slice())
    };
    let Some(change) = decoded.ok().filter(check::sound_change) else { return RAFT_BAD_MESSAGE };
    let applied = (*node).drive(|raw| raw.apply_conf_change(&change));
    (*node).settle_timeout();
    match applied {
        Ok(state) => {
            // The library lets a leader that was removed lead on, and fails at its next commit.
            let raft = &mut (*node).raw.raft;
            let votes = state.voters.contains(&raft.id) || state.voters_outgoing.contains(&raft.id);
            if raft.state == StateRole::Leader && !votes {
                let term = raft.term;
                raft.become_follower(term, 0);
                (*node).settle_timeout();
            }
            with_conf(&state, |raw| told(owner, raw));
            RAFT_OK
        }
        Err(_) => RAFT_BAD_MESSAGE,
    }
}

fn raft_proto_v2(change: &ConfChange) -> ConfChangeV2 {
    let mut single = ConfChangeSingle::default();
    single.node_id = change.node_id;
    single.change_type = change.change_type;
    let mut out = ConfChangeV2::default();
    out.changes.push(single);
    out
}

#[no_mangle]
pub unsafe extern "C" fn raft_applied(node: *mut Node, index: u64) {
    (*node).drive(|raw| raw.advance_apply_to(index));
}

#[no_mangle]
pub unsafe extern "C" fn raft_read_index(node: *mut Node, context: types::Bytes) {
    (*node).raw.read_index(context.slice().to_vec());
}

#[no_mangle]
pub unsafe extern "C" fn raft_transfer(node: *mut Node, to: u64) {
    (*node).drive(|raw| raw.transfer_leader(to));
}

#[no_mangle]
pub unsafe extern "C" fn raft_campaign(node: *mut Node) {
    let node = &mut *node;
    // The library would let a member stand that is no voter, which may be the case before it has the membership.
    if !node.raw.raft.promotable() || node.must_write_before_it_stands() {
        return;
    }
    let _ = node.drive(|raw| raw.campaign());
    node.settle_timeout();
}

#[no_mangle]
pub unsafe extern "C" fn raft_report_unreachable(node: *mut Node, id: u64) {
    (*node).flow.lost(id);
    (*node).raw.report_unreachable(id);
}

#[no_mangle]
pub unsafe extern "C" fn raft_report_snapshot_failed(node: *mut Node, id: u64) {
    (*node).raw.report_snapshot(id, SnapshotStatus::Failure);
}

#[no_mangle]
pub unsafe extern "C" fn raft_set_rank(node: *mut Node, rank: u32) {
    let node = &mut *node;
    node.rank = rank;
    node.timeout = 0; // drawn anew
    node.settle_timeout();
}

/// A leader ceases to be one, in its term, without a successor.
#[no_mangle]
pub unsafe extern "C" fn raft_resign(node: *mut Node) {
    let raft = &mut (*node).raw.raft;
    if raft.state == StateRole::Leader {
        let term = raft.term;
        raft.become_follower(term, 0);
        (*node).settle_timeout();
    }
}

#[no_mangle]
pub unsafe extern "C" fn raft_has_ready(node: *mut Node) -> bool {
    (*node).raw.has_ready()
}

/// Returns the ready's number, for raft_persisted. Nothing else is called on the node from within the sink.
#[no_mangle]
pub unsafe extern "C" fn raft_ready(node: *mut Node, sink: *const types::Sink) -> u64 {
    let (raw, sink) = (&mut (*node).raw, &*sink);
    let mut ready = raw.ready();
    let number = ready.number();
    let emit = |messages: Vec<Message>, after_persist: bool| {
        for message in messages {
            let last = message.entries.last().map_or(0, |entry| entry.index);
            let bytes = message.encode_to_vec();
            (sink.message)(sink.owner, message.to, message.msg_type as u32, last, after_persist, types::Bytes::of(&bytes));
        }
    };
    emit(ready.take_messages(), false);
    if let Some(state) = ready.hs() {
        let raw_state = types::HardState { term: state.term, vote: state.vote, commit: state.commit };
        (sink.hard_state)(sink.owner, &raw_state, ready.must_sync());
    }
    for entry in ready.entries() {
        with_entry(entry, |raw| (sink.append)(sink.owner, raw));
    }
    emit(ready.take_persisted_messages(), true);
    for state in ready.take_read_states() {
        (sink.read_state)(sink.owner, state.index, types::Bytes::of(&state.request_ctx));
    }
    for entry in ready.take_committed_entries() {
        with_entry(&entry, |raw| (sink.committed)(sink.owner, raw));
    }
    raw.advance_append_async(ready);
    number
}

/// This ready and all before it are on disk.
#[no_mangle]
pub unsafe extern "C" fn raft_persisted(node: *mut Node, number: u64) {
    (*node).drive(|raw| raw.on_persist_ready(number));
}

#[no_mangle]
pub unsafe extern "C" fn raft_status(node: *mut Node, out: *mut types::Status) {
    let raft = &(*node).raw.raft;
    *out = types::Status {
        term: raft.term,
        vote: raft.vote,
        commit: raft.raft_log.committed,
        applied: raft.raft_log.applied,
        leader: raft.leader_id,
        transferring_to: raft.lead_transferee.unwrap_or(0),
        last_index: raft.raft_log.last_index(),
        uncommitted_bytes: raft.uncommitted_size() as u64,
        role: match raft.state {
            StateRole::Follower => types::RAFT_FOLLOWER,
            StateRole::Candidate => types::RAFT_CANDIDATE,
            StateRole::Leader => types::RAFT_LEADER,
            StateRole::PreCandidate => types::RAFT_PRE_CANDIDATE,
        },
        committed_in_term: raft.commit_to_current_term(),
        conf_pending: raft.has_pending_conf() || !raft.prs().conf().to_conf_state().voters_outgoing.is_empty(),
    };
}

/// Tells a leader how far each member is; another node calls nothing.
#[no_mangle]
pub unsafe extern "C" fn raft_progress(
    node: *mut Node,
    owner: *mut c_void,
    each: extern "C" fn(owner: *mut c_void, progress: *const types::Progress),
) {
    let raft = &(*node).raw.raft;
    if raft.state != StateRole::Leader {
        return;
    }
    for (id, progress) in raft.prs().iter() {
        let line = (*node).flow.line(*id);
        let raw = types::Progress {
            id: *id,
            matched: progress.matched,
            next: progress.next_idx,
            recently_active: progress.recent_active,
            receiving_snapshot: progress.state == ProgressState::Snapshot,
            flight_bytes: line.map_or(0, |line| line.bytes),
            window_bytes: line.map_or(0, |line| line.window),
            resent_entries: line.map_or(0, |line| line.resent),
        };
        each(owner, &raw);
    }
}

/// Tells what a RAFT_MSG_SNAPSHOT describes. Nothing is called for another message or a damaged one.
#[no_mangle]
pub unsafe extern "C" fn raft_read_snapshot(
    bytes: types::Bytes,
    owner: *mut c_void,
    out: extern "C" fn(owner: *mut c_void, index: u64, term: u64, conf_index: u64, conf: *const types::ConfState),
) {
    let Ok(message) = Message::decode(bytes.slice()) else { return };
    let Some(snapshot) = message.snapshot else { return };
    let (Some(metadata), Ok(conf_index)) = (snapshot.metadata, <[u8; 8]>::try_from(&snapshot.data[..])) else { return };
    let Some(conf) = metadata.conf_state else { return };
    with_conf(&conf, |raw| out(owner, metadata.index, metadata.term, u64::from_le_bytes(conf_index), raw));
}

/// Takes away a message's entries beyond `index_max`, and the data of the others: an arbiter gets the result.
#[no_mangle]
pub unsafe extern "C" fn raft_strip_append(
    bytes: types::Bytes,
    index_max: u64,
    owner: *mut c_void,
    out: extern "C" fn(owner: *mut c_void, stripped: types::Bytes),
) {
    let Ok(mut message) = Message::decode(bytes.slice()) else { return };
    message.entries.retain(|entry| entry.index <= index_max);
    for entry in &mut message.entries {
        if entry.entry_type == 0 {
            entry.data.clear();
            entry.context.clear();
        }
    }
    out(owner, types::Bytes::of(&message.encode_to_vec()));
}
