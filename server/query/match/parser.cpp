#include "server/query/match/parser.h"

#include <unordered_map>

#include "server/query/field_path.h"

namespace server::query::match {

namespace {

struct Registry {
  std::unordered_map<std::string_view, PathOperator> path_operators;
  std::unordered_map<std::string_view, TopOperator> top_operators;
};

const Registry& registry() {
  static const Registry all = [] {
    Registry registry;
    for (const Family& family :
         {logical_family(), comparison_family(), element_family(), regex_family(), array_family(), bits_family(),
          evaluation_family(), script_family(), text_family(), schema_family(), geo_family()}) {
      for (const auto& row : family.path_operators) registry.path_operators.emplace(row.name, row.parse);
      for (const auto& row : family.top_operators) registry.top_operators.emplace(row.name, row.parse);
    }
    return registry;
  }();
  return all;
}

NodePtr parse_top_operator(const bson::Element& element, Parsing& parsing) {
  const auto& table = registry().top_operators;
  const auto found = table.find(element.name);
  if (found == table.end()) {
    bad_value("unknown top level operator: " + std::string(element.name) +
              ". If you have a field name that starts with a '$' symbol, consider using $getField or $setField.");
  }
  return found->second(element, parsing);
}

bool is_dbref(bson::DocumentView document) {
  return document.has("$ref") && document.has("$id");
}

// Parsing looks at a part of the filter, and at what is in it.
void account(const Parsing& parsing, size_t bytes) {
  if (parsing.context.allowance) parsing.context.allowance->work_on(bytes);
}

}  // namespace

bool is_operator_object(const bson::ValueView& value) {
  if (!value.is_object()) return false;
  const bson::DocumentView document = value.as_document();
  const bson::Element first = document.first();
  return first.exists() && first.name.starts_with('$') && !is_dbref(document);
}

bool is_top_operator(std::string_view name) {
  return registry().top_operators.contains(name);
}

bool is_path_operator(std::string_view name) {
  return name != "$not" && registry().path_operators.contains(name);
}

bool is_value_match(bson::DocumentView object) {
  return is_operator_object(bson::ValueView(bson::Type::object, object.bytes())) && !is_top_operator(object.first().name) &&
         !has_dbref_field(object);
}

void check_top_level(std::string_view name, const Parsing& parsing) {
  if (parsing.in_element) bad_value(std::string(name) + " can only be applied to the top-level document");
}

bool has_dbref_field(bson::DocumentView document) {
  for (const bson::Element& field : document) {
    if (is_dbref_field(field.name)) return true;
  }
  return false;
}

NodePtr parse_filter(bson::DocumentView filter, Parsing& parsing) {
  if (++parsing.depth > depth_max) {
    bad_value("exceeded maximum query tree depth of 100 at " + std::string(filter.first().name));
  }
  std::vector<NodePtr> parts;
  for (const bson::Element& element : filter) {
    account(parsing, element.bytes().size());
    if (is_dbref_field(element.name)) {
      parts.push_back(
          make_equality(element.name, element, parsing));  // {$elemMatch: {$id: 5}} matches fields of the reference itself
    } else if (element.name.starts_with('$')) {
      if (NodePtr node = parse_top_operator(element, parsing)) parts.push_back(std::move(node));
    } else if (is_operator_object(element)) {
      parse_operators(element.name, element.as_document(), parsing, parts);
    } else if (element.type() == bson::Type::regex) {
      parts.push_back(make_regex(element.name, element, parsing));
    } else {
      parts.push_back(make_equality(element.name, element, parsing));
    }
  }
  --parsing.depth;
  return all_of(std::move(parts));
}

void parse_operators(std::string_view path, bson::DocumentView operators, Parsing& parsing, std::vector<NodePtr>& out) {
  const auto& table = registry().path_operators;
  for (const bson::Element& operand : operators) {
    account(parsing, operand.bytes().size());
    const auto found = table.find(operand.name);
    if (found == table.end()) {
      if (operand.name == "$where") bad_value("$where cannot be applied to a field");
      bad_value("unknown operator: " + std::string(operand.name));
    }
    if (NodePtr node = found->second(path, operand, operators, parsing)) out.push_back(std::move(node));
  }
}

}  // namespace server::query::match
