#include "server/query/stages/pipeline.h"

#include <algorithm>

#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/document_metadata.h"
#include "server/query/expressions/system_variables.h"
#include "server/query/plan_notes.h"
#include "server/query/reader.h"
#include "server/query/series/bucket_index.h"
#include "server/query/stages/counted.h"
#include "server/query/stages/geo_near.h"
#include "server/query/stages/pipeline_metadata.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "server/query/stages/unpack_bucket.h"
#include "server/query/views.h"
#include "storage/store.h"

namespace server::query {
namespace {

constexpr int depth_max = 20;

// The planner's executor is the first stage.
class CursorStage final : public Stage {
 public:
  CursorStage(PipelineContext& context, const std::string& collection, const Query& query)
      : Stage(nullptr), op_(context.op), outermost_(context.depth == 0) {
    const std::string ns = context.db + "." + collection;
    reader_ = std::make_unique<Reader>(*context.op, open_collection(*context.op, ns), ns, query, &context.allowance);
    if (outermost_) note_plan(*op_, reader_->executor());
  }
  ~CursorStage() override {
    if (!ended_) report();
  }
  bool next() override { return reader_->next(); }
  bson::DocumentView document() override { return reader_->document(); }
  void begin(OperationContext& op) override {
    op_ = &op;
    if (std::exchange(ended_, false)) reader_->begin(op);
  }
  void end() override {
    if (std::exchange(ended_, true)) return;
    report();
    reader_->end();
  }

 private:
  // Reports what it examined in this operation; other parts of the pipeline report theirs.
  void report() {
    const ExecutionStats stats = reader_->executor().stats();
    OperationContext::Counts& counts = op_->counts;
    counts.keys_examined =
        std::max<int64_t>(0, counts.keys_examined) + stats.keys_examined - std::exchange(keys_reported_, stats.keys_examined);
    counts.docs_examined = std::max<int64_t>(0, counts.docs_examined) + stats.docs_examined -
                           std::exchange(documents_reported_, stats.docs_examined);
    if (outermost_) note_execution(*op_, reader_->executor());
  }

