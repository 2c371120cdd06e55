#include "server/query/query_shape.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/hash.h"

namespace server::query {
namespace {

std::string filter_shape(bson::DocumentView filter);

bool is_operator(std::string_view name) {
  return name.starts_with("$");
}

bool has_operators(const bson::ValueView& value) {
  return value.is_object() && is_operator(value.as_document().first().name);
}

// The order of the parts doesn't matter.
std::string joined(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  std::string out = "(";
  for (const std::string& part : parts) out += part + ",";
  return out + ")";
}

std::string list_shape(bson::DocumentView list) {
  std::vector<std::string> parts;
  for (const bson::Element& one : list) parts.push_back(one.is_object() ? filter_shape(one.as_document()) : "?");
  return joined(std::move(parts));
}

// Shows {$gt: 5, $elemMatch: {a: 1}} as its operators, and the filters in them.
std::string operators_shape(bson::DocumentView operators) {
  std::vector<std::string> parts;
  for (const bson::Element& one : operators) {
    const bool nests = (one.name == "$elemMatch" || one.name == "$not") && one.is_object();
    if (nests)
      parts.push_back(std::string(one.name) +
                      (has_operators(one) ? operators_shape(one.as_document()) : filter_shape(one.as_document())));
    else
      parts.push_back(std::string(one.name));
  }
  return joined(std::move(parts));
}

std::string filter_shape(bson::DocumentView filter) {
  std::vector<std::string> parts;
  for (const bson::Element& one : filter) {
    // the length keeps one name from looking like two
    const std::string name = std::to_string(one.name.size()) + ":" + std::string(one.name);
    if (one.is_array() && (one.name == "$and" || one.name == "$or" || one.name == "$nor"))
      parts.push_back(name + list_shape(one.as_document()));
    else if (!is_operator(one.name) && has_operators(one))
      parts.push_back(name + operators_shape(one.as_document()));
    else if (one.type() == bson::Type::regex)
      parts.push_back(name + "($regex,)");
    else
      parts.push_back(name + (is_operator(one.name) ? "" : "($eq,)"));
  }
  return joined(std::move(parts));
}

}  // namespace

std::string query_shape(bson::DocumentView filter, bson::DocumentView sort, bson::DocumentView projection,
                        const bson::Collator* collator) {
  std::string shape = filter_shape(filter);
  shape.append(sort.bytes());
  shape.append(projection.bytes());
  return collator ? shape.append(collator->specification().bytes()) : shape;
}

std::string shape_digest(const std::string& shape) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08X", static_cast<unsigned>(base::hash64(shape)));
  return digits;
}

}  // namespace server::query
