// $lookup finds documents of another collection that belong to each document.
//
// With localField/foreignField it is a query by equality, which an index on the
// foreign field answers; with a pipeline, it runs that pipeline with `let` bound.
#include <set>

#include "bson/compare.h"
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/query/expressions/expression.h"
#include "server/query/let_variables.h"
#include "server/query/place_field.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "server/query/stages/transform.h"

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

// These are the options of the $unwind of the matches, if one follows.
struct EachMatch {
  std::string index_field;  // empty: none
  bool keep_empty = false;
};

// Finds a document's matches, one at a time.
class Matches {
 public:
  Matches(const Plan& plan, PipelineContext& outer, Frame& frame, const bson::Document& document)
      : inner_(nested_context(outer, plan.from, plan.from_db)) {
    frame.begin(document);
    bson::Builder variables;
    for (const auto& [name, expression] : plan.let) {
      Value scratch;
      const ValueView value = expression->view(frame, scratch);
      variables.append(name, value.exists() ? value : ValueView(bson::Type::undefined, {}));  // it stays missing: Scope::define
      frame.keep(0, variables.size());
    }
    inner_->define(variables.done());
    frame.keep(0, 0);
    stages_ = with_equality(plan, document);
    pipeline_ = std::make_unique<Pipeline>(stages_, *inner_);
    stage_ = pipeline_->start();
  }

  bool next() { return stage_->next(); }
  DocumentView document() { return stage_->document(); }
  void begin(OperationContext& op) {
    inner_->op = &op;
    stage_->begin(op);
  }
  void end() { stage_->end(); }

 private:
  // Returns the stages to run: the equality as a $match before the pipeline's own.
  static bson::Document with_equality(const Plan& plan, const bson::Document& document) {
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

  std::unique_ptr<PipelineContext> inner_;
  bson::Document stages_;
  std::unique_ptr<Pipeline> pipeline_;
  StagePtr stage_;
};

// Puts all matches of a document into an array.
class Lookup final : public Stage {
 public:
  Lookup(StagePtr from, const Plan& plan, PipelineContext& context)
      : Stage(std::move(from)), plan_(plan), context_(context), frame_(context.scope), held_(context.allowance.memory()) {}

  bool next() override {
    if (!source().next()) return false;
    context_.op->check_interrupt();
    const bson::Document document(source().document());
    out_ = with_field_at(document, plan_.as, matches(document));
    held_.set(out_.size());
    return true;
  }
  DocumentView document() override { return out_; }

 private:
  Value matches(const bson::Document& document) {
    Matches matches(plan_, context_, frame_, document);
    bson::ArrayBuilder found;
    while (matches.next()) {
      const DocumentView match = matches.document();
      if (document.size() + found.size() + match.size() > joined_bytes_max) {
        refuse(4568, "Total size of documents in " + plan_.from + " matching pipeline's $lookup stage exceeds " +
                         std::to_string(joined_bytes_max) + " bytes");
      }
      found.append(match);
      held_.set(document.size() + found.size());
    }
    return found.done_value();
  }
  // The document in which the matches are is built as a whole, with names and lengths besides.
  static constexpr size_t joined_bytes_max = bson::buffer_bytes_max - (1 << 20);

  const Plan& plan_;
  PipelineContext& context_;
  Frame frame_;
  Held held_;  // out_, or what is found so far
  bson::Document out_;
};

// Returns a document for each match, so their number has no limit.
class UnwoundLookup final : public Stage {
 public:
  UnwoundLookup(StagePtr from, const Plan& plan, const EachMatch& how, PipelineContext& context)
      : Stage(std::move(from)),
        plan_(plan),
        how_(how),
        context_(context),
        frame_(context.scope),
        held_(context.allowance.memory()) {}

  bool next() override {
    for (;;) {
      if (!matches_) {
        if (!source().next()) return false;
        context_.op->check_interrupt();
        document_ = bson::Document(source().document());
        matches_ = std::make_unique<Matches>(plan_, context_, frame_, document_);
        found_ = 0;
      }
      if (matches_->next()) {
        context_.allowance.work_on(document_.size());
        emit(Value(matches_->document()), Value(found_++));
        return true;
      }
      matches_.reset();
      if (found_ > 0 || !how_.keep_empty) continue;
      emit(Value(), Value::null());
      return true;
    }
  }
  DocumentView document() override { return out_; }
  void begin(OperationContext& op) override {
    Stage::begin(op);
    if (matches_) matches_->begin(op);
  }
  void end() override {
    if (matches_) matches_->end();
    Stage::end();
  }

 private:
  void emit(const Value& match, const Value& index) {
    out_ = with_field_at(document_, plan_.as, match);
    if (!how_.index_field.empty()) out_ = with_field_at(out_, how_.index_field, index);
    held_.set(document_.size() + out_.size());
  }

  const Plan& plan_;
  const EachMatch& how_;
  PipelineContext& context_;
  Frame frame_;
  Held held_;  // document_ and out_
  bson::Document document_;
  std::unique_ptr<Matches> matches_;  // of document_; nullptr: it has no more
  int64_t found_ = 0;
  bson::Document out_;
};

class LookupSpec final : public PlainSpec, public Joining {
 public:
  LookupSpec(const Element& specification, Plan plan) : PlainSpec("$lookup", specification), plan_(std::move(plan)) {}
  StagePtr start(StagePtr source, PipelineContext& context) const override {
    if (each_) return std::make_unique<UnwoundLookup>(std::move(source), plan_, *each_, context);
    return std::make_unique<Lookup>(std::move(source), plan_, context);
  }
  std::string_view joined_path() const override { return plan_.as; }
  void unwind(const Unwinding& how) override { each_ = EachMatch{std::string(how.index_field()), how.keeps_empty()}; }

 private:
  Plan plan_;
  std::optional<EachMatch> each_;
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
