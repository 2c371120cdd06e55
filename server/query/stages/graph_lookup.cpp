// $graphLookup finds the documents that can be reached from each document, step by step.
//
//   startWith -> documents whose connectToField is it -> their connectFromField -> documents … up to maxDepth
//
// A step is one query, for all values that were not looked up before; an index on connectToField answers it. Each document comes
// once, however many ways lead to it.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "bson/compare.h"
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/query/expressions/expression.h"
#include "server/query/place_field.h"
#include "server/query/stages/joining.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using base::ErrorCode;
using bson::DocumentView;
using bson::Element;
using bson::Value;

namespace {

struct Plan {
  std::string from, as, connect_from, connect_to, depth_field;
  std::shared_ptr<Expression> start_with;
  bson::Document restriction;
  std::optional<int64_t> depth_max;
};

using Values = std::unordered_set<Value, bson::ValueHash, bson::ValueEqual>;

// Finds what can be reached from one document.
class Reach final : public Finding {
 public:
  Reach(const Plan& plan, const bson::Document& document, Frame& frame, PipelineContext& context)
      : plan_(plan),
        context_(context),
        asked_(0, bson::ValueHash{frame.collator()}, bson::ValueEqual{frame.collator()}),
        held_(context.allowance.memory()) {
    frame.begin(document);
    const Value start = plan_.start_with->evaluate(frame);
    if (start.type() == bson::Type::array) {
      for (const Element& element : start.view().as_document()) ask(Value(element));
    } else if (start.exists()) {
      ask(start);
    }
  }

  bool next() override {
    while (step_ || begin_step()) {
      while (step_->next()) {
        const DocumentView document = step_->document();
        const Element found = document["_id"];
        if (!found.exists()) {
          refuse(40271, "Documents in the '" + context_.db + "." + plan_.from +
                            "' namespace must contain an _id for de-duplication in $graphLookup");
        }
        Value id(found);
        const size_t id_bytes = id.view().bytes().size();
        if (!found_.insert(std::move(id)).second) continue;
        count(id_bytes);
        if (!plan_.depth_field.empty()) out_ = with_field_at(document, plan_.depth_field, Value(depth_));
        std::vector<Value> further;
        collect_values(this->document(), plan_.connect_from, further);  // which the depth may have changed
        for (Value& value : further) ask(std::move(value));
        return true;
      }
      step_.reset();
      ++depth_;
    }
    return false;
  }
  DocumentView document() override { return plan_.depth_field.empty() ? step_->document() : out_.view(); }
  void begin(OperationContext& op) override {
    if (step_) step_->begin(op);
  }
  void end() override {
    if (step_) step_->end();
  }

 private:
  // Queries for the documents to which the values lead; returns false if no step is left.
  bool begin_step() {
    if (frontier_.empty() || (plan_.depth_max && depth_ > *plan_.depth_max)) return false;
    context_.op->check_interrupt();
    step_ = std::make_unique<Subquery>(nested_context(context_, plan_.from), query());
    frontier_.clear();
    return true;
  }

  bson::Document query() const {
    bson::ArrayBuilder stages;
    {
      bson::Builder stage = stages.object();
      bson::Builder match = stage.object("$match");
      bson::ArrayBuilder both = match.array("$and");
      {
        bson::Builder connected = both.object();
        bson::Builder condition = connected.object(plan_.connect_to);
        bson::ArrayBuilder in = condition.array("$in");
        for (const Value& value : frontier_) in.append(value);
      }
      // A null leads to documents that say null, and not to those that say nothing.
      if (std::ranges::any_of(frontier_, [](const Value& value) { return value.type() == bson::Type::null; })) {
        bson::Builder connected = both.object();
        bson::Builder condition = connected.object(plan_.connect_to);
        condition.append("$exists", true);
        condition.object("$not").append("$type", "undefined");
      }
      if (!plan_.restriction.empty()) both.append(plan_.restriction.view());
    }
    return bson::Document(stages.done_value().view().as_document());
  }

  void ask(Value value) {
    if (!asked_.insert(value).second) return;
    count(value.view().bytes().size());
    frontier_.push_back(std::move(value));
  }

