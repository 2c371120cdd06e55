// find's options are read and checked here, also for explain of a find.
#pragma once

#include "server/query/query.h"

namespace server {
class OperationContext;
struct Request;
}  // namespace server

namespace server::query {

struct FindRequest {
  Query query;
  int64_t batch_size = 101;  // the first batch's
  bool single_batch = false;
  bool tailable = false;
  bool await_data = false;
  bool no_timeout = false;
};

// Throws MongoDB's errors for a bad option or combination.
FindRequest parse_find(const OperationContext& op, const Request& request);

// Returns `let` with its expressions computed.
bson::Document constant_let(const OperationContext& op, bson::DocumentView let);
// Returns `hint`: a string, an object or nothing. Throws FailedToParse for other types.
bson::Value checked_hint(const bson::Element& hint);

}  // namespace server::query
