// This file runs one update or delete statement; update, delete and findAndModify
// share it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "server/write/change.h"

namespace server {
class OperationContext;
}

namespace server::write {

// A Kept makes what an outcome keeps of a document. It runs before the document is changed: if it throws, nothing is changed.
using Kept = std::function<bson::Document(bson::DocumentView document)>;

struct UpdateStatement {
  Selection selection;     // `all` is the statement's multi
  bson::ValueView update;  // modifiers, a replacement or a pipeline
  bson::DocumentView array_filters;
  bool has_array_filters = false;
  bson::DocumentView constants;
  bool has_constants = false;
  bool upsert = false;
  bool upsert_supplied = false;        // an upsert inserts the constant `new`
  bool keep_empty_timestamps = false;  // a replacement's top-level Timestamp(0, 0) is stored as such; else it means "now"
  Kept keep_before, keep_after;        // empty: nothing
};

struct UpdateOutcome {
  int64_t matched = 0;
  int64_t modified = 0;
  std::optional<bson::Value> upserted_id;
  std::optional<bson::Document> before;
  std::optional<bson::Document> after;  // an upsert has one too
};

// Throws the errors of the statement's parts; documents changed before that stay changed.
UpdateOutcome run_update(OperationContext& op, std::string_view ns, const UpdateStatement& statement);
// Throws the errors of the statement's parts alone.
void check_update(OperationContext& op, std::string_view ns, const UpdateStatement& statement);
// Puts the document in the place of the one with this _id, or inserts it.
void put_document(OperationContext& op, std::string_view ns, std::string_view id, bson::DocumentView document);
// Returns the outcome of a retried command's current statement, which an earlier attempt executed. Throws
// IncompleteTransactionHistory.
UpdateOutcome executed_update(OperationContext& op);

struct DeleteOutcome {
  int64_t deleted = 0;
  std::optional<bson::Document> before;
};

DeleteOutcome run_delete(OperationContext& op, std::string_view ns, const Selection& selection,
                         const Kept& keep_before = nullptr);
// Removes the document with this _id. Returns whether there was one.
bool remove_document(OperationContext& op, std::string_view ns, std::string_view id);

}  // namespace server::write
