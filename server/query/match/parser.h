// The parser turns a filter's BSON into its tree.
//
// Operators live in families, one file each, which list them in a table. A new
// operator is a new row; a new family is a new file and a line in `families`
// (parser.cpp).
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"
#include "server/query/match/node.h"
#include "server/query/parse_context.h"

namespace server::query::match {

struct Parsing {
  const ParseContext& context;
  int depth = 0;
  bool in_element = false;  // below $elemMatch: what is parsed is about an element, and not about the document
};

inline constexpr int depth_max = 100;

// Parses {path: {<name>: <operand>}}. `operators` is the whole object around it, in which $regex looks for its $options. May
// return nullptr if another operator handles it.
using PathOperator = NodePtr (*)(std::string_view path, const bson::Element& operand, bson::DocumentView operators,
                                 Parsing& parsing);
// Parses {<name>: <operand>} in place of a field.
using TopOperator = NodePtr (*)(const bson::Element& operand, Parsing& parsing);

struct PathOperatorRow {
  std::string_view name;
  PathOperator parse;
};
struct TopOperatorRow {
  std::string_view name;
  TopOperator parse;
};
struct Family {
  std::span<const PathOperatorRow> path_operators;
  std::span<const TopOperatorRow> top_operators;
};

Family logical_family();
Family comparison_family();
Family element_family();
Family regex_family();
Family array_family();
Family bits_family();
Family evaluation_family();
Family schema_family();
Family script_family();
Family text_family();
Family geo_family();

// Returns true if $ref, $id or $db is among the fields: the document is a DBRef, or a filter over a DBRef's parts.
bool has_dbref_field(bson::DocumentView document);
NodePtr parse_filter(bson::DocumentView filter, Parsing& parsing);
// Parses a list of operators on one path; appends to `out`.
void parse_operators(std::string_view path, bson::DocumentView operators, Parsing& parsing, std::vector<NodePtr>& out);
// Returns true for {$gt: 5} and the like, and false for a value (a DBRef is a value).
bool is_operator_object(const bson::ValueView& value);
// Returns whether the operator stands in place of a field: $and, $expr, $jsonSchema …
bool is_top_operator(std::string_view name);
// Returns whether the operator is about a field. $not, which holds others, isn't counted.
bool is_path_operator(std::string_view name);
// Returns whether the object, in $elemMatch, is about the element itself, and is no filter over its fields.
bool is_value_match(bson::DocumentView object);

// Throws if the operator, which needs the whole document, stands below $elemMatch.
void check_top_level(std::string_view name, const Parsing& parsing);

NodePtr make_equality(std::string_view path, const bson::ValueView& value, const Parsing& parsing);
NodePtr make_regex(std::string_view path, const bson::ValueView& regex, const Parsing& parsing);

[[noreturn]] inline void bad_value(const std::string& message) {
  throw base::OperationError(base::ErrorCode::bad_value, message);
}

}  // namespace server::query::match
