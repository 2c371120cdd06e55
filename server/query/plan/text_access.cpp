#include "server/query/plan/text_access.h"

#include <algorithm>

#include "base/error.h"
#include "bson/builder.h"
#include "server/query/match/comparison.h"
#include "server/query/match/text.h"
#include "server/query/plan/implies.h"
#include "storage/indexes/text_index.h"

namespace server::query::plan {
namespace {

// Returns the predicate that says which value the field has; nullptr: there is none.
const match::Comparison* equality_on(const std::string& path, const Predicates& predicates) {
  for (const match::Node* node : predicates) {
    if (node->kind() != match::Kind::eq) continue;
    const auto* equality = static_cast<const match::Comparison*>(node);
    if (equality->path() != path) continue;
    if (equality->collator() && bson::is_collatable(equality->value().type())) continue;  // the index compares bytes
    return equality;
  }
  return nullptr;
}

}  // namespace

void refuse_text_plan(const storage::Collection& collection) {
  throw base::OperationError(
      base::ErrorCode::no_query_execution_plans,
      "error processing query: ns=" + collection.ns() +
          ": planner returned error :: caused by :: failed to use text index to satisfy $text query (if text "
          "index is compound, are equality predicates given for all prefix fields?)");
}

const match::Text* text_among(const Predicates& predicates) {
  for (const match::Node* node : predicates) {
    if (node->kind() == match::Kind::text) return static_cast<const match::Text*>(node);
  }
  return nullptr;
}

Access text_access(const storage::Collection& collection, const match::Text& text, const Predicates& predicates,
                   Allowance& allowance) {
  const storage::IndexSpec& spec = text.index()->spec();
  if (spec.hidden || (!spec.partial_filter.empty() && !implies_partial(predicates, *text.index(), allowance)))
    refuse_text_plan(collection);
  Access access;
  access.kind = Access::Kind::text;
  access.direction = storage::Direction::backward;
  access.index = text.index();
  access.text = &text;
  access.residual = predicates;
  std::erase(access.residual, &text);
  std::vector<bson::Value> before;
  bson::Builder prefix;
  for (size_t i = 0; i < spec.text->before; ++i) {
    const std::string& path = spec.fields[i].path;
    const match::Comparison* equality = equality_on(path, predicates);
    if (!equality) refuse_text_plan(collection);
    before.emplace_back(equality->value());
    prefix.append(path, equality->value());
    std::erase(access.residual, equality);
  }
  access.text_prefix = prefix.done();
  for (const std::string& term : text.search().index_terms) {
    bson::Bytes beginning = storage::text_key_beginning(spec, before, term);
    text.keep(3 * (sizeof(bson::Bytes) + beginning.size()));
    access.ranges.push_back({beginning, beginning + bson::Bytes(1, '\xff')});
    access.terms.push_back(std::move(beginning));
  }
  return access;
}

}  // namespace server::query::plan
