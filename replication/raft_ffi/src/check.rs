//! These functions check a message before the library sees it, which panics on messages that no sound peer sends.
use raft::eraftpb::{ConfChangeTransition, ConfChangeType, ConfChangeV2, ConfState, Message, MessageType, SnapshotMetadata};
use raft::{RawNode, StateRole};

use crate::storage::Store;
use crate::types::{RAFT_BAD_MESSAGE, RAFT_BEHIND, RAFT_LOST_LOG, RAFT_OK};

fn may_come_from_a_peer(kind: MessageType) -> bool {
    use MessageType::*;
    matches!(
        kind,
        MsgAppend | MsgAppendResponse | MsgRequestVote | MsgRequestVoteResponse | MsgSnapshot | MsgHeartbeat
            | MsgHeartbeatResponse | MsgTimeoutNow | MsgReadIndex | MsgReadIndexResp
            | MsgRequestPreVote | MsgRequestPreVoteResponse
    )
}

/// Numbers beyond are no sound peer's, and one more than such a number still is one.
const NUMBER_MAX: u64 = u64::MAX / 2;

fn sound(message: &Message) -> bool {
    let kind = match MessageType::from_i32(message.msg_type) {
        Some(kind) if may_come_from_a_peer(kind) => kind,
        _ => return false,
    };
    // Messages without a term are for the member itself, but for this one, which the library sends on without a term.
    if (message.term == 0) != (kind == MessageType::MsgReadIndex) {
        return false;
    }
    if [message.term, message.index, message.commit, message.reject_hint].iter().any(|number| *number > NUMBER_MAX) {
        return false;
    }
    // No member asks for a snapshot: it is told that it is behind.
    if message.request_snapshot != 0 {
        return false;
    }
    match kind {
        MessageType::MsgAppend => {
            let (mut index, mut term) = (message.index, message.log_term.max(1));
            for entry in &message.entries {
                if entry.index != index + 1 || entry.term < term || entry.term > message.term || !(0..=2).contains(&entry.entry_type) {
                    return false;
                }
                index = entry.index;
                term = entry.term;
            }
            true
        }
        MessageType::MsgSnapshot => message.entries.is_empty() && sound_snapshot(message),
        MessageType::MsgReadIndex | MessageType::MsgReadIndexResp => message.entries.len() == 1,
        _ => message.entries.is_empty(),
    }
}

/// `raft_read_snapshot` reads what this takes for sound.
fn sound_snapshot(message: &Message) -> bool {
    let Some(snapshot) = message.snapshot.as_ref() else { return false };
    let Some(metadata) = snapshot.metadata.as_ref() else { return false };
    let place = (1..=NUMBER_MAX).contains(&metadata.index) && metadata.term <= message.term;
    place && metadata.conf_state.as_ref().map_or(false, sound_members) && snapshot.data.len() == 8
}

/// A log that begins with other members than these can't be opened.
fn sound_members(members: &ConfState) -> bool {
    let distinct = |ids: &[u64]| ids.iter().enumerate().all(|(at, id)| *id != 0 && !ids[..at].contains(id));
    let joint = !members.voters_outgoing.is_empty();
    !members.voters.is_empty()
        && distinct(&members.voters_outgoing)
        && distinct(&[&members.voters[..], &members.learners, &members.learners_next].concat())
        && !members.learners.iter().any(|id| members.voters_outgoing.contains(id))
        && members.learners_next.iter().all(|id| members.voters_outgoing.contains(id))
        && (joint || !members.auto_leave)
}

/// The library panics on kinds that it doesn't know.
pub fn sound_change(change: &ConfChangeV2) -> bool {
    ConfChangeTransition::from_i32(change.transition).is_some()
        && change.changes.iter().all(|single| ConfChangeType::from_i32(single.change_type).is_some())
}

/// Returns whether the message answers what this member can't have sent.
fn unasked(node: &RawNode<Store>, message: &Message) -> bool {
    let raft = &node.raft;
    if message.term != raft.term {
        return false;
    }
    match message.msg_type() {
        MessageType::MsgAppendResponse if !message.reject => {
            raft.state == StateRole::Leader && message.index > raft.raft_log.last_index()
        }
        // A member asks for votes once its log is on disk, and the library panics where a new leader's isn't.
        MessageType::MsgRequestVoteResponse => raft.state == StateRole::Candidate && !log_is_on_disk(node),
        _ => false,
    }
}

pub fn log_is_on_disk(node: &RawNode<Store>) -> bool {
    node.raft.raft_log.persisted == node.raft.raft_log.last_index()
}

/// If this member's log can't take a sound message, returns the reason and the place that it concerns.
fn fits(node: &RawNode<Store>, message: &Message) -> (i32, u64, u64) {
    let log = &node.raft.raft_log;
    // The library takes the term of what isn't in the log to be 0, which is that of the place where a set's first log begins.
    let has = |place: &SnapshotMetadata| place.index <= log.last_index() && log.match_term(place.index, place.term);
    match message.msg_type() {
        MessageType::MsgAppend if message.log_term == 0 && message.index > log.last_index() => (RAFT_BAD_MESSAGE, 0, 0),
        // The library panics where it says no to somebody who asks a member of no term for a vote.
        MessageType::MsgRequestPreVote if node.raft.term == 0 => {
            let granted = log.is_up_to_date(message.index, message.log_term) && message.priority >= 0;
            (if granted { RAFT_OK } else { RAFT_BAD_MESSAGE }, 0, 0)
        }
        MessageType::MsgHeartbeat if message.term >= node.raft.term && message.commit > log.last_index() => (RAFT_LOST_LOG, message.commit, message.term),
        MessageType::MsgSnapshot => match message.snapshot.as_ref().and_then(|snapshot| snapshot.metadata.as_ref()) {
            None => (RAFT_BAD_MESSAGE, 0, 0),
            Some(metadata) if metadata.index < log.committed || has(metadata) => (RAFT_OK, 0, 0),
            Some(metadata) => (RAFT_BEHIND, metadata.index, metadata.term),
        },
        _ => (RAFT_OK, 0, 0),
    }
}

pub fn check(node: &RawNode<Store>, from: u64, message: &Message) -> (i32, u64, u64) {
    if message.from != from || message.to != node.raft.id || !sound(message) || unasked(node, message) {
        return (RAFT_BAD_MESSAGE, 0, 0);
    }
    fits(node, message)
}
