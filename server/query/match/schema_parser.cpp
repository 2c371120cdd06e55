// This file parses a schema's BSON into rules: which keywords there are, and what their operands must be.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "server/core/text.h"
#include "server/query/match/parser.h"
#include "server/query/match/regex.h"
#include "server/query/match/schema_rules.h"

namespace server::query::match {

namespace {

using base::ErrorCode;
using base::OperationError;
using bson::Element;
using bson::Type;

constexpr std::array<std::string_view, 6> unsupported = {"$ref", "$schema", "default", "definitions", "format", "id"};

constexpr std::string_view known[] = {"additionalItems",
                                      "additionalProperties",
                                      "allOf",
                                      "anyOf",
                                      "bsonType",
                                      "dependencies",
                                      "description",
                                      "encrypt",
                                      "encryptMetadata",
                                      "enum",
                                      "exclusiveMaximum",
                                      "exclusiveMinimum",
                                      "items",
                                      "maxItems",
                                      "maxLength",
                                      "maxProperties",
                                      "maximum",
                                      "minItems",
                                      "minLength",
                                      "minProperties",
                                      "minimum",
                                      "multipleOf",
                                      "not",
                                      "oneOf",
                                      "pattern",
                                      "patternProperties",
                                      "properties",
                                      "required",
                                      "title",
                                      "type",
                                      "uniqueItems"};

std::string named(std::string_view keyword) {
  return "$jsonSchema keyword '" + std::string(keyword) + "'";
}

[[noreturn]] void wrong_type(std::string_view keyword, std::string_view wanted) {
  throw OperationError(ErrorCode::type_mismatch, named(keyword) + " must be " + std::string(wanted));
}
[[noreturn]] void fail(const std::string& message) {
  throw OperationError(ErrorCode::failed_to_parse, message);
}

bson::DocumentView object_of(const Keyword& keyword) {
  if (!keyword.is_object()) wrong_type(keyword.name, "an object");
  return keyword.as_document();
}

// Returns an array of different strings, at least one.
bson::DocumentView names_of(const Keyword& keyword) {
  if (!keyword.is_array())
    wrong_type(keyword.name, "an array, but found an element of type " + std::string(type_name(keyword.type())));
  std::set<std::string_view> seen;
  for (const Element& name : keyword.as_document()) {
    if (!name.is_string()) {
      wrong_type(keyword.name, "an array of strings, but found an element of type " + std::string(type_name(name.type())));
    }
    if (!seen.insert(name.as_string()).second) {
      fail(named(keyword.name) + " array cannot contain duplicate values");
    }
  }
  if (seen.empty()) fail(named(keyword.name) + " cannot be an empty array");
  return keyword.as_document();
}

int64_t length_of(const Keyword& keyword) {
  if (!keyword.is_number()) wrong_type(keyword.name, "a number");
  const double number = keyword.to_double();
  if (number != std::trunc(number) || !(std::abs(number) < 9.3e18)) {
    fail("Expected an integer: " + std::string(keyword.name) + ": " + show(keyword));
  }
  if (number < 0) fail("Expected a non-negative number in: " + std::string(keyword.name) + ": " + show(keyword));
  return keyword.to_int64();
}

TypeSet json_type(std::string_view name) {
  static constexpr std::pair<std::string_view, Type> types[] = {{"array", Type::array},   {"boolean", Type::boolean},
                                                                {"null", Type::null},     {"object", Type::object},
                                                                {"string", Type::string}, {"number", Type::number_double}};
  if (name == "integer") {
    fail("$jsonSchema type 'integer' is not currently supported.");
  }
  TypeSet set;
  for (const auto& [known_name, type] : types) {
    if (name == known_name) set.set(static_cast<uint8_t>(type));
  }
  if (set.none()) bad_value("Unknown type name alias: " + std::string(name));
  if (name == "number") {
    for (const Type type : {Type::int32, Type::int64, Type::decimal128}) set.set(static_cast<uint8_t>(type));
  }
  return set;
}

TypeSet type_named(const Keyword& keyword, const Element& name) {
  if (!name.is_string()) wrong_type(keyword.name, "either a string or an array of strings");
  return keyword.name == "type" ? json_type(name.as_string()) : parse_type_set(name);
}

TypeSet types_of(const Keyword& keyword) {
  if (!keyword.is_array()) return type_named(keyword, keyword);
  TypeSet all;
  std::set<std::string_view> seen;
  for (const Element& name : keyword.as_document()) {
    all |= type_named(keyword, name);
    if (!seen.insert(name.as_string()).second)
      fail(named(keyword.name) + " has duplicate value: " + std::string(name.as_string()));
  }
  if (seen.empty()) fail(named(keyword.name) + " must name at least one type");
  return all;
}

class Parser {
 public:
  Parser(bson::DocumentView specification, const SchemaAccount& account, int depth)
      : specification_(specification), account_(account), depth_(depth) {
    schema_.account = &account;
  }

