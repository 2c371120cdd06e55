#include "replication/logged_transactions.h"

#include "bson/builder.h"

namespace replication {

using storage::Stamp;
using storage::TableCursor;

namespace {

constexpr uint64_t part_bytes_max = 16 << 20;

// Calls `visit` with each row from `first` on, while it is of that transaction and `visit` returns true.
template <class Visit>
void each_row(TableCursor& rows, Stamp from, Stamp first, const Visit& visit) {
  for (bool on = rows.seek(entry_key(from)); on; on = rows.next()) {
    const Stamp stamp = stamp_from_key(rows.key());
    const Entry entry = decode(rows.value()).or_throw();
    if (!entry.in_transaction || stamp - entry.behind_first != first || !visit(stamp, entry)) return;
  }
}

}  // namespace

std::vector<LoggedPart> parts_of_transaction(TableCursor rows, Stamp first) {
  std::vector<LoggedPart> parts;
  uint64_t bytes = 0, operations = 0;
  bool ended = false;
  each_row(rows, first, first, [&](Stamp stamp, const Entry& entry) {
    if (parts.empty() && stamp != first) return false;
    const uint64_t more = oplog_document_bytes(entry);
    if (parts.empty() || bytes + more > part_bytes_max) {
      parts.push_back({stamp, stamp, 0});
      bytes = 0;
    }
    bytes += more;
    parts.back().last = stamp;
    parts.back().operations = ++operations;
    ended = entry.session.has_value();
    return !ended;
  });
  if (!ended) parts.clear();
  return parts;
}

bson::Document transaction_document(TableCursor rows, const std::vector<LoggedPart>& parts, size_t at, const WholeEntry& whole) {
  // The last row of all has the session.
  base::check(rows.seek(entry_key(parts.back().last)), "the end of a transaction is in the log");
  const Bytes end_row(rows.value());
  const Entry end = decode(end_row).or_throw();
  const LoggedPart& part = parts[at];
  const bool last = at + 1 == parts.size();
  bson::Builder out;
  out.append("lsid", lsid_document(end.session->session)).append("txnNumber", end.session->txn_number);
  out.append("op", "c").append("ns", "admin.$cmd");
  {
    auto command = out.object("o");
    {
      auto operations = command.array("applyOps");
      Bytes content;
      each_row(rows, part.first, parts.front().first, [&](Stamp stamp, const Entry& entry) {
        if (const auto full = whole(stamp, entry, content)) {
          auto operation = operations.object();
          append_operation(operation, *full);
        }
        return stamp != part.last;
      });
    }
    if (!last) command.append("partialTxn", true);
    if (last && at > 0) command.append("count", static_cast<int64_t>(part.operations));
  }
  out.append("ts", timestamp_of(part.last)).append("t", end.term).append("v", int64_t{2}).append("wall", bson::Date{end.wall_ms});
  append_optime(out, "prevOpTime", at == 0 ? no_optime : OpTime{parts[at - 1].last, end.term});
  return out.done();
}

}  // namespace replication
