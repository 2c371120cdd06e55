// Partial indexes: which filters they may have, and which queries they answer.
#pragma once

#include <memory>

#include "server/query/matcher.h"
#include "server/query/plan/access.h"
#include "storage/indexes/index.h"

namespace server::query::plan {

// A partial index's filter, as the storage layer keeps it.
class PartialPredicate : public storage::DocumentPredicate {
 public:
  explicit PartialPredicate(std::unique_ptr<Matcher> matcher) : matcher_(std::move(matcher)) {}
  bool matches(bson::DocumentView document) const override { return matcher_->matches(document); }
  const match::Node& root() const { return matcher_->root(); }

 private:
  const std::unique_ptr<Matcher> matcher_;
};

// For storage::Catalog::set_predicate_compiler. Throws CannotCreateIndex for what
// is no filter for an index.
std::shared_ptr<const storage::DocumentPredicate> compile_partial_filter(bson::DocumentView filter);

// Every document that fulfils all of `facts` is in the partial index.
bool implies_partial(const Predicates& facts, const storage::Index& index);
bool implies(const Predicates& facts, const match::Node& goal);

}  // namespace server::query::plan
