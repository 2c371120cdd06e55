// A stage of a pipeline pulls documents from the one before it and hands out
// its own, one at a time.
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

class Stage {
 public:
  explicit Stage(std::unique_ptr<Stage> source) : source_(std::move(source)) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  virtual bool next() = 0;
  virtual bson::DocumentView document() = 0;  // valid until next() or end()

  // Between an operation's begin and end transactions may be held; cursors live on in between.
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

// What stages share while they are parsed and run.
struct PipelineContext {
  OperationContext* op = nullptr;  // the one at work; changes from batch to batch
  std::string db;
  std::string collection;  // empty: a pipeline over none
  Scope scope;
  bson::Document let;     // the variables defined in `scope`, for filters
  bson::Value hint = {};  // an index's name or key, of the collection; missing: none
  bool allow_disk_use = true;
  int depth = 0;                  // of sub-pipelines
  SinkMaker make_sink = nullptr;  // for pipelines that may write

  explicit PipelineContext(int64_t now_ms) : scope(now_ms) {}
  // Variables with their values, into the scope and for filters.
  void define(bson::DocumentView variables);
};

// A parsed stage: makes the running one, tells explain and the optimizer what it is.
class StageSpec {
 public:
  virtual ~StageSpec() = default;
  virtual std::string_view name() const = 0;
  virtual StagePtr start(StagePtr source, PipelineContext& context) const = 0;
  virtual bson::Document explain() const = 0;  // {$name: …}

  // Must be the first of a pipeline; makes its own documents.
  virtual bool is_source() const { return false; }
  virtual bool must_be_last() const { return false; }
  // Writes its input instead of handing it out.
  virtual bool writes() const { return false; }
  virtual bool in_facet() const { return true; }
  // Looks at no field of its input: the documents need not even be fetched.
  virtual bool needs_documents() const { return true; }
};
using StageSpecPtr = std::unique_ptr<StageSpec>;

inline constexpr size_t stage_memory_max = 100 * 1024 * 1024;

}  // namespace server::query
