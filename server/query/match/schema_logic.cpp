// These are schemas as wholes, and the rules that combine schemas: allOf, anyOf, oneOf, not.
#include <algorithm>

#include "server/query/match/parser.h"
#include "server/query/match/schema_rules.h"

namespace server::query::match {

namespace {

using bson::ValueView;

class LogicRule final : public SchemaRule {
 public:
  LogicRule(const Keyword& keyword, SchemaLogic logic, Schemas schemas)
      : name_(keyword.name), logic_(logic), schemas_(std::move(schemas)) {}

  bool holds(const ValueView& value) const override {
    const auto allows = [&](const Schema& schema) { return schema.holds(value); };
    switch (logic_) {
      case SchemaLogic::all_of: return std::all_of(schemas_.begin(), schemas_.end(), allows);
      case SchemaLogic::any_of: return std::any_of(schemas_.begin(), schemas_.end(), allows);
      default: return std::count_if(schemas_.begin(), schemas_.end(), allows) == 1;
    }
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    out.append("operatorName", name_);
    std::vector<int32_t> matching;
    for (size_t i = 0; i < schemas_.size(); ++i) {
      if (schemas_[i].holds(value)) matching.push_back(static_cast<int32_t>(i));
    }
    if (logic_ == SchemaLogic::one_of && !matching.empty()) {
      out.append("reason", "more than one subschema matched");
      auto indexes = out.array("matchingSchemaIndexes");
      for (const int32_t index : matching) indexes.append(index);
      return;
    }
    auto wrong = out.array("schemasNotSatisfied");
    for (size_t i = 0; i < schemas_.size(); ++i) {
      if (schemas_[i].holds(value)) continue;
      auto one = wrong.object();
      one.append("index", static_cast<int32_t>(i));
      schemas_[i].append_notes(one);
      auto details = one.array("details");
      schemas_[i].explain(value, details);
    }
  }

 private:
  const std::string_view name_;
  const SchemaLogic logic_;
  const Schemas schemas_;
};

class NotRule final : public SchemaRule {
 public:
  explicit NotRule(Schema schema) : schema_(std::move(schema)) {}
  bool holds(const ValueView& value) const override { return !schema_.holds(value); }
  void explain(const ValueView&, bson::Builder& out) const override {
    out.append("operatorName", "not").append("reason", "child expression matched");
  }

 private:
  const Schema schema_;
};

NodePtr parse_json_schema(const bson::Element& operand, Parsing& parsing) {
  if (!operand.is_object()) throw base::OperationError(base::ErrorCode::type_mismatch, "$jsonSchema must be an object");
  return std::make_unique<JsonSchema>(operand, parsing.context.allowance);
}

constexpr TopOperatorRow top_operators[] = {{"$jsonSchema", parse_json_schema}};

}  // namespace

bool Schema::holds(const ValueView& value) const {
  return std::all_of(rules.begin(), rules.end(), [&](const SchemaRulePtr& rule) {
    if (account->allowance) account->allowance->work(rule->units(value));
    return rule->holds(value);
  });
}

void Schema::explain(const ValueView& value, bson::ArrayBuilder& out) const {
  for (const SchemaRulePtr& rule : rules) {
    if (rule->holds(value)) continue;
    auto one = out.object();
    rule->explain(value, one);
  }
}

void Schema::append_notes(bson::Builder& out) const {
  if (title.exists()) out.append("title", title);
  if (description.exists()) out.append("description", description);
}

JsonSchema::JsonSchema(const ValueView& specification, Allowance* allowance)
    : Node(Kind::expr),
      specification_(specification),
      account_{allowance},
      schema_(parse_schema(specification.as_document(), account_)) {}

void JsonSchema::account_to(Allowance* allowance) {
  Node::account_to(allowance);
  account_.allowance = allowance;
}

bool JsonSchema::matches(bson::DocumentView document, Details*) const {
  constexpr size_t bytes_per_unit = 16;  // a schema may look at every field several times
  work(1 + document.size() / bytes_per_unit);
  return schema_.holds(ValueView(bson::Type::object, document.bytes()));
}

void append_specified(const Keyword& keyword, bson::Builder& out) {
  out.append("operatorName", keyword.name);
  auto specified = out.object("specifiedAs");
  specified.append_element(keyword);
}

void append_details(const Schema& schema, const ValueView& value, bson::Builder& out) {
  auto details = out.array("details");
  schema.explain(value, details);
}

SchemaRulePtr rule_of_logic(const Keyword& keyword, SchemaLogic logic, Schemas schemas) {
  return std::make_unique<LogicRule>(keyword, logic, std::move(schemas));
}
SchemaRulePtr rule_of_not(Schema schema) {
  return std::make_unique<NotRule>(std::move(schema));
}

Family schema_family() {
  return {{}, top_operators};
}

}  // namespace server::query::match
