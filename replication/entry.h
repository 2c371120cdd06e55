// One entry of the log, as it is stored and as it is read.
//
// A document that was inserted, or replaced another, stands in its collection
// already. Its entry doesn't repeat it but names it: the collection, the record,
// and the generation, which is the entry's own timestamp. Only when that content
// is about to be superseded does the entry take it in.
//
//   key    timestamp (8, BE)
//   value  | form | op | wall ms, 8 | uuid, 16 | term | session | ns: length, text | body |
//          form 1, named  body = collection, record, bytes of the content       (varints)
//          form 2, whole  body = o, then o2 where there is one                  (BSON)
//          form 3, delta  in the set's log alone: instead of o, what makes it of another content
//          form + 16:  an update by operators, taken whole; the outline of its diff (bson/diff.h) stands before the body
//          form + 32:  a part of a client's transaction of several statements; the last part has the session
//          form + 64:  not the first of its transaction; how far its timestamp lies behind that (varint) is before `session`
//          form + 128: a retryable write, with `session`; without the flag there is none
//
// Read it is MongoDB's: {lsid, txnNumber, op, ns, ui, o, o2, stmtId, ts, t, v, wall, prevOpTime}. The entries of a client's
// transaction are read as one: {lsid, txnNumber, op: "c", ns: "admin.$cmd", o: {applyOps: […]}, ts, t, v, wall, prevOpTime}.
#pragma once

#include <optional>

#include "base/result.h"
#include "bson/builder.h"
#include "replication/optime.h"

namespace replication {

using base::Bytes;
using base::BytesView;

// A SessionWrite names the statement and the session of a write, so that the write is not run a second time.
struct SessionWrite {
  static constexpr size_t id_bytes = 16 + 32;  // lsid: the UUID, then the user's digest
  // findAndModify answered with this content; it is kept for the answer to a retry.
  enum class Image : uint8_t { none = 0, before = 1, after = 2 };
  // A retryable statement stands alone; the writes of a client's transaction belong together, and its last one ends it.
  enum class Part : uint8_t { statement, transaction, transaction_end };

  BytesView session;  // id_bytes of them
  int64_t txn_number = 0;
  int32_t statement = 0;
  OpTime previous = no_optime;  // of the same session and number
  Image image = Image::none;
  Part part = Part::statement;
};

// `o` and `o2` of an entry have at most so many bytes each: a little over a document's limit, since an update's diff wraps what
// it carries.
inline constexpr size_t entry_document_bytes_max = 2 * bson::document_bytes_max_internal;

struct Entry {
  // delta: only in the set's log, where the content travels as what makes it of an earlier one (log-record.md).
  enum class Form : uint8_t { named = 1, whole = 2, delta = 3 };
  struct Delta {
    uint64_t base_behind = 0;    // how far the base's timestamp, its own entry's, lies behind this entry's
    uint32_t base_checksum = 0;  // base::checksum32 of its content
    uint64_t content_hash = 0;   // base::hash64 of what comes out
    bson::DocumentView base_id;  // {_id} of the base, a document of the same collection
    BytesView instructions;      // dedup/delta.h
  };

  Form form = Form::whole;
  char op = 'n';  // i, u, d, c, n
  int64_t wall_ms = 0;
  BytesView uuid;  // 16 bytes; zeros: none
  int64_t term = 1;
  // The entry is so far behind its transaction's first timestamp: entries with the same timestamp - behind_first are of one
  // transaction.
  uint64_t behind_first = 0;
  bool in_transaction = false;  // of a client's transaction
  std::optional<SessionWrite> session;
  std::string_view ns;
  // An update by operators whose content is named, whole or a delta: with the content it gives the diff that readers see.
  std::optional<bson::DocumentView> outline;
  // named
  storage::CollectionId collection = 0;
  storage::RecordId record = 0;
  uint64_t content_bytes = 0;
  // whole
  bson::DocumentView o;
  std::optional<bson::DocumentView> o2;
  Delta delta;
};

// Appends to `out`.
void encode(const Entry& entry, Bytes& out);
// Views into `value`. Fails with DataCorruptionDetected.
base::Result<Entry> decode(BytesView value);         // of a row of the oplog: never a delta
base::Result<Entry> decode_logged(BytesView value);  // of a record of the set's log: never named

// The entry with its content taken in.
Entry made_whole(const Entry& named, bson::DocumentView content);

// {$v: 2, diff: …} of an update that has an outline, and is whole. Throws DataCorruptionDetected.
bson::Document diff_of(const Entry& entry);
// The entry as MongoDB shows it; `entry` is whole.
bson::Document oplog_document(storage::Stamp stamp, const Entry& entry);
// Appends the entry, which is whole, as one of the operations in a client's transaction: {op, ns, ui, o, o2}.
void append_operation(bson::Builder& out, const Entry& entry);
// Returns how many bytes that takes, without building it; of a named entry too.
uint64_t oplog_document_bytes(const Entry& entry);

// name: {ts: Timestamp, t: NumberLong}
void append_optime(bson::Builder& out, std::string_view name, const OpTime& optime);

// {id: UUID, uid: BinData} of SessionWrite::session.
bson::Document lsid_document(BytesView session);

Bytes entry_key(storage::Stamp stamp);
storage::Stamp stamp_from_key(BytesView key);

}  // namespace replication
