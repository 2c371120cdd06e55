// A pipeline: parsed as a whole, its head handed to the query planner, the rest
// run as stages over the cursor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/value.h"
#include "server/query/parse_context.h"
#include "server/query/query.h"
#include "server/query/stages/stage.h"

namespace server::query {

// What the planner can take over from a stage at the head of a pipeline.
class Filtering {
 public:
  virtual ~Filtering() = default;
  virtual bson::DocumentView filter() const = 0;
};
class Sorting {
 public:
  virtual ~Sorting() = default;
  virtual bson::DocumentView pattern() const = 0;
  virtual void keep(int64_t limit) = 0;  // a $limit follows: no more are wanted
};
class Limiting {
 public:
  virtual ~Limiting() = default;
  virtual int64_t limit() const = 0;
};
class Skipping {
 public:
  virtual ~Skipping() = default;
  virtual int64_t skip() const = 0;
};

// A source that can leave out early what the $match behind it would; that looks at the rest all the same.
class Narrowing {
 public:
  virtual ~Narrowing() = default;
  virtual void narrow(bson::DocumentView filter) = 0;
};

class Pipeline {
 public:
  // `context` must outlive the pipeline. Throws as MongoDB words it.
  Pipeline(bson::DocumentView stages, PipelineContext& context);
  ~Pipeline();

  // Over the context's collection.
  StagePtr start() const;
  // Over documents that come from elsewhere: $facet's input, a sub-pipeline's.
  StagePtr start_over(StagePtr source) const;

  // Fields of an explain reply.
  void explain(Verbosity verbosity, bson::Builder& out) const;

  bool empty() const { return specs_.empty(); }
  const std::vector<StageSpecPtr>& specs() const { return specs_; }

 private:
  PipelineContext& context_;
  std::vector<StageSpecPtr> specs_;
};

// The head of the pipeline as a query; `taken` stages are done by it.
Query head_query(const std::vector<StageSpecPtr>& specs, const PipelineContext& context, size_t& taken);

// Filters in pipelines: $expr sees the pipeline's variables.
ParseContext match_context(const PipelineContext& context);

// Documents of a collection, as the first stage.
StagePtr make_cursor_stage(PipelineContext& context, const std::string& collection, const Query& query);

// Stages that write stand in no sub-pipeline.
void refuse_output(const Pipeline& inner, std::string_view stage, int code);

// A context for a pipeline inside another one: one level deeper, the same variables. `db`: empty for the same.
std::unique_ptr<PipelineContext> nested_context(const PipelineContext& outer, std::string collection, const std::string& db = {});

}  // namespace server::query