  Schema parse() {
    if (depth_ > depth_max) bad_value("exceeded maximum query tree depth of 100 at $jsonSchema");
    check_keywords();
    find_types();
    scalars();
    arrays();
    if (const Keyword encrypt = keyword("encrypt"); encrypt.exists()) add(rule_of_encrypt(encrypted_types(encrypt)));
    objects();
    logic();
    if (type_.exists()) add(rule_of_types(type_, *schema_.types));
    return std::move(schema_);
  }

 private:
  Keyword keyword(std::string_view name) const { return specification_[name]; }
  void add(SchemaRulePtr rule) { schema_.rules.push_back(std::move(rule)); }
  Schema nested(bson::DocumentView specification) const { return parse_schema(specification, account_, depth_ + 1); }

  void check_keywords() {
    std::set<std::string_view> seen;
    for (const Element& field : specification_) {
      if (std::find(unsupported.begin(), unsupported.end(), field.name) != unsupported.end())
        fail(named(field.name) + " is not currently supported");
      if (!std::binary_search(std::begin(known), std::end(known), field.name))
        fail("Unknown $jsonSchema keyword: " + std::string(field.name));
      if (!seen.insert(field.name).second) fail("Duplicate $jsonSchema keyword: " + std::string(field.name));
    }
    for (const char* name : {"title", "description"}) {
      const Keyword note = keyword(name);
      if (note.exists() && !note.is_string()) wrong_type(name, "of type string");
      (std::string_view(name) == "title" ? schema_.title : schema_.description) = note;
    }
    if (const Keyword data = keyword("encryptMetadata"); data.exists()) {
      if (depth_ > 0 && keyword("encrypt").exists())
        fail("Cannot specify both $jsonSchema keywords 'encrypt' and 'encryptMetadata'");
      check_encryption(data, false);
    }
  }

  void find_types() {
    const Keyword type = keyword("type"), bson_type = keyword("bsonType");
    if (type.exists() && bson_type.exists()) fail("Cannot specify both $jsonSchema keywords 'type' and 'bsonType'");
    type_ = type.exists() ? type : bson_type;
    if (!type_.exists()) return;
    if (keyword("encrypt").exists())
      fail("Cannot specify both $jsonSchema keywords 'encrypt' and '" + std::string(type_.name) + "'");
    schema_.types = types_of(type_);
  }

  // Returns whether the schema allows these types alone.
  bool states(std::initializer_list<Type> types) const {
    if (!schema_.types) return false;
    TypeSet others = *schema_.types;
    for (const Type type : types) others.reset(static_cast<uint8_t>(type));
    return others.none();
  }

  void scalars() {
    const bool numbers = states({Type::int32, Type::int64, Type::number_double, Type::decimal128}), text = states({Type::string});
    limit("maximum", "exclusiveMaximum", true, numbers);
    limit("minimum", "exclusiveMinimum", false, numbers);
    if (const Keyword length = keyword("maxLength"); length.exists()) add(rule_of_length(length, true, length_of(length), text));
    if (const Keyword length = keyword("minLength"); length.exists()) add(rule_of_length(length, false, length_of(length), text));
    if (const Keyword pattern = keyword("pattern"); pattern.exists()) {
      if (!pattern.is_string()) wrong_type("pattern", "a string");
      add(rule_of_pattern(pattern, text, account_));
    }
    if (const Keyword divisor = keyword("multipleOf"); divisor.exists()) {
      if (!divisor.is_number()) wrong_type("multipleOf", "a number");
      if (!(divisor.to_double() > 0) || !std::isfinite(divisor.to_double()))
        fail(named("multipleOf") + " must have a positive value");
      add(rule_of_multiple(divisor, numbers));
    }
    if (const Keyword values = keyword("enum"); values.exists()) add_enum(values);
  }

