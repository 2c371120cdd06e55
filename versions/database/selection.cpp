#include "versions/database/selection.h"

#include "base/error.h"
#include "bson/validate.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

void Selection::append_to(bson::Builder& out) const {
  if (empty()) return;
  {
    auto names = out.array("collections");
    for (const std::string& name : collections) names.append(name);
  }
  if (filters.empty()) return;
  auto queries = out.object("filter");
  for (const auto& [name, query] : filters) queries.append(name, query);
}

bson::Document Selection::document() const {
  bson::Builder out;
  append_to(out);
  return out.done();
}

Selection read_selection(bson::DocumentView fields) {
  Selection selection;
  const auto given = [](const bson::Element& field) { return field.exists() && field.type() != bson::Type::null; };
  if (const bson::Element names = fields["collections"]; given(names)) {
    if (!names.is_array()) throw OperationError(ErrorCode::type_mismatch, "'collections' must be an array of names");
    for (const bson::Element& one : names.as_document()) {
      if (!one.is_string()) throw OperationError(ErrorCode::type_mismatch, "'collections' must be an array of names");
      selection.collections.emplace(one.as_string());
    }
    if (selection.empty()) throw OperationError(ErrorCode::bad_value, "'collections' must not be empty");
  }
  const bson::Element filter = fields["filter"];
  if (!given(filter)) return selection;
  if (!filter.is_object()) throw OperationError(ErrorCode::type_mismatch, "'filter' must be {<collection>: <query>, …}");
  size_t bytes = 0;
  for (const bson::Element& one : filter.as_document()) {
    if (!one.is_object()) throw OperationError(ErrorCode::type_mismatch, "'filter' must be {<collection>: <query>, …}");
    const std::string name(one.name);
    selection.collections.insert(name);
    bytes += one.as_document().bytes().size();
    if (one.as_document().empty()) continue;
    if (!selection.filters.emplace(name, one.as_document()).second)
      throw OperationError(ErrorCode::bad_value, "'filter' has collection '" + name + "' twice");
  }
  if (selection.empty()) throw OperationError(ErrorCode::bad_value, "'filter' must not be empty");
  if (bytes > filter_bytes_max) {
    throw OperationError(ErrorCode::bad_value, "'filter' has more than " + std::to_string(filter_bytes_max) + " bytes");
  }
  return selection;
}

std::optional<Selection> selection_of(base::BytesView metadata) {
  const auto valid = bson::validate(metadata);
  if (!valid.ok()) return std::nullopt;
  const bson::Element from = valid.value()[made_from];
  return from.is_object() ? std::optional(read_selection(from.as_document())) : std::nullopt;
}

}  // namespace versions
