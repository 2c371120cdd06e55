// These functions insert a command's documents in as few transactions as possible.
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
  // The documents' places among the command's statements, if some statements were left out; empty: none was.
  std::vector<size_t> places;
};

// Creates the collection if it doesn't exist.
InsertOutcome insert_documents(OperationContext& op, std::string_view ns, const std::vector<bson::DocumentView>& documents,
                               const InsertOptions& options);

}  // namespace server::write
