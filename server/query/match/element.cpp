#include "server/query/match/element.h"

#include <cmath>

#include "server/core/text.h"
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

using base::ErrorCode;
using base::OperationError;
using bson::Type;

constexpr Type known_types[] = {
    Type::number_double,   Type::string, Type::object,    Type::array, Type::binary,     Type::undefined, Type::object_id,
    Type::boolean,         Type::date,   Type::null,      Type::regex, Type::db_pointer, Type::code,      Type::symbol,
    Type::code_with_scope, Type::int32,  Type::timestamp, Type::int64, Type::decimal128, Type::min_key,   Type::max_key};

void add_type(TypeSet& set, Type type) {
  set.set(static_cast<uint8_t>(type));
}

void add_named(TypeSet& set, std::string_view name) {
  bool found = false;
  for (Type type : known_types) {
    if (bson::type_name(type) == name || (name == "number" && bson::is_number(type))) {
      add_type(set, type);
      found = true;
    }
  }
  if (!found) bad_value("Unknown type name alias: " + std::string(name));
}

void add_numbered(TypeSet& set, const bson::Element& operand) {
  const double number = operand.to_double();
  if (number == 0) bad_value("Invalid numerical type code: 0. Instead use {$exists:false}.");
  for (Type type : known_types) {
    const int code = type == Type::min_key ? -1 : static_cast<int>(type);
    if (number == code) return add_type(set, type);
  }
  bad_value("Invalid numerical type code: " + show(operand));
}

void add_one(TypeSet& set, const bson::Element& operand) {
  if (operand.is_string()) return add_named(set, operand.as_string());
  if (operand.is_number()) return add_numbered(set, operand);
  throw OperationError(ErrorCode::type_mismatch, "type must be represented as a number or a string");
}

NodePtr parse_type(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing&) {
  return std::make_unique<TypeIs>(path, parse_type_set(operand));
}

NodePtr parse_exists(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing&) {
  NodePtr node = std::make_unique<Exists>(path);
  if (operand.truthy()) return node;
  return std::make_unique<NotNode>(std::move(node));
}

constexpr PathOperatorRow path_operators[] = {{"$exists", parse_exists}, {"$type", parse_type}};

}  // namespace

TypeSet parse_type_set(const bson::Element& operand) {
  TypeSet set;
  if (operand.is_array()) {
    for (const bson::Element& entry : operand.as_document()) add_one(set, entry);
  } else {
    add_one(set, operand);
  }
  if (set.none()) throw OperationError(ErrorCode::failed_to_parse, std::string(operand.name) + " must match at least one type");
  return set;
}

void TypeIs::append_operator(bson::Builder& out) const {
  auto array = out.array("$type");
  for (Type type : known_types) {
    if (types_[static_cast<uint8_t>(type)]) array.append(type == Type::min_key ? -1 : static_cast<int32_t>(type));
  }
}

Family element_family() {
  return {path_operators, {}};
}

}  // namespace server::query::match
