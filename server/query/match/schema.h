// $jsonSchema matches documents that a JSON Schema (draft 4, with MongoDB's extensions) allows.
//
// A schema is a list of rules, one for each keyword. A rule looks at one value, and says nothing about values of types that its
// keyword isn't for: {minLength: 3} allows 5. So every rule must hold for a value to be allowed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/query/match/element.h"

namespace server::query::match {

// Immutable, and so are schemas. Rules borrow from the BSON that they were parsed from.
class SchemaRule {
 public:
  virtual ~SchemaRule() = default;
  virtual bool holds(const bson::ValueView& value) const = 0;
  // Returns the work of `holds`, without that of schemas below the rule.
  virtual size_t units(const bson::ValueView&) const { return 1; }
  // Appends what is wrong with a value for which the rule doesn't hold, as `errInfo` shows it: {operatorName, …}.
  virtual void explain(const bson::ValueView& value, bson::Builder& out) const = 0;
};
using SchemaRulePtr = std::unique_ptr<SchemaRule>;

// A schema and those below it account for their work to the same allowance; nullptr: nobody can stop them.
struct SchemaAccount {
  Allowance* allowance = nullptr;
};

struct Schema {
  const SchemaAccount* account = nullptr;  // lives longer
  bson::ValueView title, description;      // missing: there is none
  std::optional<TypeSet> types;            // that `type` or `bsonType` allows; nullopt: any
  std::vector<SchemaRulePtr> rules;

  bool holds(const bson::ValueView& value) const;
  // Appends an object for each rule that the value breaks.
  void explain(const bson::ValueView& value, bson::ArrayBuilder& out) const;
  // Appends title and description.
  void append_notes(bson::Builder& out) const;
};

// Throws TypeMismatch (14), FailedToParse (9), BadValue (2), in MongoDB's words.
Schema parse_schema(bson::DocumentView specification, const SchemaAccount& account, int depth = 0);

class JsonSchema final : public Node {
 public:
  // The allowance is that of parsing; nullptr: nobody counts it.
  JsonSchema(const bson::ValueView& specification, Allowance* allowance);

  const Schema& schema() const { return schema_; }
  // Returns whether the schema's own types leave room for documents.
  bool allows_objects() const { return !schema_.types || (*schema_.types)[static_cast<uint8_t>(bson::Type::object)]; }

  void account_to(Allowance* allowance) override;
  bool matches(bson::DocumentView document, Details*) const override;
  bool matches_value(const bson::ValueView& value) const override { return schema_.holds(value); }
  void append(bson::Builder& out) const override { append_operator(out); }
  void append_operator(bson::Builder& out) const override { out.append("$jsonSchema", specification_); }

 private:
  const bson::ValueView specification_;
  SchemaAccount account_;
  const Schema schema_;
};

}  // namespace server::query::match