  void limit(const char* name, const char* exclusive_name, bool is_maximum, bool stated) {
    const Keyword limit = keyword(name), exclusive = keyword(exclusive_name);
    if (limit.exists() && !limit.is_number()) wrong_type(name, "a number");
    if (exclusive.exists()) {
      if (exclusive.type() != Type::boolean) wrong_type(exclusive_name, "a boolean");
      if (!limit.exists()) {
        fail(named(name) + " must be a present if " + std::string(exclusive_name) + " is present");
      }
    }
    if (limit.exists()) add(rule_of_limit(limit, is_maximum, exclusive, stated));
  }

  void add_enum(const Keyword& values) {
    if (!values.is_array()) wrong_type("enum", "an array, but found an element of type " + std::string(type_name(values.type())));
    std::vector<bson::ValueView> seen;
    for (const Element& value : values.as_document()) {
      const auto same = [&](const bson::ValueView& other) { return equal_unordered(value, other); };
      if (std::any_of(seen.begin(), seen.end(), same)) {
        fail(named("enum") + " array cannot contain duplicate values.");
      }
      seen.push_back(value);
    }
    if (seen.empty()) fail(named("enum") + " cannot be an empty array");
    add(rule_of_enum(values));
  }

  void arrays() {
    if (const Keyword count = keyword("maxItems"); count.exists()) add(rule_of_item_count(count, true, length_of(count)));
    if (const Keyword count = keyword("minItems"); count.exists()) add(rule_of_item_count(count, false, length_of(count)));
    if (const Keyword unique = keyword("uniqueItems"); unique.exists()) {
      if (unique.type() != Type::boolean) wrong_type("uniqueItems", "a boolean");
      if (unique.as_bool()) add(rule_of_unique_items(unique));
    }
    const Keyword items = keyword("items"), additional = keyword("additionalItems");
    if (items.exists() && !items.is_object() && !items.is_array()) {
      wrong_type("items", "an array or an object, not " + std::string(type_name(items.type())));
    }
    if (items.is_object()) add(rule_of_items(nested(items.as_document())));
    size_t first = 0;
    if (items.is_array()) {
      Schemas each = schemas_of(items);
      first = each.size();
      add(rule_of_item_list(std::move(each)));
    }
    if (!additional.exists()) return;
    if (!additional.is_object() && additional.type() != Type::boolean) {
      wrong_type("additionalItems", "either an object or a boolean, but got a " + std::string(type_name(additional.type())));
    }
    // Without a list of items, or with `true`, nothing is additional.
    if (additional.is_object()) {
      Schema rest = nested(additional.as_document());
      if (items.is_array()) add(rule_of_additional_items(first, std::move(rest)));
    } else if (items.is_array() && !additional.as_bool()) {
      add(rule_of_additional_items(first, std::nullopt));
    }
  }

  Schemas schemas_of(const Keyword& list) const {
    Schemas out;
    for (const Element& one : list.as_document()) {
      if (!one.is_object()) {
        wrong_type(list.name, "an array of objects, but found an element of type " + std::string(type_name(one.type())));
      }
      out.push_back(nested(one.as_document()));
    }
    return out;
  }

  void objects() {
    const Keyword properties = keyword("properties"), additional = keyword("additionalProperties");
    if (properties.exists()) {
      std::vector<std::pair<std::string_view, Schema>> all;
      for (const Element& property : object_of(properties)) {
        if (!property.is_object()) {
          throw OperationError(ErrorCode::type_mismatch,
                               "Nested schema for $jsonSchema property '" + std::string(property.name) + "' must be an object");
        }
        all.emplace_back(property.name, nested(property.as_document()));
      }
      add(rule_of_properties(std::move(all)));
    }
    const PatternSchemas patterns = pattern_schemas();
    if (patterns) add(rule_of_pattern_properties(patterns));
    if (additional.exists()) {
      if (!additional.is_object() && additional.type() != Type::boolean)
        wrong_type("additionalProperties", "an object or a boolean");
      if (additional.is_object())
        add(rule_of_additional_properties(additional, properties, patterns, nested(additional.as_document())));
      else if (!additional.as_bool())
        add(rule_of_additional_properties(additional, properties, patterns, std::nullopt));
    }
    if (const Keyword required = keyword("required"); required.exists()) {
      names_of(required);
      add(rule_of_required(required));
    }
    if (const Keyword count = keyword("minProperties"); count.exists())
      add(rule_of_property_count(count, false, length_of(count)));
    if (const Keyword count = keyword("maxProperties"); count.exists())
      add(rule_of_property_count(count, true, length_of(count)));
    if (const Keyword dependencies = keyword("dependencies"); dependencies.exists()) add_dependencies(dependencies);
  }

