// A client's transaction has a row in the oplog for each of its writes; readers of local.oplog.rs see it as one entry, or, above
// 16 MB, as a chain of entries. Each entry stands under the timestamp of its last write:
//
//   rows      5  6  7  8  9                         of one transaction
//   entries   {ts: 7, o: {applyOps: [5, 6, 7], partialTxn: true}}   {ts: 9, o: {applyOps: [8, 9], count: 5}, prevOpTime: {ts: 7}}
#pragma once

#include <functional>
#include <vector>

#include "replication/entry.h"
#include "storage/engine/table.h"

namespace replication {

// A LoggedPart is the rows of one entry of the chain.
struct LoggedPart {
  storage::Stamp first = 0, last = 0;
  uint64_t operations = 0;  // of this part and those before it
};

// Returns the parts of the transaction whose first row has this timestamp; empty: the log was cut, and doesn't have all of it.
std::vector<LoggedPart> parts_of_transaction(storage::TableCursor rows, storage::Stamp first);

// Returns the entry of `parts[at]`. `whole` returns a row's entry with its content; nullopt: the collection is gone, and the
// operation is left out.
using WholeEntry = std::function<std::optional<Entry>(storage::Stamp stamp, const Entry& entry, Bytes& content)>;
bson::Document transaction_document(storage::TableCursor rows, const std::vector<LoggedPart>& parts, size_t at,
                                    const WholeEntry& whole);

}  // namespace replication
