#include "server/query/stages/output.h"

#include <algorithm>

#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/core/reply_size.h"
#include "server/query/series/series_arguments.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using base::ErrorCode;
using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;
using WhenMatched = OutputPlan::WhenMatched;
using WhenNotMatched = OutputPlan::WhenNotMatched;

namespace {

constexpr size_t batch_documents = 500;
constexpr size_t batch_bytes = 2 << 20;

using Variables = std::vector<std::pair<std::string, std::shared_ptr<Expression>>>;

class Output final : public Stage {
 public:
  Output(StagePtr from, const OutputPlan& plan, const Variables& variables, PipelineContext& context)
      : Stage(std::move(from)), plan_(plan), variables_(variables), context_(context), frame_(context.scope) {}

  // Writes everything; it returns no documents.
  bool next() override {
    source().end();
    const auto sink = context_.make_sink(*context_.op, plan_);
    source().begin(*context_.op);
    std::vector<OutputDocument> batch;
    size_t bytes = 0;
    for (bool more = true; more;) {
      more = source().next();
      if (more) {
        check_document_size(source().document().size());
        batch.push_back(take(source().document()));
        bytes += batch.back().document.size();
      }
      if (batch.empty() || (more && batch.size() < batch_documents && bytes < batch_bytes)) continue;
      context_.op->check_interrupt();
      source().end();
      sink->write(batch);
      source().begin(*context_.op);
      batch.clear();
      bytes = 0;
    }
    source().end();
    sink->finish();
    return false;
  }
  DocumentView document() override { return {}; }

 private:
  OutputDocument take(DocumentView view) {
    OutputDocument out{bson::Document(view), {}};
    if (plan_.when_matched != WhenMatched::pipeline) return out;
    frame_.begin(out.document);
    bson::Builder values;
    bool has_new = false;
    for (const auto& [name, expression] : variables_) {
      Value scratch;
      const ValueView value = expression->view(frame_, scratch);
      values.append(name, value.exists() ? value : Value::null().view());
      has_new |= name == "new";
    }
    if (!has_new) values.append("new", out.document);
    out.variables = values.done();
    return out;
  }

  const OutputPlan& plan_;
  const Variables& variables_;
  PipelineContext& context_;
  Frame frame_;
};

class OutputSpec final : public PlainSpec {
 public:
  OutputSpec(const Element& specification, OutputPlan plan, Variables variables)
      : PlainSpec(specification.name, specification), plan_(std::move(plan)), variables_(std::move(variables)) {}
  StagePtr start(StagePtr source, PipelineContext& context) const override {
    return std::make_unique<Output>(std::move(source), plan_, variables_, context);
  }
  bool must_be_last() const override { return true; }
  bool in_facet() const override { return false; }
  bool writes() const override { return true; }

