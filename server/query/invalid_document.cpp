// This file explains why a document breaks a validator.
//
// It walks over the rules as they were written, not over the tree that they are parsed to, because the answer quotes them:
//
//   {a: {$gt: 5}, b: 1}   {operatorName: "$and", clausesNotSatisfied: [{index: 0, details: {
//                            operatorName: "$gt", specifiedAs: {a: {$gt: 5}}, reason: "comparison failed", consideredValue: 3}}]}
//
// Under $nor and $not it is the other way around: it says why a clause holds.
#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/query/match/parser.h"
#include "server/query/match/schema.h"
#include "server/query/validator.h"

namespace server::query {

namespace {

using bson::Builder;
using bson::Document;
using bson::DocumentView;
using bson::Element;

// A Wording says how an operator's failure is explained.
struct Wording {
  std::string_view name;
  std::string_view broken, held;
  bool whole_array = false;                    // it looks at arrays as wholes
  std::array<std::string_view, 5> types = {};  // of the values that it can hold for; none: of any
};

constexpr std::array<std::string_view, 5> numbers = {"decimal", "double", "int", "long"};
constexpr std::array<std::string_view, 5> bit_holders = {"binData", "decimal", "double", "int", "long"};
constexpr std::array<std::string_view, 5> texts = {"regex", "string", "symbol"};
constexpr std::array<std::string_view, 5> arrays = {"array"};

constexpr Wording wordings[] = {
    {"$eq", "comparison failed", "comparison succeeded"},
    {"$gt", "comparison failed", "comparison succeeded"},
    {"$gte", "comparison failed", "comparison succeeded"},
    {"$lt", "comparison failed", "comparison succeeded"},
    {"$lte", "comparison failed", "comparison succeeded"},
    {"$ne", "comparison succeeded", "comparison failed"},
    {"$in", "no matching value found in array", "matching value found in array"},
    {"$nin", "matching value found in array", "no matching value found in array"},
    {"$exists", "path does not exist", "path does exist"},
    {"$type", "type did not match", "type did match"},
    {"$mod", "$mod did not evaluate to expected remainder", "$mod did evaluate to expected remainder", false, numbers},
    {"$regex", "regular expression did not match", "regular expression did match", false, texts},
    {"$size", "array length was not equal to given size", "array length was equal to given size", true, arrays},
    {"$elemMatch", "array did not satisfy the child predicate", "array did satisfy the child predicate", true, arrays},
    {"$all", "array did not contain all specified values", "array did contain all specified values", true},
    {"$bitsAllSet", "bitwise operator failed to match", "bitwise operator matched successfully", false, bit_holders},
    {"$bitsAllClear", "bitwise operator failed to match", "bitwise operator matched successfully", false, bit_holders},
    {"$bitsAnySet", "bitwise operator failed to match", "bitwise operator matched successfully", false, bit_holders},
    {"$bitsAnyClear", "bitwise operator failed to match", "bitwise operator matched successfully", false, bit_holders},
};
constexpr Wording other = {"", "expression did not match", "expression did match"};

const Wording& wording_of(std::string_view name) {
  for (const Wording& one : wordings) {
    if (one.name == name) return one;
  }
  return other;
}

// A Clause is one condition of a filter, as a filter of its own.
struct Clause {
  Document filter;
  std::string_view path;  // empty: an operator like $or
  std::string_view name;  // the operator
};

std::vector<Clause> clauses_of(DocumentView filter) {
  std::vector<Clause> clauses;
  for (const Element& field : filter) {
    Builder one;
    if (field.name == "$comment") continue;
    if (field.name.starts_with('$') || !match::is_operator_object(field)) {
      one.append_element(field);
      const bool top = field.name.starts_with('$');
      const std::string_view implied = field.type() == bson::Type::regex ? "$regex" : "$eq";
      clauses.push_back({one.done(), top ? std::string_view() : field.name, top ? field.name : implied});
      continue;
    }
    for (const Element& operand : field.as_document()) {
      if (operand.name == "$options" || operand.name == "$comment") continue;
      Builder clause;
      {
        Builder operators = clause.object(field.name);
        operators.append_element(operand);
        if (const Element options = field.as_document()["$options"]; operand.name == "$regex" && options.exists())
          operators.append_element(options);
      }
      clauses.push_back({clause.done(), field.name, operand.name});
    }
  }
  return clauses;
}

class Explainer {
 public:
  Explainer(DocumentView document, const ParseContext& context) : document_(document), context_(context) {}

  // `inverted`: says why the filter holds.
  Document explain(DocumentView filter, bool inverted) const {
    const std::vector<Clause> clauses = clauses_of(filter);
    Builder out;
    if (clauses.size() == 1) {
      explain_clause(clauses.front(), inverted, out);
    } else {
      std::vector<Document> filters;
      for (const Clause& clause : clauses) filters.push_back(clause.filter);
      explain_tree("$and", filters, inverted, out);
    }
    return out.done();
  }

 private:
  bool holds(DocumentView filter) const {
    try {
      return Matcher::parse(filter, context_)->matches(document_);
    } catch (const base::OperationError&) {
      if (context_.op) context_.op->check_interrupt();
      return false;  // an expression that can't be computed doesn't hold
    }
  }

  // Lists the clauses that hold (`held`), or those that don't.
  void explain_tree(std::string_view name, const std::vector<Document>& clauses, bool held, Builder& out) const {
    out.append("operatorName", name);
    auto list = out.array(held ? "clausesSatisfied" : "clausesNotSatisfied");
    for (size_t i = 0; i < clauses.size(); ++i) {
      if (holds(clauses[i]) != held) continue;
      auto one = list.object();
      one.append("index", static_cast<int32_t>(i)).append("details", explain(clauses[i], held));
    }
  }

