// These are the rules for objects.
#include <algorithm>
#include <set>

#include "server/query/match/schema_rules.h"

namespace server::query::match {

namespace {

using bson::Element;
using bson::ValueView;

// This is the rule of minProperties and maxProperties.
class PropertyCountRule final : public SchemaRule {
 public:
  PropertyCountRule(const Keyword& keyword, bool is_maximum, int64_t limit)
      : keyword_(keyword), is_maximum_(is_maximum), limit_(limit) {}

  bool holds(const ValueView& value) const override {
    if (!value.is_object()) return true;
    const auto count = static_cast<int64_t>(value.as_document().count());
    return is_maximum_ ? count <= limit_ : count >= limit_;
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    append_specified(keyword_, out);
    out.append("reason", "specified number of properties was not satisfied");
    out.append("numberOfProperties", static_cast<int32_t>(value.as_document().count()));
  }

 private:
  const Keyword keyword_;
  const bool is_maximum_;
  const int64_t limit_;
};

// Returns the names, in the list's order, that the object lacks.
std::vector<std::string_view> missing(bson::DocumentView names, bson::DocumentView object) {
  std::vector<std::string_view> out;
  for (const Element& name : names) {
    if (!object.has(name.as_string())) out.push_back(name.as_string());
  }
  return out;
}

void append_missing(bson::DocumentView names, bson::DocumentView object, bson::Builder& out) {
  auto list = out.array("missingProperties");
  for (const std::string_view name : missing(names, object)) list.append(name);
}

class RequiredRule final : public SchemaRule {
 public:
  explicit RequiredRule(const Keyword& keyword) : keyword_(keyword) {}
  bool holds(const ValueView& value) const override {
    return !value.is_object() || missing(keyword_.as_document(), value.as_document()).empty();
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    append_specified(keyword_, out);
    append_missing(keyword_.as_document(), value.as_document(), out);
  }

 private:
  const Keyword keyword_;
};

class PropertiesRule final : public SchemaRule {
 public:
  using Properties = std::vector<std::pair<std::string_view, Schema>>;
  explicit PropertiesRule(Properties properties) : properties_(std::move(properties)) {}
  bool holds(const ValueView& value) const override {
    return !value.is_object() || std::all_of(properties_.begin(), properties_.end(), [&](const auto& property) {
      const Element field = value.as_document()[property.first];
      return !field.exists() || property.second.holds(field);
    });
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    out.append("operatorName", "properties");
    auto wrong = out.array("propertiesNotSatisfied");
    for (const auto& [name, schema] : properties_) {
      const Element field = value.as_document()[name];
      if (!field.exists() || schema.holds(field)) continue;
      auto one = wrong.object();
      one.append("propertyName", name);
      schema.append_notes(one);
      append_details(schema, field, one);
    }
  }

 private:
  const Properties properties_;
};

class PatternPropertiesRule final : public SchemaRule {
 public:
  explicit PatternPropertiesRule(PatternSchemas patterns) : patterns_(std::move(patterns)) {}
  bool holds(const ValueView& value) const override {
    if (!value.is_object()) return true;
    for (const Element& field : value.as_document()) {
      for (const PatternSchema& one : *patterns_) {
        if (one.names(field.name) && !one.schema.holds(field)) return false;
      }
    }
    return true;
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    out.append("operatorName", "patternProperties");
    auto wrong = out.array("details");
    for (const Element& field : value.as_document()) {
      for (const PatternSchema& one : *patterns_) {
        if (!one.names(field.name) || one.schema.holds(field)) continue;
        auto detail = wrong.object();
        detail.append("propertyName", field.name).append("regexMatched", one.text);
        one.schema.append_notes(detail);
        append_details(one.schema, field, detail);
      }
    }
  }

 private:
  const PatternSchemas patterns_;
};

class AdditionalPropertiesRule final : public SchemaRule {
 public:
  AdditionalPropertiesRule(const Keyword& keyword, const ValueView& properties, PatternSchemas patterns,
                           std::optional<Schema> schema)
      : keyword_(keyword), patterns_(std::move(patterns)), schema_(std::move(schema)) {
    if (!properties.is_object()) return;
    for (const Element& property : properties.as_document()) names_.insert(property.name);
  }
  bool holds(const ValueView& value) const override {
    if (!value.is_object()) return true;
    for (const Element& field : value.as_document()) {
      if (is_wrong(field)) return false;
    }
    return true;
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    if (!schema_) {
      append_specified(keyword_, out);
      auto names = out.array("additionalProperties");
      for (const Element& field : value.as_document()) {
        if (is_wrong(field)) names.append(field.name);
      }
      return;
    }
    out.append("operatorName", "additionalProperties");
    out.append("reason", "at least one additional property did not match the subschema");
    for (const Element& field : value.as_document()) {
      if (!is_wrong(field)) continue;
      out.append("failingProperty", field.name);
      return append_details(*schema_, field, out);
    }
  }

 private:
  bool is_wrong(const Element& field) const {
    if (names_.contains(field.name)) return false;
    for (size_t i = 0; patterns_ && i < patterns_->size(); ++i) {
      if ((*patterns_)[i].names(field.name)) return false;
    }
    return !schema_ || !schema_->holds(field);
  }
  const Keyword keyword_;
  std::set<std::string_view> names_;
  const PatternSchemas patterns_;
  const std::optional<Schema> schema_;
};

class DependenciesRule final : public SchemaRule {
 public:
  explicit DependenciesRule(std::vector<Dependency> dependencies) : dependencies_(std::move(dependencies)) {}
  bool holds(const ValueView& value) const override {
    return !value.is_object() ||
           std::none_of(dependencies_.begin(), dependencies_.end(), [&](const Dependency& one) { return is_broken(one, value); });
  }
  void explain(const ValueView& value, bson::Builder& out) const override {
    out.append("operatorName", "dependencies");
    auto failing = out.array("failingDependencies");
    for (const Dependency& one : dependencies_) {
      if (!is_broken(one, value)) continue;
      auto detail = failing.object();
      detail.append("conditionalProperty", one.property);
      if (one.schema)
        append_details(*one.schema, value, detail);
      else
        append_missing(one.required, value.as_document(), detail);
    }
  }

 private:
  static bool is_broken(const Dependency& one, const ValueView& value) {
    if (!value.as_document().has(one.property)) return false;
    return one.schema ? !one.schema->holds(value) : !missing(one.required, value.as_document()).empty();
  }
  const std::vector<Dependency> dependencies_;
};

}  // namespace

SchemaRulePtr rule_of_required(const Keyword& keyword) {
  return std::make_unique<RequiredRule>(keyword);
}
SchemaRulePtr rule_of_property_count(const Keyword& keyword, bool is_maximum, int64_t count) {
  return std::make_unique<PropertyCountRule>(keyword, is_maximum, count);
}
SchemaRulePtr rule_of_properties(std::vector<std::pair<std::string_view, Schema>> properties) {
  return std::make_unique<PropertiesRule>(std::move(properties));
}
SchemaRulePtr rule_of_pattern_properties(PatternSchemas patterns) {
  return std::make_unique<PatternPropertiesRule>(std::move(patterns));
}
SchemaRulePtr rule_of_additional_properties(const Keyword& keyword, bson::ValueView properties, PatternSchemas patterns,
                                            std::optional<Schema> schema) {
  return std::make_unique<AdditionalPropertiesRule>(keyword, properties, std::move(patterns), std::move(schema));
}
SchemaRulePtr rule_of_dependencies(std::vector<Dependency> dependencies) {
  return std::make_unique<DependenciesRule>(std::move(dependencies));
}

}  // namespace server::query::match
