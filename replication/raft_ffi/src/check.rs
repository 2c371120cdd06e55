//! These functions check a message before the library sees it, which panics on messages that no sound peer sends.
use raft::eraftpb::{Message, MessageType};
use raft::RawNode;

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

fn sound(message: &Message) -> bool {
    let kind = match MessageType::from_i32(message.msg_type) {
        Some(kind) if may_come_from_a_peer(kind) => kind,
        _ => return false,
    };
    // Messages without a term are for the member itself, but for this one.
    if message.term == 0 && kind != MessageType::MsgReadIndex {
        return false;
    }
    if message.index > u64::MAX / 2 || message.commit > u64::MAX / 2 {
        return false;
    }
    match kind {
        MessageType::MsgAppend => {
            let (mut index, mut term) = (message.index, message.log_term);
            for entry in &message.entries {
                if entry.index != index + 1 || entry.term < term || entry.term > message.term || !(0..=2).contains(&entry.entry_type) {
                    return false;
                }
                index = entry.index;
                term = entry.term;
            }
            true
        }
        MessageType::MsgReadIndex | MessageType::MsgReadIndexResp => message.entries.len() == 1,
        _ => message.entries.is_empty(),
    }
}

/// If this member's log can't take a sound message, returns the reason and the place that it concerns.
fn fits(node: &RawNode<Store>, message: &Message) -> (i32, u64, u64) {
    let log = &node.raft.raft_log;
    let current = message.term >= node.raft.term;
    match message.msg_type() {
        MessageType::MsgAppend if current && message.index >= log.committed => {
            // A conflict below the commit index: two leaders would have committed different entries.
            let conflict = message.entries.iter().find(|entry| entry.index <= log.committed && !log.match_term(entry.index, entry.term));
            match conflict {
                Some(entry) => (RAFT_LOST_LOG, entry.index, entry.term),
                None => (RAFT_OK, 0, 0),
            }
        }
        MessageType::MsgHeartbeat if current && message.commit > log.last_index() => (RAFT_LOST_LOG, message.commit, message.term),
        MessageType::MsgSnapshot => match message.snapshot.as_ref().and_then(|snapshot| snapshot.metadata.as_ref()) {
            None => (RAFT_BAD_MESSAGE, 0, 0),
            Some(metadata) if metadata.index < log.committed || log.match_term(metadata.index, metadata.term) => (RAFT_OK, 0, 0),
            Some(metadata) => (RAFT_BEHIND, metadata.index, metadata.term),
        },
        _ => (RAFT_OK, 0, 0),
    }
}

pub fn check(node: &RawNode<Store>, from: u64, message: &Message) -> (i32, u64, u64) {
    if message.from != from || message.to != node.raft.id || !sound(message) {
        return (RAFT_BAD_MESSAGE, 0, 0);
    }
    fits(node, message)
}
