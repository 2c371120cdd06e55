// A stage of a pipeline pulls documents from the one before it and returns its
// own, one at a time.
//
//   cursor -> $match -> $unwind -> $group -> reply
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "bson/document.h"
#include "server/query/expressions/expression.h"
#include "server/query/stages/output.h"

namespace server {
class OperationContext;
}
namespace storage {
class Collection;
}

namespace server::query {

class ChangeStreamSource;

class Stage {
 public:
  explicit Stage(std::unique_ptr<Stage> source) : source_(std::move(source)) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  virtual bool next() = 0;
  virtual bson::DocumentView document() = 0;  // valid until next() or end()

  // Between an operation's begin and end, transactions may be held; cursors stay alive after the end.
  virtual void begin(OperationContext& op) {
    if (source_) source_->begin(op);
  }
  virtual void end() {
    if (source_) source_->end();
  }

 protected:
  Stage& source() { return *source_; }

 private:
  std::unique_ptr<Stage> source_;
};
using StagePtr = std::unique_ptr<Stage>;

// The context is shared by stages while they are parsed and run.
struct PipelineContext {
  OperationContext* op;  // the current operation; it changes from batch to batch
  Allowance allowance;
  std::string db;
  std::string collection;  // empty: the pipeline runs over no collection
  Scope scope;
  bson::Document let;  // the variables of `scope`, for filters
  Held let_held{allowance.memory()};
  bson::Value hint = {};  // an index's name or key; missing: none
  bool allow_disk_use = true;
  bool writes = false;                                // the outermost pipeline ends with $out or $merge
  int depth = 0;                                      // the depth of sub-pipelines
  bool as_it_was = false;                             // it reads the command's own view in another state, with whatever collation
  SinkMaker make_sink = nullptr;                      // set for pipelines that may write
  UniqueCheck check_unique = nullptr;                 // the same
  ChangeStreamSource* change_stream = nullptr;        // the running $changeStream, if the pipeline begins with one
  std::shared_ptr<MetadataPlace> metadata = nullptr;  // of the documents that come from the query under the stages

  // nullptr: the pipeline is parsed alone.
  PipelineContext(int64_t now_ms, OperationContext* current);
  // The context of a pipeline inside of the outer one's, which lives longer.
  explicit PipelineContext(PipelineContext& outer);
  PipelineContext(const PipelineContext&) = delete;
  PipelineContext& operator=(const PipelineContext&) = delete;

  // The pipeline compares strings by it, in all its stages; it is set before they are parsed.
  void set_collator(bson::CollatorPtr collator) { scope.set_collator(std::move(collator)); }

  // Puts variables with their values into the scope, and keeps them for filters.
  void define(bson::DocumentView variables);
};

// A spec is a parsed stage: it makes the running one, and describes itself to explain and the optimizer.
class StageSpec {
 public:
  virtual ~StageSpec() = default;
  virtual std::string_view name() const = 0;
  virtual StagePtr start(StagePtr source, PipelineContext& context) const = 0;
  virtual bson::Document explain() const = 0;  // {$name: …}

  // If true, it must be the first stage of a pipeline, and makes its own documents.
  virtual bool is_source() const { return false; }
  virtual bool must_be_last() const { return false; }
  // If true, it writes its input instead of returning it.
  virtual bool writes() const { return false; }
  virtual bool in_facet() const { return true; }
  // If false, it looks at no field of its input, so documents need not even be fetched.
  virtual bool needs_documents() const { return true; }
};
using StageSpecPtr = std::unique_ptr<StageSpec>;

inline constexpr size_t stage_memory_max = 100 * 1024 * 1024;

}  // namespace server::query
