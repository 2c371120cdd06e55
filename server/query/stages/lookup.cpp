// $lookup finds documents of another collection that belong to each document.
//
// With localField/foreignField it is a query by equality, which an index on the
// foreign field answers; with a pipeline, it runs that pipeline with `let` bound.
#include <algorithm>

#include "server/core/names.h"
#include "server/query/expressions/expression.h"
#include "server/query/let_variables.h"
#include "server/query/place_field.h"
#include "server/query/stages/joining.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

namespace {

struct Plan {
  std::string from_db;  // empty: where the pipeline runs
  std::string from, local, foreign, as;
  std::vector<std::pair<std::string, std::shared_ptr<Expression>>> let;
  bson::Document pipeline;  // an array's elements
  bool has_pipeline = false;
};

// Returns the stages to run for a document: the equality as a $match before the pipeline's own.
bson::Document with_equality(const Plan& plan, const bson::Document& document) {
  bson::ArrayBuilder stages;
  if (!plan.foreign.empty()) {
    std::vector<Value> locals;
    collect_values(document, plan.local, locals);
    if (locals.empty()) locals.push_back(Value::null());
    bson::Builder stage = stages.object();
    bson::Builder match = stage.object("$match");
    // $in would match the patterns, and these are values.
    const bool regex = std::any_of(locals.begin(), locals.end(), [](const Value& v) { return v.type() == bson::Type::regex; });
    if (locals.size() == 1) {
      match.object(plan.foreign).append("$eq", locals[0]);
    } else if (regex) {
      bson::ArrayBuilder any = match.array("$or");
      for (const Value& value : locals) any.object().object(plan.foreign).append("$eq", value);
    } else {
      bson::Builder condition = match.object(plan.foreign);
      bson::ArrayBuilder in = condition.array("$in");
      for (const Value& value : locals) in.append(value);
    }
  }
  for (const Element& stage : plan.pipeline) stages.append(static_cast<const ValueView&>(stage));
  return bson::Document(stages.done_value().view().as_document());
}

class LookupSpec final : public JoiningSpec {
 public:
  LookupSpec(const Element& specification, Plan plan) : JoiningSpec(specification, plan.as), plan_(std::move(plan)) {}

  std::unique_ptr<Finding> find(const bson::Document& document, Frame& frame, PipelineContext& context) const override {
    auto inner = nested_context(context, plan_.from, plan_.from_db);
    frame.begin(document);
    bson::Builder variables;
    for (const auto& [name, expression] : plan_.let) {
      Value scratch;
      const ValueView value = expression->view(frame, scratch);
      variables.append(name, value.exists() ? value : ValueView(bson::Type::undefined, {}));  // it stays missing: Scope::define
      frame.keep(0, variables.size());
    }
    inner->define(variables.done());
    frame.keep(0, 0);
    return std::make_unique<Subquery>(std::move(inner), with_equality(plan_, document));
  }

  void refuse_array(size_t bytes_max) const override {
    refuse(4568, "Total size of documents in " + plan_.from + " matching pipeline's $lookup stage exceeds " +
                     std::to_string(bytes_max) + " bytes");
  }

 private:
  const Plan plan_;
};

std::string text(const Element& field) {
  if (!field.is_string()) {
    refuse(base::ErrorCode::failed_to_parse, "$lookup argument '" + std::string(field.name) + ": " + type_of(field) +
                                                 "' must be a string, is type " + type_of(field));
  }
  return std::string(field.as_string());
}

}  // namespace

StageSpecPtr parse_lookup(const Element& specification, PipelineContext& context) {
  if (!specification.is_object())
    refuse(base::ErrorCode::failed_to_parse,
           "the $lookup stage specification must be an object, but found " + type_of(specification));
  refuse_repeated("$lookup", specification.as_document());
  Plan plan;
  bool has_from = false, has_local = false, has_foreign = false, has_as = false, has_let = false;
  for (const Element& field : specification.as_document()) {
    if (field.name == "from") {
      if (field.is_object()) {
        const Arguments from("$lookup.from", field.as_document());
        from.only({"db", "coll"});
        plan.from_db = from.required_string("db");
        if (plan.from_db.empty())
          refuse(base::ErrorCode::invalid_namespace, "invalid $lookup namespace: the database has no name");
        plan.from = from.required_string("coll");
      } else {
        plan.from = text(field);
      }
      has_from = true;
    } else if (field.name == "localField") {
      plan.local = text(field);
      check_field_path(plan.local);
      has_local = true;
    } else if (field.name == "foreignField") {
      plan.foreign = text(field);
      check_field_path(plan.foreign);
      has_foreign = true;
    } else if (field.name == "as") {
      plan.as = text(field);
      check_field_path(plan.as);
      has_as = true;
    } else if (field.name == "pipeline") {
      if (!field.is_array()) refuse(base::ErrorCode::type_mismatch, "A pipeline must be an array of objects");
      plan.pipeline = bson::Document(field.as_document());
      plan.has_pipeline = true;
    } else if (field.name == "let") {
      if (!field.is_object())
        refuse(base::ErrorCode::failed_to_parse,
               "$lookup argument 'let: " + type_of(field) + "' must be an object, is type " + type_of(field));
      has_let = true;
      for (const Element& variable : field.as_document()) {
        check_variable_name(variable.name);
        plan.let.emplace_back(variable.name, parse_expression(variable, context.scope));
      }
    } else {
      refuse(base::ErrorCode::failed_to_parse, "unknown argument to $lookup: " + std::string(field.name));
    }
  }
  if (!has_as) refuse(base::ErrorCode::failed_to_parse, "must specify 'as' field for a $lookup");
  if (has_local != has_foreign) {
    refuse(base::ErrorCode::failed_to_parse,
           "$lookup requires both or neither of 'localField' and 'foreignField' to be specified");
  }
  if (!plan.has_pipeline && !has_local) {
    refuse(base::ErrorCode::failed_to_parse,
           "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified");
  }
  if (has_let && !plan.has_pipeline)
    refuse(base::ErrorCode::failed_to_parse, "$lookup with a 'let' argument must also specify 'pipeline'");
  const bool own_source = plan.has_pipeline && !plan.pipeline.empty() && plan.pipeline.view().first().is_object() &&
                          plan.pipeline.view().first().as_document().first().name == "$documents";
  if (!has_from && !own_source) refuse(base::ErrorCode::failed_to_parse, "must specify 'pipeline' when 'from' is empty");

  const std::string& db = plan.from_db.empty() ? context.db : plan.from_db;
  if (has_from && !(valid_collection_name(plan.from) && (plan.from_db.empty() || valid_database_name(plan.from_db))))
    refuse(base::ErrorCode::invalid_namespace, "invalid $lookup namespace: " + db + "." + plan.from);

  // An invalid inner pipeline is refused at once, not at the first document.
  auto inner = nested_context(context, plan.from, plan.from_db);
  bson::Builder placeholders;
  for (const auto& [name, expression] : plan.let) placeholders.append_null(name);
  inner->define(placeholders.done());
  const Pipeline checked(plan.pipeline, *inner);
  refuse_output(checked, "$lookup", 51047);

  return std::make_unique<LookupSpec>(specification, std::move(plan));
}

}  // namespace server::query
