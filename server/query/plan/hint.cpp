#include "server/query/plan/hint.h"

#include "base/error.h"
#include "bson/compare.h"
#include "bson/keystring.h"
#include "server/core/text.h"
#include "server/query/plan/locations.h"

namespace server::query::plan {

namespace {

using base::ErrorCode;
using base::OperationError;

using IndexPtr = std::shared_ptr<const storage::Index>;

bool is_natural(const bson::ValueView& value) {
  return value.is_object() && value.as_document().first().name == "$natural";
}

storage::Direction direction_of(const bson::Element& natural) {
  if (!natural.is_number() || (natural.to_double() != 1 && natural.to_double() != -1)) {
    throw OperationError(ErrorCode::bad_value, "$natural sort cannot be set to a value other than -1 or 1.");
  }
  return natural.to_double() > 0 ? storage::Direction::forward : storage::Direction::backward;
}

[[noreturn]] void refuse(const storage::Collection& collection, ErrorCode code, const std::string& why) {
  throw OperationError(code, "error processing query: ns=" + collection.ns() + ": planner returned error :: caused by :: " + why);
}

std::string shown(const storage::IndexSpec& spec) {
  return "kp: " + show(spec.key.view()) + " name: '" + spec.name + "'";
}

IndexPtr find_hinted(const storage::Collection& collection, const bson::ValueView& hint) {
  IndexPtr found;
  for (const auto& index : collection.indexes()) {
    if (!index->ready() || index->spec().hidden) continue;
    const bool named = hint.is_string() ? index->spec().name == hint.as_string()
                                        : bson::compare(index->spec().key.view(), hint.as_document()) == 0;
    if (!named) continue;
    if (found) {
      refuse(collection, ErrorCode::index_not_found,
             "Hint matched multiple indexes, must hint by index name. Matched: " + shown(found->spec()) + " and " +
                 shown(index->spec()));
    }
    found = index;
  }
  if (found) return found;
  refuse(collection, ErrorCode::bad_value, "hint provided does not correspond to an existing index");
}

// Returns the key of `bound`; its fields must be the index's, in their order.
bson::Bytes bound_key(const storage::Collection& collection, const storage::Index& index, bson::DocumentView bound,
                      const bson::Collator* collator) {
  const auto& fields = index.spec().fields;
  const bool ordered_alike = bson::same_collation(index.spec().collator.get(), collator);
  bson::KeyString key;
  size_t i = 0;
  for (const bson::Element& element : bound) {
    if (i >= fields.size() || element.name != fields[i].path) break;
    if (!ordered_alike && bson::is_collatable(element.type())) break;
    key.append(element, fields[i++].descending, index.spec().collator.get());
  }
  if (i != fields.size() || bound.count() != i)
    refuse(collection, ErrorCode{51174}, "The index chosen is not compatible with min/max");
  return std::move(key).bytes();
}

void apply_min_max(const storage::Collection& collection, Access& access, const Query& query, const Predicates& predicates) {
  storage::KeyRange range;
  if (!query.min.empty()) range.from = bound_key(collection, *access.index, query.min, query.collator());
  if (!query.max.empty()) range.to = bound_key(collection, *access.index, query.max, query.collator());
  if (!query.min.empty() && !query.max.empty() && range.from >= range.to) {
    refuse(collection, ErrorCode{51175},
           "The value provided for min() does not come before the value provided for max() in the hinted index");
  }
  access.ranges = {range};
  access.fields.assign(access.fields.size(), everything());
  access.residual = predicates;
  access.points = 0;
  access.one_record = false;
}

}  // namespace

bool sorts_naturally(const Query& query) {
  return is_natural(bson::ValueView(bson::Type::object, query.sort.bytes()));
}

std::optional<storage::Direction> natural_direction(const Query& query) {
  if (is_natural(query.hint)) return direction_of(query.hint.view().as_document().first());
  if (sorts_naturally(query)) {
    if (query.sort.view().count() > 1) {
      throw OperationError(ErrorCode::bad_value, "Cannot include '$natural' in compound sort: " + show(query.sort.view()));
    }
    return direction_of(query.sort.view().first());
  }
  return std::nullopt;
}

std::shared_ptr<const storage::Index> hinted_index(const storage::Collection& collection, const Query& query) {
  const bson::ValueView hint = query.hint.view();
  const bool none = !hint.exists() || is_natural(hint) || (hint.is_object() && hint.as_document().empty());
  return none ? nullptr : find_hinted(collection, hint);
}

void refuse_hint(const storage::Collection& collection) {
  refuse(collection, ErrorCode::no_query_execution_plans, "No query solutions");
}

std::optional<Access> hinted(const storage::Collection& collection, const Query& query, const Predicates& predicates,
                             Allowance& allowance) {
  const IndexPtr index = hinted_index(collection, query);
  if (!index) return std::nullopt;
  if (index->spec().wildcard) {
    if (!query.min.empty() || !query.max.empty())
      refuse(collection, ErrorCode{51174}, "The index chosen is not compatible with min/max");
    return std::nullopt;  // the planner looks for the paths on which it can be scanned
  }
  // The index lacks documents without texts, and nothing says which of its entries a filter wants. One of locations lacks the
  // documents without them.
  if (index->spec().text || (index->spec().geo && !asks_for_locations(*index, predicates))) {
    refuse_hint(collection);
  }
  Access access = index_access(index, predicates, allowance);
  if (!query.min.empty() || !query.max.empty()) apply_min_max(collection, access, query, predicates);
  return access;
}

}  // namespace server::query::plan