 private:
  OutputPlan plan_;
  Variables variables_;
};

std::string required_text(const Element& field, const std::string& path) {
  if (!field.exists() || field.is_nullish()) refuse(40414, "BSON field '" + path + "' is missing but a required field");
  if (!field.is_string()) {
    refuse(ErrorCode::type_mismatch,
           "BSON field '" + path + "' is the wrong type '" + type_of(field) + "', expected type 'string'");
  }
  return std::string(field.as_string());
}

void check_target(const OutputPlan& plan, const std::string& stage, int special, int internal) {
  const std::string cannot = plan.merge ? "Cannot " : "Can't ";
  if (!valid_namespace(plan.db, plan.collection))
    refuse(ErrorCode::invalid_namespace, "Invalid " + stage + " target namespace, " + plan.db + "." + plan.collection);
  if (plan.collection.starts_with("system.")) refuse(special, cannot + stage + " to special collection: " + plan.collection);
  const std::string_view itself = std::string_view(plan.db).substr(0, plan.db.find('@'));
  if (itself == "admin" || itself == "config" || itself == "local")
    refuse(internal, cannot + stage + " to internal database: " + plan.db);
}

void parse_into(const Element& into, OutputPlan& plan) {
  if (into.is_string()) {
    plan.collection = into.as_string();
  } else if (into.is_object()) {
    refuse_repeated("$merge.into", into.as_document());
    for (const Element& field : into.as_document()) {
      if (field.name == "db") {
        plan.db = required_text(field, "$merge.into.db");
      } else if (field.name == "coll") {
        plan.collection = required_text(field, "$merge.into.coll");
      } else {
        refuse(40415, "BSON field 'into." + std::string(field.name) + "' is an unknown field.");
      }
    }
    if (plan.collection.empty()) refuse(51178, "$merge 'into' field must specify a 'coll' that is not empty, null or undefined");
  } else {
    refuse(51178, "$merge 'into' field  must be either a string or an object, but found " + type_of(into));
  }
}

void add_on(const Element& field, OutputPlan& plan) {
  if (!field.is_string()) refuse(51134, "$merge 'on' array elements must be strings, but found " + type_of(field));
  const std::string name(field.as_string());
  check_field_path(name);
  if (std::find(plan.on.begin(), plan.on.end(), name) != plan.on.end()) refuse(31465, "Found a duplicate field '" + name + "'");
  plan.on.push_back(name);
}

void parse_on(const Element& on, OutputPlan& plan) {
  if (on.is_string()) return add_on(on, plan);
  if (!on.is_array())
    refuse(51186, "$merge 'on' field  must be either a string or an array of strings, but found " + type_of(on));
  for (const Element& field : on.as_document()) add_on(field, plan);
  if (plan.on.empty()) refuse(51187, "If explicitly specifying $merge 'on', must include at least one field");
}

[[noreturn]] void bad_mode(const Element& field) {
  refuse(ErrorCode::bad_value, "Enumeration value '" + std::string(field.as_string()) + "' for field '$merge." +
                                   std::string(field.name) + "' is not a valid value.");
}

void parse_when_matched(const Element& field, OutputPlan& plan) {
  if (field.is_array()) {
    plan.when_matched = WhenMatched::pipeline;
    for (const Element& stage : field.as_document()) (void)stage_parser(stage);
    plan.pipeline = bson::Document(field.as_document());
    return;
  }
  if (!field.is_string())
    refuse(51191, "$merge 'whenMatched' field  must be either a string or an array, but found " + type_of(field));
  const std::string_view mode = field.as_string();
  if (mode == "replace")
    plan.when_matched = WhenMatched::replace;
  else if (mode == "keepExisting")
    plan.when_matched = WhenMatched::keep_existing;
  else if (mode == "merge")
    plan.when_matched = WhenMatched::merge;
  else if (mode == "fail")
    plan.when_matched = WhenMatched::fail;
  else
    bad_mode(field);
}

void parse_when_not_matched(const Element& field, OutputPlan& plan) {
  const std::string mode = required_text(field, "$merge.whenNotMatched");
  if (mode == "insert")
    plan.when_not_matched = WhenNotMatched::insert;
  else if (mode == "discard")
    plan.when_not_matched = WhenNotMatched::discard;
  else if (mode == "fail")
    plan.when_not_matched = WhenNotMatched::fail;
  else
    bad_mode(field);
}

const char* mode_name(WhenMatched mode) {
  switch (mode) {
    case WhenMatched::replace: return "replace";
    case WhenMatched::keep_existing: return "keepExisting";
    case WhenMatched::merge: return "merge";
    case WhenMatched::fail: return "fail";
    case WhenMatched::pipeline: return "pipeline";
  }
  return "";
}

Variables parse_let(const Element& let, OutputPlan& plan, PipelineContext& context) {
  Variables variables;
  if (!let.exists() || let.is_nullish()) return variables;
  if (!let.is_object()) {
    refuse(ErrorCode::type_mismatch, "BSON field '$merge.let' is the wrong type '" + type_of(let) + "', expected type 'object'");
  }
  if (plan.when_matched != WhenMatched::pipeline) {
    refuse(51199, std::string("Cannot use 'let' variables with 'whenMatched: ") + mode_name(plan.when_matched) + "' mode");
  }
  for (const Element& variable : let.as_document()) {
    if (variable.name == "new" && !(variable.is_string() && variable.as_string() == "$$ROOT")) {
      refuse(51273, "'let' may not define a value for the reserved 'new' variable other than '$$ROOT'");
    }
    variables.emplace_back(variable.name, parse_expression(variable, context.scope));
    plan.variables.emplace_back(variable.name);
  }
  return variables;
}

// If existing documents are kept or refused, the others can only be inserted.
void check_modes(const OutputPlan& plan) {
  const bool keeps = plan.when_matched == WhenMatched::keep_existing || plan.when_matched == WhenMatched::fail;
  if (!keeps || plan.when_not_matched == WhenNotMatched::insert) return;
  refuse(51181, std::string("Combination of $merge modes 'whenMatched: ") + mode_name(plan.when_matched) +
                    "' and 'whenNotMatched: " + (plan.when_not_matched == WhenNotMatched::fail ? "fail" : "discard") +
                    "' is not supported");
}

}  // namespace

