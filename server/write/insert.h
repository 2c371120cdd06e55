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

// Makes the collection where it isn't there. `ordered` stops at the first document that can't be inserted.
// `places`: of the documents among the command's statements, where some were left out; empty: none was.
InsertOutcome insert_documents(OperationContext& op, std::string_view ns, const std::vector<bson::DocumentView>& documents, bool ordered,
                               const std::vector<size_t>& places = {});

}  // namespace server::write
