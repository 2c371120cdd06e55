// The rules of $jsonSchema's keywords, made by schema_parser.cpp.
#pragma once

#include <optional>

#include "server/query/match/regex.h"
#include "server/query/match/schema.h"

namespace server::query::match {

using Schemas = std::vector<Schema>;

// A keyword with its operand, as the schema has it: {minLength: 3}.
using Keyword = bson::Element;

// This is the rule of `type` and `bsonType`.
SchemaRulePtr rule_of_types(const Keyword& keyword, const TypeSet& types);
SchemaRulePtr rule_of_enum(const Keyword& keyword);

// Numbers and strings. `stated`: the schema's types are of the keyword's kind alone, so a value of another type breaks this rule
// too.
SchemaRulePtr rule_of_limit(const Keyword& keyword, bool is_maximum, const Keyword& exclusive, bool stated);
SchemaRulePtr rule_of_multiple(const Keyword& keyword, bool stated);
SchemaRulePtr rule_of_length(const Keyword& keyword, bool is_maximum, int64_t length, bool stated);
// `account` lives longer than the rule.
SchemaRulePtr rule_of_pattern(const Keyword& keyword, bool stated, const SchemaAccount& account);

// Arrays.
SchemaRulePtr rule_of_item_count(const Keyword& keyword, bool is_maximum, int64_t count);
SchemaRulePtr rule_of_unique_items(const Keyword& keyword);
SchemaRulePtr rule_of_items(Schema all);
// The items at the first positions; those behind them have `rest`, or may not exist if `rest` is empty.
SchemaRulePtr rule_of_item_list(Schemas each);
SchemaRulePtr rule_of_additional_items(size_t first, std::optional<Schema> rest);

// Objects.
SchemaRulePtr rule_of_required(const Keyword& keyword);
SchemaRulePtr rule_of_property_count(const Keyword& keyword, bool is_maximum, int64_t count);
SchemaRulePtr rule_of_properties(std::vector<std::pair<std::string_view, Schema>> properties);
struct PatternSchema {
  std::string_view text;
  std::unique_ptr<Pattern> pattern;
  Schema schema;

  bool names(std::string_view field) const { return pattern->found_in(field, schema.account->allowance); }
};
using PatternSchemas = std::shared_ptr<const std::vector<PatternSchema>>;
SchemaRulePtr rule_of_pattern_properties(PatternSchemas patterns);
// Makes the rule for fields that neither `properties` (missing: none) names nor a pattern finds. `schema` empty: there may be
// none.
SchemaRulePtr rule_of_additional_properties(const Keyword& keyword, bson::ValueView properties, PatternSchemas patterns,
                                            std::optional<Schema> schema);
struct Dependency {
  std::string_view property;
  bson::DocumentView required;   // names, if there is no schema
  std::optional<Schema> schema;  // of the whole object
};
SchemaRulePtr rule_of_dependencies(std::vector<Dependency> dependencies);

// These rules apply to any type.
enum class SchemaLogic { all_of, any_of, one_of };
SchemaRulePtr rule_of_logic(const Keyword& keyword, SchemaLogic logic, Schemas schemas);
SchemaRulePtr rule_of_not(Schema schema);
// `types` empty: the encrypted value may have been of any type.
SchemaRulePtr rule_of_encrypt(const TypeSet& types);

// Appends {operatorName, specifiedAs: {keyword: operand}}, and what is wrong with the value by the schema: {details: […]}.
void append_specified(const Keyword& keyword, bson::Builder& out);
void append_details(const Schema& schema, const bson::ValueView& value, bson::Builder& out);

// Compares as `enum` and `uniqueItems` do: the order of an object's fields doesn't matter.
bool equal_unordered(const bson::ValueView& a, const bson::ValueView& b);

}  // namespace server::query::match