  OperationContext* op_;
  const bool outermost_;
  int64_t keys_reported_ = 0, documents_reported_ = 0;
  std::unique_ptr<Reader> reader_;
  bool ended_ = false;
};

// Combines a filter with the next one. Many of them in a row stay a flat list, since the depth of filters is limited.
bson::Document both(bson::DocumentView a, bson::DocumentView b) {
  if (a.empty()) return bson::Document(b);
  const bson::Element first = a.first();
  bson::Builder out;
  {
    bson::ArrayBuilder all = out.array("$and");
    if (first.name == "$and" && first.is_array() && a.count() == 1) {
      for (const bson::Element& one : first.as_document()) all.append(static_cast<const bson::ValueView&>(one));
    } else {
      all.append(a);
    }
    all.append(b);
  }
  return out.done();
}

// A hint names an index by the key that the time series shows, or by its name, which is the same in the buckets.
void translate_hint(const SeriesOptions& series, PipelineContext& context) {
  if (context.hint.type() != bson::Type::object) return;
  try {
    context.hint = bson::Value(bucket_key(series, context.hint.view().as_document()));
  } catch (const base::OperationError&) {
    // No index has that key; the planner says so.
  }
}

// If the context's collection is a view: goes on with the view's own collection. Returns the view's stages.
// `behind`: the place of the metadata of the documents that the view shows; nullptr: nobody behind it reads them.
std::vector<StageSpecPtr> stages_of_view(PipelineContext& context, const std::vector<StageSpecPtr>& specs,
                                         std::shared_ptr<MetadataPlace> behind) {
  std::vector<StageSpecPtr> stages;
  if (!context.op || context.collection.empty()) return stages;
  const std::string_view source = !specs.empty() && specs[0]->is_source() ? specs[0]->name() : std::string_view();
  if (source == "$collStats" || source == "$acrossSnapshots") return stages;  // they look at the view themselves
  const auto view = resolve_view(*context.op, context.db, context.collection);
  if (!view) return stages;
  if (source == "$changeStream") {
    refuse(base::ErrorCode::command_not_supported_on_view,
           "Namespace " + context.db + "." + context.collection + " is a view, not a collection");
  }
  // A view that is read from another pipeline has no comparisons of its own: all are that pipeline's.
  if (context.depth > 0 && !view->series && !context.as_it_was) (void)view_collator(*view, context.scope.collator());
  context.collection = view->on;
  if (view->series) translate_hint(*view->series, context);
  if (auto* const describing = view->series && !specs.empty() ? dynamic_cast<Describing*>(specs[0].get()) : nullptr) {
    describing->show(*view->series);
    return stages;
  }
  if (!behind) begin_metadata(view->pipeline.view().first(), context);
  ViewMetadata metadata(view->pipeline, behind ? std::move(behind) : std::make_shared<MetadataPlace>(), context);
  for (const bson::Element& stage : view->pipeline) {
    // A time series' own stage isn't the client's, so it needn't be in the client's version of the API.
    const bson::Element first = stage.is_object() ? stage.as_document().first() : bson::Element();
    stages.push_back(first.name == unpack_stage ? parse_unpack_bucket(first, context) : parse_stage(stage, context));
    metadata.parsed(first.name);
  }
  return stages;
}

// Buckets that can't have measurements for the $match stages behind are left out before they are unpacked.
void narrow_buckets(std::vector<StageSpecPtr>& specs, PipelineContext& context) {
  const auto* const unpacking = specs.empty() ? nullptr : dynamic_cast<const Unpacking*>(specs[0].get());
  if (!unpacking) return;
  bson::Document all;
  const Filtering* match = nullptr;
  for (size_t i = 1; i < specs.size() && (match = dynamic_cast<const Filtering*>(specs[i].get())); ++i) {
    const bson::Document filter = unpacking->input_filter(match->filter());
    if (!filter.empty()) all = both(all, filter);
  }
  if (all.empty()) return;
  bson::Builder stage;
  stage.append("$match", all);
  const bson::Document specification = stage.done();
  specs.insert(specs.begin(), parse_match(specification.view().first(), context));
}

}  // namespace

PipelineContext::PipelineContext(int64_t now_ms, OperationContext* current)
    : op(current), allowance(op, current ? &current->services().memory : nullptr), scope(now_ms, &allowance) {
  if (current) define(system_variables(*current));
}

PipelineContext::PipelineContext(PipelineContext& outer)
    : op(outer.op), allowance(op, nullptr, &outer.allowance), scope(outer.scope.now_ms(), &allowance) {
  scope.set_collator(outer.scope.collator());
  writes = outer.writes;
}

void PipelineContext::define(bson::DocumentView variables) {
  let_held.set(let.size() + variables.size());
  bson::Builder all;
  for (const bson::Element& known : let) {
    allowance.work_on(variables.size());
    if (!variables.has(known.name)) all.append_element(known);
  }
  all.append_all(variables);
  let = all.done();
  constexpr size_t copies = 2;  // this one, and that of the query under the stages
  let_held.set(copies * let.size());
  for (const bson::Element& variable : variables) scope.define(std::string(variable.name), bson::Value(variable));
}

Pipeline::Pipeline(bson::DocumentView stages, PipelineContext& context) : context_(context), held_(context.allowance.memory()) {
  held_.set(parsed_bytes(stages.size()));
  if (context.op) context.op->check_interrupt();  // views may multiply pipelines: each may read the next one twice
  if (context.depth > depth_max) {
    refuse(5787900, "Maximum number of nested sub-pipelines exceeded. Limit is " + std::to_string(depth_max));
  }
  std::shared_ptr<MetadataPlace> behind_view;
  if (context.op && !context.collection.empty() && mentions_metadata(stages)) {
    if (const auto view = resolve_view(*context.op, context.db, context.collection)) {
      pass_metadata(view->pipeline, context);
      behind_view = context.scope.metadata();
    }
  }
  for (const bson::Element& stage : stages) {
    if (specs_.size() == 1000) {
      refuse(7749501, "Pipeline length must be no longer than 1000 stages.");
    }
    if (specs_.empty() && !behind_view) begin_metadata(stage, context);
    specs_.push_back(parse_stage(stage, context));
    keep_metadata(specs_.back()->name(), context);
  }
  auto first = stages_of_view(context, specs_, std::move(behind_view));
  specs_.insert(specs_.begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
  narrow_buckets(specs_, context);
  context.writes |= !specs_.empty() && specs_.back()->writes();
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i]->is_source() && i != 0) {
      refuse(40602, std::string(specs_[i]->name()) + " is only valid as the first stage in a pipeline");
    }
    // Documents that come with the request are the same at any time, and the planner's are those of the moment; other sources
    // read the present.
    const bool timeless = specs_[i]->name() == "$documents" || dynamic_cast<const Asking*>(specs_[i].get());
    if (specs_[i]->is_source() && !timeless && context.op->moment && context.op->moment->is_declared()) {
      refuse(base::ErrorCode::invalid_options,
             "Aggregation stage " + std::string(specs_[i]->name()) + " cannot run with the atClusterTime of a declared snapshot");
    }
    if (i != 0) refuse_text(*specs_[i]);
    if (specs_[i]->must_be_last() && i + 1 != specs_.size()) {
      refuse(40601, std::string(specs_[i]->name()) + " can only be the final stage in the pipeline");
    }
    // A source leaves documents out by comparing bytes.
    auto* const narrowing = context.scope.collator() ? nullptr : dynamic_cast<Narrowing*>(specs_[i].get());
    if (narrowing && i + 1 < specs_.size()) {
      if (const auto* match = dynamic_cast<const Filtering*>(specs_[i + 1].get())) narrowing->narrow(match->filter());
    }
    // Documents are joined one by one then, and what the pipeline writes meanwhile may be among those that are still to come.
    auto* const joining = context.writes ? nullptr : dynamic_cast<Joining*>(specs_[i].get());
    if (joining && i + 1 < specs_.size()) {
      const auto* const unwinding = dynamic_cast<const Unwinding*>(specs_[i + 1].get());
      if (unwinding && unwinding->path() == joining->joined_path()) {
        joining->unwind(*unwinding);
        specs_.erase(specs_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
    }
    // This is a top-k sort, even if a $skip stands in between.
    if (auto* sorting = dynamic_cast<Sorting*>(specs_[i].get())) {
      int64_t skipped = 0;
      for (size_t j = i + 1; j < specs_.size(); ++j) {
        if (const auto* skipping = dynamic_cast<const Skipping*>(specs_[j].get())) {
          if (__builtin_add_overflow(skipped, skipping->skip(), &skipped)) break;
        } else {
          int64_t kept = 0;
          const auto* limiting = dynamic_cast<const Limiting*>(specs_[j].get());
          if (limiting && !__builtin_add_overflow(skipped, limiting->limit(), &kept)) sorting->keep(kept);
          break;
        }
      }
    }
  }
}

Pipeline::~Pipeline() = default;

Query head_query(const std::vector<StageSpecPtr>& specs, const PipelineContext& context, size_t& taken) {
  Query query;
  query.hint = context.hint;
  query.let = context.let;
  query.collation = context.scope.collator();
  query.allow_disk_use = context.allow_disk_use;
  // The stages must come in find's order: filter, sort, skip, limit; each is moved only while that is still possible.
  size_t i = 0;
  for (const Filtering* match; i < specs.size() && (match = dynamic_cast<const Filtering*>(specs[i].get())); ++i) {
    query.filter = both(query.filter, match->filter());
  }
  if (i < specs.size()) {
    if (const auto* sort = dynamic_cast<const Sorting*>(specs[i].get())) {
      query.sort = bson::Document(sort->pattern());
      ++i;
    }
  }
  for (; i < specs.size(); ++i) {
    if (const auto* skip = dynamic_cast<const Skipping*>(specs[i].get()); skip && query.limit == 0) {
      if (__builtin_add_overflow(query.skip, skip->skip(), &query.skip)) break;
    } else if (const auto* limit = dynamic_cast<const Limiting*>(specs[i].get())) {
      query.limit = query.limit == 0 ? limit->limit() : std::min(query.limit, limit->limit());
    } else {
      break;
    }
  }
  taken = i;
  if (context.metadata && context.metadata->wanted()) query.metadata = context.metadata;
  query.count_only = i < specs.size() && !specs[i]->needs_documents() && query.sort.empty();
  return query;
}

StagePtr make_cursor_stage(PipelineContext& context, const std::string& collection, const Query& query) {
  return std::make_unique<CursorStage>(context, collection, query);
}

StagePtr Pipeline::start() const {
  size_t taken = 0;
  StagePtr stage;
  if (specs_.empty() || !specs_[0]->is_source()) {
    const Query query = head_query(specs_, context_, taken);
    stage = make_cursor_stage(context_, context_.collection, query);
  }
  for (size_t i = taken; i < specs_.size(); ++i) stage = specs_[i]->start(std::move(stage), context_);
  return stage;
}

StagePtr Pipeline::start_over(StagePtr source) const {
  if (!specs_.empty()) refuse_text(*specs_.front());
  for (const StageSpecPtr& spec : specs_) source = spec->start(std::move(source), context_);
  return source;
}

void Pipeline::explain(Verbosity verbosity, bson::Builder& out) const {
  const auto* asking = specs_.empty() ? nullptr : dynamic_cast<const Asking*>(specs_[0].get());
  if (!asking && !specs_.empty() && specs_[0]->is_source()) {
    bson::ArrayBuilder stages = out.array("stages");
    for (const StageSpecPtr& spec : specs_) stages.append(spec->explain());
    return;
  }
  size_t taken = asking ? 1 : 0;
  Query query = asking ? asking->query(context_) : head_query(specs_, context_, taken);
  query.explained = true;
  const std::string ns = context_.db + "." + context_.collection;
  Reader reader(*context_.op, open_collection(*context_.op, ns), ns, query);
  const bool whole = !asking && taken == specs_.size();
  std::vector<StageFigures> figures;
  if (verbosity != Verbosity::query_planner && !whole) {
    figures = run_counted(reader, specs_, taken, context_);
  } else if (verbosity != Verbosity::query_planner) {
    while (reader.next()) {
      if (!query.count_only) (void)reader.document();  // decoding is counted
    }
  }
  if (whole) {
    reader.executor().explain(out, verbosity);
    return;
  }
  bson::ArrayBuilder stages = out.array("stages");
  {
    bson::Builder first = stages.object();
    bson::Builder cursor = first.object(asking ? "$geoNearCursor" : "$cursor");
    reader.executor().explain(cursor, verbosity);
  }
  for (size_t i = taken; i < specs_.size(); ++i) {
    bson::Builder shown = stages.object();
    shown.append_all(specs_[i]->explain());
    if (i - taken < figures.size()) append_figures(shown, figures[i - taken]);
  }
}

void refuse_output(const Pipeline& inner, std::string_view stage, int code) {
  for (const StageSpecPtr& spec : inner.specs()) {
    if (spec->writes())
      refuse(code, std::string(spec->name()) + " is not allowed within a " + std::string(stage) + "'s sub-pipeline");
  }
}

std::unique_ptr<PipelineContext> nested_context(PipelineContext& outer, std::string collection, const std::string& db) {
  auto inner = std::make_unique<PipelineContext>(outer);
  inner->db = db.empty() ? outer.db : db;
  inner->collection = std::move(collection);
  inner->allow_disk_use = outer.allow_disk_use;
  inner->depth = outer.depth + 1;
  inner->define(outer.let);
  return inner;
}

ParseContext match_context(const PipelineContext& context) {
  ParseContext out;
  out.expressions = expression_compiler();
  out.let = context.let;
  out.op = context.op;
  out.collator = context.scope.collator();
  out.allowance = context.scope.allowance();
  out.text = true;
  return out;
}

}  // namespace server::query