  void count(size_t bytes) {
    held_.add(bytes + 64);
    if (held_.bytes() > stage_memory_max) refuse(40099, "$graphLookup reached maximum memory consumption");
  }

  const Plan& plan_;
  PipelineContext& context_;
  Values asked_;                 // values that were, or are about to be, looked up
  Values found_;                 // _ids
  Held held_;                    // both
  std::vector<Value> frontier_;  // values for the next step
  int64_t depth_ = 0;
  std::unique_ptr<Subquery> step_;
  bson::Document out_;
};

class GraphLookupSpec final : public JoiningSpec {
 public:
  GraphLookupSpec(const Element& specification, Plan plan) : JoiningSpec(specification, plan.as), plan_(std::move(plan)) {}
  std::unique_ptr<Finding> find(const bson::Document& document, Frame& frame, PipelineContext& context) const override {
    return std::make_unique<Reach>(plan_, document, frame, context);
  }
  void refuse_array(size_t bytes_max) const override {
    refuse(ErrorCode::bson_object_too_large, "Total size of documents that $graphLookup reached in " + plan_.from + " exceeds " +
                                                 std::to_string(bytes_max) + " bytes");
  }

 private:
  const Plan plan_;
};

int64_t depth_of(const Element& field) {
  if (!field.is_number()) refuse(40100, "maxDepth requires numeric argument, found: " + type_of(field));
  const double depth = field.to_double();
  if (!(depth >= 0)) refuse(40101, "maxDepth requires a nonnegative argument, found: " + std::to_string(field.to_int64()));
  if (depth != std::trunc(depth) || depth > 9e18)
    refuse(40102, "maxDepth could not be represented as a long long: " + std::to_string(depth));
  return field.to_int64();
}

std::string path_of(const Element& field) {
  if (!field.is_string()) {
    refuse(40103, "expected string as argument for " + std::string(field.name) + ", found: " + type_of(field));
  }
  check_field_path(field.as_string());
  return std::string(field.as_string());
}

}  // namespace

StageSpecPtr parse_graph_lookup(const Element& specification, PipelineContext& context) {
  if (!specification.is_object()) {
    refuse(ErrorCode::failed_to_parse,
           "the $graphLookup stage specification must be an object, but found " + type_of(specification));
  }
  refuse_repeated("$graphLookup", specification.as_document());
  Plan plan;
  for (const Element& field : specification.as_document()) {
    if (field.name == "startWith") {
      plan.start_with = parse_expression(field, context.scope);
    } else if (field.name == "maxDepth") {
      plan.depth_max = depth_of(field);
    } else if (field.name == "restrictSearchWithMatch") {
      if (!field.is_object()) refuse(40185, "restrictSearchWithMatch must be an object, found " + type_of(field));
      plan.restriction = bson::Document(field.as_document());
    } else if (field.name == "from") {
      if (!field.is_string()) {
        refuse(ErrorCode::failed_to_parse,
               "$graphLookup argument 'from: " + type_of(field) + "' must be a string, is type " + type_of(field));
      }
      plan.from = field.as_string();
    } else if (field.name == "as") {
      plan.as = path_of(field);
    } else if (field.name == "connectFromField") {
      plan.connect_from = path_of(field);
    } else if (field.name == "connectToField") {
      plan.connect_to = path_of(field);
    } else if (field.name == "depthField") {
      plan.depth_field = path_of(field);
    } else {
      refuse(40104, "Unknown argument to $graphLookup: " + std::string(field.name));
    }
  }
  if (plan.from.empty() || plan.as.empty() || !plan.start_with || plan.connect_from.empty() || plan.connect_to.empty()) {
    refuse(40105, "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.");
  }
  if (!valid_collection_name(plan.from))
    refuse(ErrorCode::invalid_namespace, "invalid $graphLookup namespace: " + context.db + "." + plan.from);
  // An invalid restriction is refused at once.
  bson::ArrayBuilder stages;
  {
    bson::Builder stage = stages.object();
    stage.append("$match", plan.restriction);
  }
  auto inner = nested_context(context, plan.from);
  const Pipeline checked(bson::Document(stages.done_value().view().as_document()), *inner);
  return std::make_unique<GraphLookupSpec>(specification, std::move(plan));
}

}  // namespace server::query
