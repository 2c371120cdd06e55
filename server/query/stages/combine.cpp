// $facet, $unionWith and $documents put several pipelines, or none, behind one.
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/spill_file.h"
#include "server/query/stages/support.h"
#include "storage/store.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;
using bson::Value;

namespace {

// A Nested is a pipeline together with its context.
struct Nested {
  std::unique_ptr<PipelineContext> context;
  std::unique_ptr<Pipeline> pipeline;
};

using Facets = std::vector<std::pair<std::string, bson::Document>>;

// Keeps $facet's input, which is read once for each pipeline: in memory, and from some size on in a file.
class FacetInput {
 public:
  explicit FacetInput(PipelineContext& context) : context_(context), held_(context.allowance.memory()) {}

  void take(DocumentView document) {
    if (!file_) {
      const size_t bytes = sizeof(bson::Document) + document.size();
      const bool full = held_.bytes() + bytes > stage_memory_max;
      // Others may have taken the memory before this stage's share is full.
      if (!full && held_.add_if_room(bytes)) {
        documents_.emplace_back(document);
        return;
      }
      if (!full && (!context_.allow_disk_use || held_.bytes() < short_input_bytes)) {
        held_.add(bytes);  // throws, unless there is room by now
        documents_.emplace_back(document);
        return;
      }
      spill();
    }
    file_->write(bson::Document(document));
  }

  void rewind() {
    at_ = 0;
    if (file_) file_->rewind();
  }
  bool next() {
    if (!file_) return ++at_ <= documents_.size();
    auto read = file_->read();
    if (!read) return false;
    current_ = *std::move(read);
    return true;
  }
  DocumentView document() const { return file_ ? current_ : documents_[at_ - 1]; }

 private:
  static constexpr size_t short_input_bytes = 64 << 10;

  void spill() {
    if (!context_.allow_disk_use) {
      refuse(base::ErrorCode::query_exceeded_memory_limit_no_disk_use_allowed,
             "Exceeded memory limit for $facet, but didn't allow external spilling. Pass allowDiskUse:true to opt in.");
    }
    file_ = std::make_unique<SpillFile>(spill_directory(*context_.op), context_.op->services().store->engine());
    for (const bson::Document& document : documents_) file_->write(document);
    documents_ = {};
    held_.set(0);
  }

  PipelineContext& context_;
  Held held_;  // documents_
  std::vector<bson::Document> documents_;
  size_t at_ = 0;
  std::unique_ptr<SpillFile> file_;  // set: it has all documents
  bson::Document current_;           // of the file
};

// Shows the same documents to each of $facet's pipelines.
class InputStage final : public Stage {
 public:
  InputStage(FacetInput& input, Allowance& allowance) : Stage(nullptr), input_(input), allowance_(allowance) { input_.rewind(); }
  bool next() override {
    allowance_.work();
    return input_.next();
  }
  DocumentView document() override { return input_.document(); }

 private:
  FacetInput& input_;
  Allowance& allowance_;
};

// Reads its input once, then runs each pipeline over it.
class Facet final : public Stage {
 public:
  Facet(StagePtr from, const Facets& facets, PipelineContext& context)
      : Stage(std::move(from)), facets_(facets), context_(context) {}

  bool next() override {
    if (std::exchange(done_, true)) return false;
    FacetInput input(context_);
    while (source().next()) input.take(source().document());
    Held held(context_.allowance.memory());
    size_t bytes = 0;  // of the results
    bson::Builder out;
    for (const auto& [name, stages] : facets_) {
      auto inner = nested_context(context_, {});  // it reads no collection
      const Pipeline pipeline(stages, *inner);
      StagePtr stage = pipeline.start_over(std::make_unique<InputStage>(input, inner->allowance));
      bson::ArrayBuilder results = out.array(name);
      while (stage->next()) {
        results.append(stage->document());
        held.set(bytes + results.size());
        // Stages after this one may make the document smaller; no client gets one above 16 MB.
        if (results.size() > stage_memory_max)
          refuse(4031700, "document constructed by $facet is larger than " + std::to_string(stage_memory_max) + " bytes");
      }
      bytes += results.size();
    }
    out_ = out.done();
    return true;
  }
  DocumentView document() override { return out_; }

 private:
  const Facets& facets_;
  PipelineContext& context_;
  bool done_ = false;
  bson::Document out_;
};

struct UnionPlan {
  std::string db, collection;  // empty: the pipeline's own; also for stages that make their own documents
  bson::Document stages;
};

class Union final : public Stage {
 public:
  Union(StagePtr from, const UnionPlan& plan, PipelineContext& context)
      : Stage(std::move(from)), plan_(plan), context_(context) {}

  bool next() override {
    if (!second_) {
      if (source().next()) return true;
      Stage::end();  // it has nothing more, and no later operation begins it again
      inner_ = nested_context(context_, plan_.collection, plan_.db);
      pipeline_ = std::make_unique<Pipeline>(plan_.stages, *inner_);
      second_ = pipeline_->start();
    }
    return second_->next();
  }
  DocumentView document() override { return second_ ? second_->document() : source().document(); }
  void begin(OperationContext& op) override {
    if (second_) {
      inner_->op = &op;
      second_->begin(op);
    } else {
      Stage::begin(op);
    }
  }
  void end() override { second_ ? second_->end() : Stage::end(); }

