// A bulkWrite is read and checked as a whole before anything is written.
//
//   {bulkWrite: 1, nsInfo: [{ns: "shop.orders"}, {ns: "shop@dev.items"}],
//    ops: [{insert: 0, document: {…}}, {update: 1, filter: {…}, updateMods: {…}}, {delete: 0, filter: {…}}]}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "server/core/command.h"
#include "server/query/find_request.h"
#include "server/write/statements.h"

namespace server {

struct BulkWriteRequest {
  struct Namespace {
    std::string ns;
    bson::Element collection_uuid;  // missing: any will do
  };
  enum class Kind { insert, update, remove };
  struct Op {
    Kind kind;
    bson::DocumentView given;       // the whole operation
    size_t ns = 0;                  // an index into `namespaces`
    bson::DocumentView document;    // insert
    write::UpdateStatement update;  // update
    write::Selection selection;     // delete
  };

  std::vector<Namespace> namespaces;
  std::vector<Op> ops;
  std::vector<int32_t> statement_ids;        // one for each operation
  std::optional<query::StatementLets> lets;  // the statements borrow them
  bool ordered = true;
  bool errors_only = false;
  bool keep_empty_timestamps = false;

  BulkWriteRequest() = default;
  BulkWriteRequest(const BulkWriteRequest&) = delete;  // because its statements point into it
  BulkWriteRequest& operator=(const BulkWriteRequest&) = delete;

  // Reads the request, which must outlive this. Throws TypeMismatch (14), 40414 and 40415 for fields, InvalidLength (16) for too
  // few or too many operations or ids, InvalidNamespace (73), BadValue (2) for an operation on a namespace that isn't listed,
  // InvalidOptions (72).
  void read(const OperationContext& op, const Request& request);
};

}  // namespace server
