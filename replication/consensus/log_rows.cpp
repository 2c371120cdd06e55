#include "replication/consensus/log_rows.h"

#include "base/hash.h"
#include "base/varint.h"

namespace replication::consensus {
namespace {

// value: | checksum, 8 | body … |      checksum = xxh3 of key and body
constexpr size_t checksum_bytes = 8;
constexpr uint64_t format_version = 1;

Bytes numbered(char kind, Index index) {
  Bytes key(1, kind);
  base::append_be64(key, index);
  return key;
}

uint64_t checksum(BytesView key, BytesView body) {
  return base::hash64(body, base::hash64(key));
}

Bytes sealed(BytesView key, BytesView body) {
  Bytes out;
  out.reserve(checksum_bytes + body.size());
  base::append_le(out, checksum(key, body));
  out.append(body);
  return out;
}

base::Failure damaged(const std::string& what) {
  return {base::ErrorCode::data_corruption_detected, "the raft log's " + what + " is damaged"};
}

std::optional<BytesView> opened(BytesView key, BytesView value) {
  if (value.size() < checksum_bytes) return std::nullopt;
  const BytesView body = value.substr(checksum_bytes);
  if (base::load_le<uint64_t>(value.data()) != checksum(key, body)) return std::nullopt;
  return body;
}

void append_ids(Bytes& out, const std::vector<MemberId>& ids) {
  base::append_varint(out, ids.size());
  for (MemberId id : ids) base::append_varint(out, id);
}

// Numbers off the front; `sound` is false from the first one that is not there.
struct Reader {
  BytesView in;
  bool sound = true;

  uint64_t number() {
    const std::optional<uint64_t> value = base::take_varint(in);
    sound = sound && value.has_value();
    return sound ? *value : 0;
  }
  std::vector<MemberId> ids() {
    std::vector<MemberId> out;
    for (uint64_t left = number(); left > 0 && sound; --left) out.push_back(number());
    return out;
  }
};

}  // namespace

Bytes meta_key() {
  return Bytes(1, '\0');
}
Bytes run_key(Index first) {
  return numbered('\1', first);
}
Bytes entry_key(Index index) {
  return numbered('\2', index);
}
Index index_of_key(BytesView key) {
  return key.size() == 9 ? base::load_be64(key.data() + 1) : 0;
}

Bytes encode_meta(const LogMeta& meta) {
  Bytes body;
  const Membership& members = meta.members;
  for (uint64_t number : {format_version, meta.hard.term, meta.hard.vote, meta.hard.commit, meta.compacted.index,
                          meta.compacted.term, meta.members_through, members.index, uint64_t{members.auto_leave}}) {
    base::append_varint(body, number);
  }
  for (const auto* ids : {&members.voters, &members.learners, &members.voters_outgoing, &members.learners_next})
    append_ids(body, *ids);
  return sealed(meta_key(), body);
}

base::Result<LogMeta> decode_meta(BytesView value) {
  const std::optional<BytesView> body = opened(meta_key(), value);
  if (!body) return damaged("state");
  Reader reader{*body};
  if (const uint64_t version = reader.number(); version != format_version) {
    return base::Failure{base::ErrorCode::unsupported_format, "the raft log has format version " + std::to_string(version)};
  }
  LogMeta meta;
  meta.hard.term = reader.number();
  meta.hard.vote = reader.number();
  meta.hard.commit = reader.number();
  meta.compacted.index = reader.number();
  meta.compacted.term = reader.number();
  meta.members_through = reader.number();
  meta.members.index = reader.number();
  meta.members.auto_leave = reader.number() != 0;
  meta.members.voters = reader.ids();
  meta.members.learners = reader.ids();
  meta.members.voters_outgoing = reader.ids();
  meta.members.learners_next = reader.ids();
  if (!reader.sound || !reader.in.empty()) return damaged("state");
  return meta;
}

Bytes encode_run(const TermRun& run) {
  Bytes body;
  base::append_varint(body, run.term);
  return sealed(run_key(run.first), body);
}

base::Result<TermRun> decode_run(BytesView key, BytesView value) {
  const Index first = index_of_key(key);
  const std::optional<BytesView> body = opened(key, value);
  Reader reader{body.value_or(BytesView())};
  const TermRun run{first, reader.number()};
  if (!body || !reader.sound) return damaged("term from " + std::to_string(first));
  return run;
}

// body: | term, varint | kind, 1 | context bytes, varint | context | data |
Bytes encode_entry(const LogEntry& entry) {
  Bytes out(checksum_bytes, '\0');
  out.reserve(entry.bytes() + checksum_bytes);
  base::append_varint(out, entry.term);
  out.push_back(static_cast<char>(entry.kind));
  base::append_varint(out, entry.context.size());
  out.append(entry.context);
  out.append(entry.data);
  base::store_le(out.data(), checksum(entry_key(entry.index), BytesView(out).substr(checksum_bytes)));
  return out;
}

base::Result<EntryPtr> decode_entry(BytesView key, BytesView value) {
  const Index index = index_of_key(key);
  const std::optional<BytesView> body = opened(key, value);
  if (!body) return damaged("entry " + std::to_string(index));
  Reader reader{*body};
  LogEntry entry{.index = index, .term = reader.number(), .kind = EntryKind::data, .data = {}, .context = {}};
  if (reader.in.empty()) return damaged("entry " + std::to_string(index));
  entry.kind = static_cast<EntryKind>(reader.in.front());
  reader.in.remove_prefix(1);
  const uint64_t context_bytes = reader.number();
  if (!reader.sound || entry.kind > EntryKind::members || context_bytes > reader.in.size())
    return damaged("entry " + std::to_string(index));
  entry.context = reader.in.substr(0, context_bytes);
  entry.data = reader.in.substr(context_bytes);
  return std::make_shared<const LogEntry>(std::move(entry));
}

}  // namespace replication::consensus
