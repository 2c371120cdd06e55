#include "replication/entry.h"

#include "base/varint.h"
#include "bson/builder.h"
#include "bson/diff.h"
#include "bson/validate.h"

namespace replication {
namespace {

constexpr size_t uuid_bytes = 16;
constexpr uint8_t uuid_subtype = 4;
constexpr BytesView no_uuid("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", uuid_bytes);

base::Failure damaged(const char* what) {
  return {base::ErrorCode::data_corruption_detected, std::string("damaged entry in the oplog: ") + what};
}

// Returns {_id: …} of a document.
bson::Document id_of(bson::DocumentView document) {
  bson::Builder out;
  out.append("_id", static_cast<bson::ValueView>(document.find("_id")));
  return out.done();
}

constexpr size_t diff_around_bytes = 19;  // of {$v: 2, diff: …}

constexpr uint8_t session_flag = 0x80;
constexpr uint8_t behind_flag = 0x40;
constexpr uint8_t transaction_flag = 0x20;
constexpr uint8_t outline_flag = 0x10;
constexpr uint8_t flags = session_flag | behind_flag | transaction_flag | outline_flag;

void encode_session(const SessionWrite& session, Bytes& out) {
  base::check(session.session.size() == SessionWrite::id_bytes, "a session's id");
  out.append(session.session);
  base::append_varint(out, base::zigzag(session.txn_number));
  base::append_varint(out, base::zigzag(session.statement));
  base::append_varint(out, session.previous.ts);
  base::append_varint(out, base::zigzag(session.previous.term));
  out.push_back(static_cast<char>(session.image));
}

// Takes it off the front; nullopt where it is damaged.
std::optional<SessionWrite> take_session(BytesView& value) {
  SessionWrite session;
  if (value.size() < SessionWrite::id_bytes) return std::nullopt;
  session.session = value.substr(0, SessionWrite::id_bytes);
  value.remove_prefix(SessionWrite::id_bytes);
  const auto number = base::take_varint(value);
  const auto statement = number ? base::take_varint(value) : std::nullopt;
  const auto ts = statement ? base::take_varint(value) : std::nullopt;
  const auto term = ts ? base::take_varint(value) : std::nullopt;
  if (!term || value.empty() || static_cast<uint8_t>(value[0]) > 2) return std::nullopt;
  session.txn_number = base::unzigzag(*number);
  session.statement = static_cast<int32_t>(base::unzigzag(*statement));
  session.previous = {*ts, base::unzigzag(*term)};
  session.image = static_cast<SessionWrite::Image>(value[0]);
  value.remove_prefix(1);
  return session;
}

// Inserts and replacements name the document by its _id beside it.
bool names_its_document(const Entry& entry) {
  return entry.op == 'i' || entry.op == 'u';
}

}  // namespace

void encode(const Entry& entry, Bytes& out) {
  out.push_back(static_cast<char>(static_cast<uint8_t>(entry.form) | (entry.session ? session_flag : 0) |
                                  (entry.behind_first ? behind_flag : 0) | (entry.in_transaction ? transaction_flag : 0) |
                                  (entry.outline ? outline_flag : 0)));
  out.push_back(entry.op);
  base::append_le(out, entry.wall_ms);
  out.append(entry.uuid.size() == uuid_bytes ? entry.uuid : no_uuid);
  base::append_varint(out, static_cast<uint64_t>(entry.term));
  if (entry.behind_first) base::append_varint(out, entry.behind_first);
  if (entry.session) encode_session(*entry.session, out);
  base::append_varint(out, entry.ns.size());
  out.append(entry.ns);
  if (entry.outline) out.append(entry.outline->bytes());
  if (entry.form == Entry::Form::named) {
    base::append_varint(out, entry.collection);
    base::append_varint(out, static_cast<uint64_t>(entry.record));
    base::append_varint(out, entry.content_bytes);
  } else if (entry.form == Entry::Form::delta) {
    base::append_varint(out, entry.delta.base_behind);
    base::append_le(out, entry.delta.base_checksum);
    base::append_le(out, entry.delta.content_hash);
    out.append(entry.delta.base_id.bytes());
    out.append(entry.delta.instructions);
  } else {
    out.append(entry.o.bytes());
    if (entry.o2) out.append(entry.o2->bytes());
  }
}

namespace {

// Takes it off the front, all of it; nullopt where it is damaged.
std::optional<Entry::Delta> read_delta(BytesView value) {
  constexpr size_t hashes = sizeof(uint32_t) + sizeof(uint64_t);
  Entry::Delta delta;
  const auto behind = base::take_varint(value);
  if (!behind || *behind == 0 || value.size() < hashes) return std::nullopt;
  delta.base_behind = *behind;
  delta.base_checksum = base::load_le<uint32_t>(value.data());
  delta.content_hash = base::load_le<uint64_t>(value.data() + sizeof(uint32_t));
  value.remove_prefix(hashes);
  const auto id = bson::validate(value);
  if (!id.ok() || !id.value().find("_id").exists()) return std::nullopt;
  delta.base_id = id.value();
  delta.instructions = value.substr(delta.base_id.size());
  return delta;
}

base::Result<Entry> decode_as(BytesView value, Entry::Form one, Entry::Form other) {
  constexpr size_t fixed = 2 + 8 + uuid_bytes;
  if (value.size() < fixed) return damaged("too short");
  Entry entry;
  const auto form = static_cast<uint8_t>(value[0]) & ~flags;
  const bool in_session = static_cast<uint8_t>(value[0]) & session_flag;
  const bool is_behind = static_cast<uint8_t>(value[0]) & behind_flag;
  const bool has_outline = static_cast<uint8_t>(value[0]) & outline_flag;
  entry.form = static_cast<Entry::Form>(form);
  entry.in_transaction = static_cast<uint8_t>(value[0]) & transaction_flag;
  if (entry.form != one && entry.form != other) return damaged("unknown form");
  entry.op = value[1];
  entry.wall_ms = base::load_le<int64_t>(value.data() + 2);
  entry.uuid = value.substr(10, uuid_bytes);
  value.remove_prefix(fixed);
  const auto term = base::take_varint(value);
  if (!term) return damaged("term cut short");
  entry.term = static_cast<int64_t>(*term);
  if (is_behind) {
    const auto behind = base::take_varint(value);
    if (!behind || *behind == 0) return damaged("place in its transaction");
    entry.behind_first = *behind;
  }
  if (in_session && !(entry.session = take_session(value))) return damaged("session");
  if (entry.session && entry.in_transaction) entry.session->part = SessionWrite::Part::transaction_end;
  const auto ns_bytes = base::take_varint(value);
  if (!ns_bytes || *ns_bytes > value.size()) return damaged("name cut short");
  entry.ns = value.substr(0, *ns_bytes);
  value.remove_prefix(*ns_bytes);
  if (has_outline) {
    const auto outline = bson::validate(value);
    if (!outline.ok() || entry.op != 'u') return damaged("outline");
    entry.outline = outline.value();
    value.remove_prefix(entry.outline->size());
  }
  if (entry.form == Entry::Form::named) {
    const auto collection = base::take_varint(value);
    const auto record = collection ? base::take_varint(value) : std::nullopt;
    const auto bytes = record ? base::take_varint(value) : std::nullopt;
    if (!bytes || !value.empty()) return damaged("name of its content");
    entry.collection = static_cast<storage::CollectionId>(*collection);
    entry.record = static_cast<storage::RecordId>(*record);
    entry.content_bytes = *bytes;
    return entry;
  }
  if (entry.form == Entry::Form::delta) {
    const auto delta = read_delta(value);
    if (!delta || !names_its_document(entry)) return damaged("delta");
    entry.delta = *delta;
    return entry;
  }
  const bson::ValidateOptions options{.bytes_max = entry_document_bytes_max};
  const auto o = bson::validate(value, options);
  if (!o.ok()) return damaged("o is no document");
  entry.o = o.value();
  value.remove_prefix(entry.o.size());
  if (entry.outline && (!bson::diff::filled_bytes(*entry.outline, entry.o) || !value.empty())) return damaged("outline");
  if (value.empty()) return entry;
  const auto o2 = bson::validate(value, options);
  if (!o2.ok() || o2.value().size() != value.size()) return damaged("o2 is no document");
  entry.o2 = o2.value();
  return entry;
}

}  // namespace

base::Result<Entry> decode(BytesView value) {
  return decode_as(value, Entry::Form::named, Entry::Form::whole);
}
base::Result<Entry> decode_logged(BytesView value) {
  return decode_as(value, Entry::Form::whole, Entry::Form::delta);
}

Entry made_whole(const Entry& named, bson::DocumentView content) {
  Entry whole = named;
  whole.form = Entry::Form::whole;
  whole.o = content;
  return whole;
}

bson::Document diff_of(const Entry& entry) {
  const auto diff = bson::diff::filled(*entry.outline, entry.o);
  if (!diff.ok()) {
    throw base::OperationError(base::ErrorCode::data_corruption_detected,
                               "damaged entry in the oplog: " + diff.failure().message);
  }
  bson::Builder out;
  out.append("$v", 2).append("diff", diff.value());
  return out.done();
}

void append_operation(bson::Builder& out, const Entry& entry) {
  out.append("op", std::string_view(&entry.op, 1)).append("ns", entry.ns);
  if (entry.uuid != no_uuid) out.append("ui", bson::Binary{uuid_subtype, entry.uuid});
  if (entry.outline)
    out.append("o", diff_of(entry));
  else
    out.append("o", entry.o);
  if (entry.o2) {
    out.append("o2", *entry.o2);
  } else if (names_its_document(entry)) {
    out.append("o2", id_of(entry.o));
  }
}

bson::Document oplog_document(storage::Stamp stamp, const Entry& entry) {
  bson::Builder out;
  if (entry.session) out.append("lsid", lsid_document(entry.session->session)).append("txnNumber", entry.session->txn_number);
  append_operation(out, entry);
  if (entry.session) {
    out.append("stmtId", entry.session->statement);
    if (entry.session->image != SessionWrite::Image::none) {
      out.append("needsRetryImage", entry.session->image == SessionWrite::Image::before ? "preImage" : "postImage");
    }
  }
  out.append("ts", timestamp_of(stamp)).append("t", entry.term).append("v", int64_t{2}).append("wall", bson::Date{entry.wall_ms});
  if (entry.session) append_optime(out, "prevOpTime", entry.session->previous);
  return out.done();
}

void append_optime(bson::Builder& out, std::string_view name, const OpTime& optime) {
  auto object = out.object(name);
  object.append("ts", timestamp_of(optime.ts)).append("t", optime.term);
}

bson::Document lsid_document(BytesView session) {
  bson::Builder out;
  out.append("id", bson::Binary{uuid_subtype, session.substr(0, uuid_bytes)});
  out.append("uid", bson::Binary{0, session.substr(uuid_bytes)});
  return out.done();
}

uint64_t oplog_document_bytes(const Entry& entry) {
  // length, end; op, ns, o, ts, t, v, wall with their types and names
  uint64_t bytes = 5 + (4 + 6) + (4 + 5 + entry.ns.size()) + 3 + (4 + 8) + (3 + 8) + (3 + 8) + (6 + 8);
  if (entry.uuid != no_uuid) bytes += 4 + 5 + uuid_bytes;
  // lsid {id, uid}, txnNumber, stmtId, prevOpTime {ts, t}
  if (entry.session) bytes += (6 + 5 + (4 + 5 + uuid_bytes) + (5 + 5 + 32)) + (11 + 8) + (8 + 4) + (12 + 5 + (4 + 8) + (3 + 8));
  if (entry.session && entry.session->image != SessionWrite::Image::none) {
    bytes += 17 + 5 + (entry.session->image == SessionWrite::Image::before ? 8 : 9);
  }
  if (!entry.outline)
    bytes += entry.form == Entry::Form::named ? entry.content_bytes : entry.o.size();
  else if (entry.form == Entry::Form::named)  // as if all of the content were new
    bytes += diff_around_bytes + entry.outline->size() + entry.content_bytes;
  else
    bytes += diff_around_bytes + bson::diff::filled_bytes(*entry.outline, entry.o).value_or(0);
  if (entry.o2) {
    bytes += 4 + entry.o2->size();
  } else if (names_its_document(entry)) {
    // The _id of a document elsewhere isn't at hand: the usual ObjectId is assumed.
    bytes += 4 + (entry.form == Entry::Form::named ? 22 : id_of(entry.o).size());
  }
  return bytes;
}

Bytes entry_key(storage::Stamp stamp) {
  Bytes key;
  base::append_be64(key, stamp);
  return key;
}

storage::Stamp stamp_from_key(BytesView key) {
  return base::load_be64(key.data());
}

}  // namespace replication
