// find's options, read and checked; explain of a find reads the same.
#pragma once

#include "server/query/query.h"

namespace server {
struct Request;
}

namespace server::query {

struct FindRequest {
  Query query;
  int64_t batch_size = 101;  // of the first batch
  bool single_batch = false;
  bool tailable = false;
  bool await_data = false;
  bool no_timeout = false;
};

// Throws what MongoDB answers for a bad option or combination.
FindRequest parse_find(const OperationContext& op, const Request& request);

// `let` with its expressions computed.
bson::Document constant_let(const OperationContext& op, bson::DocumentView let);
// `hint`: a string, an object or nothing. Throws FailedToParse for others.
bson::Value checked_hint(const bson::Element& hint);

}  // namespace server::query
