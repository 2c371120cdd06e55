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
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {

using base::ErrorCode;
using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

namespace {

struct Plan {
  std::string from, as, connect_from, connect_to, depth_field;
  std::shared_ptr<Expression> start_with;
  bson::Document restriction;
  std::optional<int64_t> depth_max;
};

using Values = std::unordered_set<Value, bson::ValueHash, bson::ValueEqual>;

class GraphLookup final : public Stage {
 public:
  GraphLookup(StagePtr from, const Plan& plan, PipelineContext& context)
      : Stage(std::move(from)),
        plan_(plan),
        context_(context),
        frame_(context.scope),
        asked_(0, bson::ValueHash{frame_.collator()}, bson::ValueEqual{frame_.collator()}),
        held_(context.allowance.memory()) {}

  bool next() override {
    if (!source().next()) return false;
    const bson::Document document(source().document());
    out_ = with_field_at(document, plan_.as, reached_from(document));
    held_.set(out_.size());
    return true;
  }
  DocumentView document() override { return out_; }

 private:
  Value reached_from(const bson::Document& document) {
    asked_.clear();
    found_.clear();
    held_.set(0);
    document_bytes_ = document.size();
    bson::ArrayBuilder reached;
    frame_.begin(document);
    const Value start = plan_.start_with->evaluate(frame_);
    std::vector<Value> frontier;
    if (start.type() == bson::Type::array) {
      for (const Element& element : start.view().as_document()) add(frontier, Value(element));
    } else if (start.exists()) {
      add(frontier, start);
    }
    for (int64_t depth = 0; !frontier.empty() && (!plan_.depth_max || depth <= *plan_.depth_max); ++depth) {
      context_.op->check_interrupt();
      frontier = step(frontier, depth, reached);
    }
    return reached.done_value();
  }

  // Finds the documents to which the values lead; returns the values that lead on from them.
  std::vector<Value> step(const std::vector<Value>& frontier, int64_t depth, bson::ArrayBuilder& reached) {
    auto inner = nested_context(context_, plan_.from);
    const bson::Document stages = query(frontier);
    const Pipeline pipeline(stages, *inner);
    const StagePtr stage = pipeline.start();
    std::vector<Value> next;
    while (stage->next()) {
      const DocumentView document = stage->document();
      if (!found_.insert(Value(document["_id"])).second) continue;
      count(document.size());
      if (document_bytes_ + reached.size() + document.size() > reached_bytes_max) {
        refuse(ErrorCode::bson_object_too_large, "Total size of documents that $graphLookup reached in " + plan_.from +
                                                     " exceeds " + std::to_string(reached_bytes_max) + " bytes");
      }
      if (plan_.depth_field.empty()) {
        reached.append(document);
      } else {
        reached.append(with_field_at(document, plan_.depth_field, Value(depth)).view());
      }
      std::vector<Value> further;
      collect_values(document, plan_.connect_from, further);
      for (Value& value : further) add(next, std::move(value));
    }
    return next;
  }

  bson::Document query(const std::vector<Value>& frontier) const {
    bson::ArrayBuilder stages;
    {
      bson::Builder stage = stages.object();
      bson::Builder match = stage.object("$match");
      bson::ArrayBuilder both = match.array("$and");
      {
        bson::Builder connected = both.object();
        bson::Builder condition = connected.object(plan_.connect_to);
        bson::ArrayBuilder in = condition.array("$in");
        for (const Value& value : frontier) in.append(value);
      }
      // A null leads to documents that say null, and not to those that say nothing.
      if (std::ranges::any_of(frontier, [](const Value& value) { return value.type() == bson::Type::null; })) {
        bson::Builder connected = both.object();
        bson::Builder condition = connected.object(plan_.connect_to);
        condition.append("$exists", true);
        condition.object("$not").append("$type", "undefined");
      }
      if (!plan_.restriction.empty()) both.append(plan_.restriction.view());
    }
    return bson::Document(stages.done_value().view().as_document());
  }

  void add(std::vector<Value>& frontier, Value value) {
    if (!asked_.insert(value).second) return;
    count(value.view().bytes().size());
    frontier.push_back(std::move(value));
  }

  void count(size_t bytes) {
    held_.add(bytes + 64);
    if (held_.bytes() > stage_memory_max) refuse(40099, "$graphLookup reached maximum memory consumption");
  }

  // The document in which they are is built as a whole, with names and lengths besides.
  static constexpr size_t reached_bytes_max = bson::buffer_bytes_max - (1 << 20);

  const Plan& plan_;
  PipelineContext& context_;
  Frame frame_;
  size_t document_bytes_ = 0;  // of the current document
  Values asked_;               // values that were, or are about to be, looked up
  Values found_;               // _ids
  Held held_;                  // what was met for the current document, then out_
  bson::Document out_;
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
  return make_spec(specification, [plan = std::move(plan)](StagePtr source, PipelineContext& running) -> StagePtr {
    return std::make_unique<GraphLookup>(std::move(source), plan, running);
  });
}

}  // namespace server::query