  PatternSchemas pattern_schemas() const {
    const Keyword patterns = keyword("patternProperties");
    if (!patterns.exists()) return nullptr;
    auto all = std::make_shared<std::vector<PatternSchema>>();
    for (const Element& one : object_of(patterns)) {
      if (!one.is_object()) {
        throw OperationError(ErrorCode::type_mismatch, "$jsonSchema keyword 'patternProperties' has property '" +
                                                           std::string(one.name) + "' which is not an object");
      }
      all->push_back({one.name, std::make_unique<Pattern>(one.name, "", account_.allowance), nested(one.as_document())});
    }
    return all;
  }

  void add_dependencies(const Keyword& dependencies) {
    std::vector<Dependency> all;
    for (const Element& one : object_of(dependencies)) {
      if (!one.is_object() && !one.is_array()) {
        throw OperationError(ErrorCode::type_mismatch,
                             named("dependencies") + ": property '" + std::string(one.name) + "' must be an object or an array");
      }
      Dependency dependency{one.name, {}, std::nullopt};
      if (one.is_object())
        dependency.schema = nested(one.as_document());
      else
        dependency.required = names_of(one);
      all.push_back(std::move(dependency));
    }
    add(rule_of_dependencies(std::move(all)));
  }

  void logic() {
    static constexpr std::pair<const char*, SchemaLogic> kinds[] = {
        {"allOf", SchemaLogic::all_of}, {"anyOf", SchemaLogic::any_of}, {"oneOf", SchemaLogic::one_of}};
    for (const auto& [name, kind] : kinds) {
      const Keyword list = keyword(name);
      if (!list.exists()) continue;
      if (!list.is_array()) wrong_type(name, "an array");
      if (list.as_document().empty()) bad_value(named(name) + " must be a non-empty array");
      add(rule_of_logic(list, kind, schemas_of(list)));
    }
    if (const Keyword opposite = keyword("not"); opposite.exists()) add(rule_of_not(nested(object_of(opposite))));
  }

  static void check_encryption(const Keyword& keyword, bool has_type) {
    for (const Element& field : object_of(keyword)) {
      if (field.name == "algorithm" && field.is_string()) {
        if (field.as_string() != "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic" &&
            field.as_string() != "AEAD_AES_256_CBC_HMAC_SHA_512-Random") {
          bad_value("Enumeration value '" + std::string(field.as_string()) + "' for field '" + std::string(keyword.name) +
                    ".algorithm' is not a valid value.");
        }
      } else if (field.name == "keyId" && (field.is_string() || field.is_array())) {
        continue;
      } else if (!(has_type && field.name == "bsonType")) {
        throw OperationError(
            field.name == "algorithm" || field.name == "keyId" ? static_cast<int>(ErrorCode::type_mismatch) : 40415,
            "BSON field '" + std::string(keyword.name) + "." + std::string(field.name) +
                "' is an unknown field or of the wrong type.");
      }
    }
  }

  static TypeSet encrypted_types(const Keyword& encrypt) {
    check_encryption(encrypt, true);
    const Element type = encrypt.as_document()["bsonType"];
    return type.exists() ? types_of(type) : TypeSet();
  }

  const bson::DocumentView specification_;
  const SchemaAccount& account_;
  const int depth_;
  Keyword type_;  // `type` or `bsonType`
  Schema schema_;
};

}  // namespace

Schema parse_schema(bson::DocumentView specification, const SchemaAccount& account, int depth) {
  return Parser(specification, account, depth).parse();
}

}  // namespace server::query::match
