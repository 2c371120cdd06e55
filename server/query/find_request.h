// find's options are read and checked here, also for explain of a find.
#pragma once

#include <deque>

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

// Returns `let` with its expressions computed, which compare strings by the collation. Throws as check_let does.
bson::Document constant_let(const OperationContext& op, bson::DocumentView let, const bson::GivenCollation& collation = {});

// The variables of a command whose statements have collations of their own.
class StatementLets {
 public:
  StatementLets(const OperationContext& op, bson::DocumentView let);
  // Returns the variables as a statement with that collation has them. They live as long as this object.
  bson::DocumentView of(const bson::GivenCollation& collation);

 private:
  const OperationContext& op_;
  const bson::DocumentView let_;
  const bson::Document plain_;
  std::deque<bson::Document> collated_;
};

// Returns `hint`: a string, an object or nothing. Throws FailedToParse for other types.
bson::Value checked_hint(const bson::Element& hint);

}  // namespace server::query
