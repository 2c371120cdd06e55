// Partial indexes have filters, and answer the queries whose filters imply them.
#pragma once

#include <memory>

#include "server/query/matcher.h"
#include "server/query/plan/access.h"
#include "storage/indexes/index.h"

namespace server::query::plan {

// A partial index's filter, in the form that the storage layer keeps.
class PartialPredicate : public storage::DocumentPredicate {
 public:
  explicit PartialPredicate(std::unique_ptr<Matcher> matcher) : matcher_(std::move(matcher)) {}
  bool matches(bson::DocumentView document) const override { return matcher_->matches(document); }
  const match::Node& root() const { return matcher_->root(); }

 private:
  const std::unique_ptr<Matcher> matcher_;
};

// This is for storage::Catalog::set_predicate_compiler. Throws CannotCreateIndex for a filter that an index can't have.
std::shared_ptr<const storage::DocumentPredicate> compile_partial_filter(bson::DocumentView filter,
                                                                         const bson::CollatorPtr& collator);

// Returns whether every document that fulfils all of `facts` is in the partial index.
bool implies_partial(const Predicates& facts, const storage::Index& index, Allowance& allowance);
bool implies(const Predicates& facts, const match::Node& goal, Allowance& allowance);

}  // namespace server::query::plan