  void explain_clause(const Clause& clause, bool inverted, Builder& out) const {
    const Element operand = clause.filter.view().first();
    if (!clause.path.empty()) return explain_path(clause, operand, inverted, out);
    if (clause.name == "$and" || clause.name == "$or" || clause.name == "$nor") {
      std::vector<Document> parts;
      for (const Element& part : operand.as_document()) parts.emplace_back(part.as_document());
      const bool held = clause.name == "$nor" ? !inverted : inverted;
      return explain_tree(clause.name, parts, held, out);
    }
    if (clause.name == "$jsonSchema") return explain_schema(clause.filter, operand, inverted, out);
    out.append("operatorName", clause.name).append("specifiedAs", clause.filter);
    if (clause.name == "$expr") return explain_expression(operand, inverted, out);
    out.append("reason", inverted ? "expression always evaluates to true" : "expression always evaluates to false");
  }

  void explain_schema(const Document& filter, const Element& specification, bool inverted, Builder& out) const {
    out.append("operatorName", "$jsonSchema");
    match::JsonSchema schema(specification, context_.allowance);
    schema.account_to(context_.allowance);
    schema.schema().append_notes(out);
    if (inverted) {
      out.append("reason", "schema matched");
    } else if (!schema.allows_objects()) {
      out.append("specifiedAs", filter).append("reason", "expression always evaluates to false");
    } else {
      auto rules = out.array("schemaRulesNotSatisfied");
      schema.schema().explain(bson::ValueView(bson::Type::object, document_.bytes()), rules);
    }
  }

  void explain_expression(const Element& specification, bool inverted, Builder& out) const {
    try {
      const bson::Value result = context_.expressions->compile(specification, context_)->evaluate(document_);
      out.append("reason", inverted ? "expression did match" : "expression did not match");
      if (result.exists()) out.append("expressionResult", result);
    } catch (const base::OperationError& error) {
      if (context_.op) context_.op->check_interrupt();
      out.append("reason", "failed to evaluate aggregation expression");
      auto details = out.object("details");
      details.append("code", static_cast<int32_t>(error.code())).append("codeName", base::code_name(error.code()));
      details.append("errmsg", error.what());
    }
  }

  void explain_path(const Clause& clause, const Element& condition, bool inverted, Builder& out) const {
    out.append("operatorName", clause.name);
    if (clause.name == "$not") {
      const Element negated = condition.as_document()["$not"];
      Builder inner;
      inner.append(clause.path, static_cast<bson::ValueView>(negated));
      out.append("details", explain(inner.done(), !inverted));
      return;
    }
    out.append("specifiedAs", clause.filter);
    const Wording& wording = wording_of(clause.name);
    if (clause.name == "$exists") {
      const bool wanted = condition.as_document().first().truthy();
      out.append("reason", wanted != inverted ? wording.broken : wording.held);
      return;
    }
    const bson::Value values = considered(clause.path, wording);
    const DocumentView list = values.view().as_document();
    if (list.empty()) {
      out.append("reason", inverted || is_negative(clause.name) ? reason(wording, inverted) : "field was missing");
      return;
    }
    const bool fits = inverted || fits_any(list, wording);
    out.append("reason", fits ? reason(wording, inverted) : "type did not match");
    if (!fits) {
      append_types(list, out);
      append_expected(wording, out);
    }
    append_values(list, out);
    if (clause.name == "$type") append_types(list, out);
  }

  static bool is_negative(std::string_view name) { return name == "$ne" || name == "$nin"; }
  static std::string_view reason(const Wording& wording, bool inverted) { return inverted ? wording.held : wording.broken; }

  bson::Value considered(std::string_view path, const Wording& wording) const {
    bson::ArrayBuilder values;
    const auto leaf = wording.whole_array ? match::LeafArray::whole : match::LeafArray::expand;
    match::Path(path).walk(document_, leaf, [&](const bson::ValueView& value, std::string_view) {
      if (value.exists()) values.append(value);
      return false;
    });
    return values.done_value();
  }

  static bool fits_any(DocumentView values, const Wording& wording) {
    if (wording.types[0].empty()) return true;
    for (const Element& value : values) {
      for (const std::string_view type : wording.types) {
        if (type == bson::type_name(value.type())) return true;
      }
    }
    return false;
  }

  static void append_expected(const Wording& wording, Builder& out) {
    if (wording.types[1].empty()) {
      out.append("expectedType", wording.types[0]);
      return;
    }
    auto types = out.array("expectedTypes");
    for (const std::string_view type : wording.types) {
      if (!type.empty()) types.append(type);
    }
  }

  static void append_values(DocumentView values, Builder& out) {
    if (values.count() == 1)
      out.append("consideredValue", static_cast<bson::ValueView>(values.first()));
    else
      out.append_array("consideredValues", values);
  }

  static void append_types(DocumentView values, Builder& out) {
    std::vector<std::string_view> types;
    for (const Element& value : values) {
      const std::string_view type = bson::type_name(value.type());
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    }
    std::sort(types.begin(), types.end());
    if (types.size() == 1) {
      out.append("consideredType", types.front());
      return;
    }
    auto list = out.array("consideredTypes");
    for (const std::string_view type : types) list.append(type);
  }

  const DocumentView document_;
  const ParseContext& context_;
};

}  // namespace

Document explain_invalid(DocumentView rules, DocumentView document, const ParseContext& context) {
  return Explainer(document, context).explain(rules, false);
}

}  // namespace server::query
