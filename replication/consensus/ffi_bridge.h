// These functions convert between raft_ffi.h's structures and ours. Only raft_core's own files use them.
#pragma once

#include "replication/consensus/log_store.h"
#include "replication/raft_ffi/raft_ffi.h"

namespace replication::consensus {

inline RaftBytes raw(BytesView bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}
inline BytesView view(RaftBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

EntryPtr entry_of(const RaftEntry& raw);
Membership members_of(const RaftConfState& raw, Index index);

// Reads go to the store; a row that can't be read ends the process, after a line that names it.
RaftStorage storage_of(LogStore& store);

}  // namespace replication::consensus