StageSpecPtr parse_out(const Element& specification, PipelineContext& context) {
  OutputPlan plan;
  plan.db = context.db;
  if (specification.is_string()) {
    plan.collection = specification.as_string();
  } else if (specification.is_object()) {
    const DocumentView fields = specification.as_document();
    refuse_repeated("$out", fields);
    for (const Element& field : fields) {
      if (field.name == series_option && field.is_nullish()) continue;
      if (field.name == series_option) {
        if (!field.is_object()) {
          refuse(ErrorCode::type_mismatch,
                 "BSON field '$out.timeseries' is the wrong type '" + type_of(field) + "', expected type 'object'");
        }
        plan.series = parse_series(Arguments("$out.timeseries", field.as_document()));
        continue;
      }
      if (field.name != "db" && field.name != "coll")
        refuse(40415, "BSON field '$out." + std::string(field.name) + "' is an unknown field.");
    }
    plan.db = required_text(fields["db"], "$out.db");
    plan.collection = required_text(fields["coll"], "$out.coll");
  } else {
    refuse(16990, "$out only supports a string or object argument, but found " + type_of(specification));
  }
  check_target(plan, "$out", 17385, 31321);
  return std::make_unique<OutputSpec>(specification, std::move(plan), Variables{});
}

StageSpecPtr parse_merge(const Element& specification, PipelineContext& context) {
  OutputPlan plan;
  plan.merge = true;
  plan.collator = context.scope.collator();
  plan.db = context.db;
  Variables variables;
  if (specification.is_string()) {
    plan.collection = specification.as_string();
  } else if (specification.is_object()) {
    const DocumentView fields = specification.as_document();
    refuse_repeated("$merge", fields);
    for (const Element& field : fields) {
      if (field.name == "into")
        parse_into(field, plan);
      else if (field.name == "on")
        parse_on(field, plan);
      else if (field.name == "whenMatched")
        parse_when_matched(field, plan);
      else if (field.name == "whenNotMatched")
        parse_when_not_matched(field, plan);
      else if (field.name != "let")
        refuse(40415, "BSON field '$merge." + std::string(field.name) + "' is an unknown field.");
    }
    if (!fields.has("into")) refuse(40414, "BSON field '$merge.into' is missing but a required field");
    variables = parse_let(fields["let"], plan, context);
  } else {
    refuse(51182, "$merge requires a string or object argument, but found " + type_of(specification));
  }
  const bool given = !plan.on.empty();
  if (!given) plan.on = {"_id"};
  check_modes(plan);
  check_target(plan, "$merge", 31319, 31320);
  if (given && context.check_unique) context.check_unique(*context.op, plan);
  return std::make_unique<OutputSpec>(specification, std::move(plan), std::move(variables));
}

}  // namespace server::query
