#include "server/query/match/field_pass.h"

#include <algorithm>
#include <array>

#include "bson/field_reader.h"
#include "server/query/match/node.h"

namespace server::query::match {

FieldPass::FieldPass(const std::vector<const Node*>& predicates) {
  for (const Node* node : predicates) {
    size_t field = whole_document;
    if (const auto name = node->decided_by()) {
      field = static_cast<size_t>(std::ranges::find(fields_, *name) - fields_.begin());
      if (field == fields_.size() && field < fields_max) {
        fields_.push_back(*name);
        tags_ |= uint64_t{1} << bson::name_tag(*name);
      }
    }
    predicates_.push_back({node, field});
  }
}

bool FieldPass::matches(bson::DocumentView document) const {
  if (fields_.size() < 2) {
    return std::ranges::all_of(predicates_, [&](const Predicate& one) { return one.node->matches(document, nullptr); });
  }
  std::array<const char*, fields_max> found{};  // where the fields lie
  bson::FieldReader reader(document);
  // Goes on until that field is found, and notes the others on the way: the first of each name counts.
  const auto find = [&](size_t field) {
    while (!found[field] && reader.next()) {
      if ((tags_ >> bson::name_tag(reader.name()) & 1) == 0) continue;
      for (size_t i = 0; i < fields_.size(); ++i) {
        if (!reader.is_named(fields_[i])) continue;
        if (!found[i]) found[i] = reader.position();
        break;
      }
    }
    return found[field];
  };
  bool at_end = false;
  for (const Predicate& predicate : predicates_) {
    if (predicate.field == whole_document) {
      if (!predicate.node->matches(document, nullptr)) return false;
      continue;
    }
    const char* const at = at_end ? found[predicate.field] : find(predicate.field);
    at_end = at_end || !at;
    const bson::Element field = at ? bson::field_at(document, at) : bson::Element();
    if (!predicate.node->matches_field(field)) return false;
  }
  return true;
}

}  // namespace server::query::match
