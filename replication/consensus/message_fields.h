// Tests make the library's messages field by field, as protobuf has them: a number is a key and a varint, bytes are a key, a
// length and the bytes.
#pragma once

#include "base/varint.h"
#include "replication/consensus/types.h"

namespace replication::consensus {

// These are the library's numbers (eraftpb.proto).
enum class MessageKind : uint64_t {
  append = 3,
  append_response = 4,
  vote = 5,
  vote_response = 6,
  snapshot = 7,
  heartbeat = 8,
  heartbeat_response = 9,
  timeout_now = 14,
  read_index = 15,
  read_index_response = 16,
  pre_vote = 17,
  pre_vote_response = 18
};

namespace field {
// A message has these fields.
inline constexpr unsigned kind = 1, to = 2, from = 3, term = 4, log_term = 5, index = 6, entries = 7, commit = 8, snapshot = 9,
                          reject = 10, reject_hint = 11, context = 12, request_snapshot = 13, commit_term = 15;
// An entry has these fields.
inline constexpr unsigned entry_kind = 1, entry_term = 2, entry_index = 3, entry_data = 4;
// A snapshot, its metadata and the members in these have these fields.
inline constexpr unsigned snapshot_data = 1, metadata = 2, conf_state = 1, snapshot_index = 2, snapshot_term = 3, voters = 1;
// A membership change and each single change in it have these fields.
inline constexpr unsigned transition = 1, changes = 2, change_kind = 1, change_member = 2;
}  // namespace field

class MessageFields {
 public:
  MessageFields() = default;
  explicit MessageFields(MessageKind kind) { number(field::kind, static_cast<uint64_t>(kind)); }

  MessageFields& number(unsigned field, uint64_t value) {
    base::append_varint(out_, field << 3);
    base::append_varint(out_, value);
    return *this;
  }
  MessageFields& part(unsigned field, BytesView bytes) {
    base::append_varint(out_, field << 3 | 2);
    base::append_varint(out_, bytes.size());
    out_.append(bytes);
    return *this;
  }
  const Bytes& bytes() const { return out_; }

 private:
  Bytes out_;
};

inline Bytes entry_fields(Index index, Term term, EntryKind kind = EntryKind::data, BytesView data = "data") {
  return MessageFields()
      .number(field::entry_kind, static_cast<uint64_t>(kind))
      .number(field::entry_term, term)
      .number(field::entry_index, index)
      .part(field::entry_data, data)
      .bytes();
}

inline Bytes snapshot_fields(Position at, const std::vector<MemberId>& voters) {
  MessageFields members, metadata;
  for (const MemberId voter : voters) members.number(field::voters, voter);
  metadata.part(field::conf_state, members.bytes());
  metadata.number(field::snapshot_index, at.index).number(field::snapshot_term, at.term);
  const Bytes members_at(sizeof(Index), '\1');
  return MessageFields().part(field::snapshot_data, members_at).part(field::metadata, metadata.bytes()).bytes();
}

inline Bytes change_fields(const std::vector<MemberChange>& changes) {
  MessageFields all;
  for (const auto& [kind, member] : changes) {
    MessageFields one;
    one.number(field::change_kind, static_cast<uint64_t>(kind)).number(field::change_member, member);
    all.part(field::changes, one.bytes());
  }
  return all.bytes();
}

}  // namespace replication::consensus