 private:
  const UnionPlan& plan_;
  PipelineContext& context_;
  std::unique_ptr<PipelineContext> inner_;
  std::unique_ptr<Pipeline> pipeline_;
  StagePtr second_;
};

class DocumentsSpec final : public SourceSpec {
 public:
  DocumentsSpec(const Element& specification, std::vector<bson::Document> documents)
      : SourceSpec("$documents", specification), documents_(std::move(documents)) {}
  StagePtr start(StagePtr, PipelineContext&) const override { return std::make_unique<ListStage>(documents_); }

 private:
  std::vector<bson::Document> documents_;
};

}  // namespace

StageSpecPtr parse_facet(const Element& specification, PipelineContext& context) {
  if (!specification.is_object() || specification.as_document().empty()) {
    refuse(40169, "the $facet specification must be a non-empty object");
  }
  Facets facets;
  for (const Element& field : specification.as_document()) {
    if (!field.is_array()) {
      refuse(40170, "arguments to $facet must be arrays, " + std::string(field.name) + " is type " + type_of(field));
    }
    for (const Element& stage : field.as_document()) {
      if (stage.is_object()) continue;
      refuse(40171, "elements of arrays in $facet spec must be non-empty objects, " + std::string(field.name) +
                        " argument contained an element of type " + type_of(stage));
    }
    check_field_path(field.name);
    if (field.name.find('.') != field.name.npos)
      refuse(16412, "FieldPath field names may not contain '.'. Consider using $getField or $setField.");
    auto inner = nested_context(context, {});
    const Pipeline checked(field.as_document(), *inner);
    for (const StageSpecPtr& spec : checked.specs()) {
      if (!spec->in_facet() || spec->is_source()) {
        refuse(40600, std::string(spec->name()) + " is not allowed to be used within a $facet stage");
      }
    }
    facets.emplace_back(field.name, bson::Document(field.as_document()));
  }
  class FacetSpec final : public PlainSpec {
   public:
    FacetSpec(const Element& specification, Facets facets) : PlainSpec("$facet", specification), facets_(std::move(facets)) {}
    StagePtr start(StagePtr source, PipelineContext& context) const override {
      return std::make_unique<Facet>(std::move(source), facets_, context);
    }
    bool in_facet() const override { return false; }

   private:
    Facets facets_;
  };
  return std::make_unique<FacetSpec>(specification, std::move(facets));
}

StageSpecPtr parse_union_with(const Element& specification, PipelineContext& context) {
  UnionPlan plan;
  if (specification.is_string()) {
    plan.collection = specification.as_string();
  } else if (specification.is_object()) {
    const Arguments arguments("$unionWith", specification.as_document());
    arguments.only({"db", "coll", "pipeline"});
    plan.db = arguments.string("db").value_or("");
    if (!plan.db.empty())
      plan.collection = arguments.required_string("coll");
    else
      plan.collection = arguments.string("coll").value_or("");
    if (const auto stages = arguments.array("pipeline")) plan.stages = bson::Document(*stages);
  } else {
    refuse(base::ErrorCode::failed_to_parse,
           "the $unionWith stage specification must be an object or string, but found " + type_of(specification));
  }
  const std::string& db = plan.db.empty() ? context.db : plan.db;
  const bool valid = valid_collection_name(plan.collection) && (plan.db.empty() || valid_database_name(plan.db));
  if (!plan.collection.empty() && !valid)
    refuse(base::ErrorCode::invalid_namespace, "invalid $unionWith namespace: " + db + "." + plan.collection);
  auto inner = nested_context(context, plan.collection, plan.db);
  const Pipeline checked(plan.stages, *inner);
  refuse_output(checked, "$unionWith", 31441);
  if (plan.collection.empty() && (checked.empty() || !checked.specs()[0]->is_source())) {
    refuse(base::ErrorCode::failed_to_parse,
           "$unionWith stage without explicit collection must have a pipeline with $documents as first stage");
  }
  return make_spec(specification, [plan = std::move(plan)](StagePtr source, PipelineContext& running) -> StagePtr {
    return std::make_unique<Union>(std::move(source), plan, running);
  });
}

StageSpecPtr parse_documents(const Element& specification, PipelineContext& context) {
  const ExpressionPtr expression = parse_expression(specification, context.scope);
  Frame frame(context.scope);
  const Value list = expression->evaluate(frame);
  if (list.type() != bson::Type::array) refuse(5858203, "an array is expected");
  std::vector<bson::Document> documents;
  for (const Element& element : list.view().as_document()) {
    if (!element.is_object())
      refuse(40228, "'newRoot' expression must evaluate to an object, but resulting value was of type " + type_of(element));
    documents.emplace_back(element.as_document());
  }
  return std::make_unique<DocumentsSpec>(specification, std::move(documents));
}

}  // namespace server::query
