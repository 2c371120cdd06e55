// A pipeline is parsed as a whole; the query planner gets its head, and the rest
// runs as stages over the cursor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/value.h"
#include "server/query/parse_context.h"
#include "server/query/query.h"
#include "server/query/stages/stage.h"

namespace server::query {

// The planner can take over such stages at the head of a pipeline.
class Filtering {
 public:
  virtual ~Filtering() = default;
  virtual bson::DocumentView filter() const = 0;
};
class Sorting {
 public:
  virtual ~Sorting() = default;
  virtual bson::DocumentView pattern() const = 0;
  virtual void keep(int64_t limit) = 0;  // a $limit follows: no more documents are wanted
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

// Such a source can leave out documents early that the $match after it would drop; the $match still looks at the rest.
class Narrowing {
 public:
  virtual ~Narrowing() = default;
  virtual void narrow(bson::DocumentView filter) = 0;
};

class Unwinding {
 public:
  virtual ~Unwinding() = default;
  virtual std::string_view path() const = 0;
  virtual std::string_view index_field() const = 0;  // empty: none
  virtual bool keeps_empty() const = 0;
};
// Such a stage puts an array into each document; it can return a document for each element instead, and never make the array.
// It then does the work of the $unwind behind it, which leaves the pipeline.
class Joining {
 public:
  virtual ~Joining() = default;
  virtual std::string_view joined_path() const = 0;
  virtual void unwind(const Unwinding& how) = 0;
};

class Pipeline {
 public:
  // `context` must outlive the pipeline. Throws in MongoDB's words.
  Pipeline(bson::DocumentView stages, PipelineContext& context);
  ~Pipeline();

  // Starts over the context's collection.
  StagePtr start() const;
  // Starts over documents that come from elsewhere: $facet's input, a sub-pipeline's.
  StagePtr start_over(StagePtr source) const;

  // Appends the fields of an explain reply.
  void explain(Verbosity verbosity, bson::Builder& out) const;

  bool empty() const { return specs_.empty(); }
  const std::vector<StageSpecPtr>& specs() const { return specs_; }

 private:
  PipelineContext& context_;
  Held held_;  // what parsing made
  std::vector<StageSpecPtr> specs_;
};

// Returns the head of the pipeline as a query, which replaces `taken` stages.
Query head_query(const std::vector<StageSpecPtr>& specs, const PipelineContext& context, size_t& taken);

// Returns the context of filters in pipelines: $expr sees the pipeline's variables.
ParseContext match_context(const PipelineContext& context);

// Makes the first stage, which returns documents of a collection.
StagePtr make_cursor_stage(PipelineContext& context, const std::string& collection, const Query& query);

// Refuses stages that write in a sub-pipeline.
void refuse_output(const Pipeline& inner, std::string_view stage, int code);

// Makes a context for a pipeline inside another one: one level deeper, with the same variables. `db`: empty for the same.
std::unique_ptr<PipelineContext> nested_context(PipelineContext& outer, std::string collection, const std::string& db = {});

}  // namespace server::query
