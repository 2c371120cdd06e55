// Inserting documents: a command's batch in as few transactions as it takes.
#pragma once

#include <string_view>
#include <vector>

#include "bson/document.h"
#include "server/write/write_errors.h"

namespace server {
class OperationContext;
}

namespace server::write {

struct InsertOutcome {
  int64_t inserted = 0;
  WriteErrors errors;
};

struct InsertOptions {
  bool ordered = true;                 // stop at the first document that can't be inserted
  bool keep_empty_timestamps = false;  // a top-level Timestamp(0, 0) is stored as such; else it means "now"
  // Of the documents among the command's statements, where some were left out; empty: none was.
  std::vector<size_t> places;
};

// Makes the collection where it isn't there.
InsertOutcome insert_documents(OperationContext& op, std::string_view ns, const std::vector<bson::DocumentView>& documents,
                               const InsertOptions& options);

}  // namespace server::write
