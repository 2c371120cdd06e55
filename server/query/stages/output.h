// $out and $merge: the end of a pipeline whose documents go into a collection.
//
// The pipeline only says what is wanted; the write side, which knows
// transactions, indexes and the log, is plugged in as a sink.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/document.h"

namespace server {
class OperationContext;
}

namespace server::query {

struct OutputPlan {
  enum class WhenMatched { replace, keep_existing, merge, fail, pipeline };
  enum class WhenNotMatched { insert, discard, fail };

  bool merge = false;  // $merge, else $out
  std::string db, collection;
  // $merge
  std::vector<std::string> on;  // fields that tell whether a document is there already
  WhenMatched when_matched = WhenMatched::merge;
  WhenNotMatched when_not_matched = WhenNotMatched::insert;
  bson::Document pipeline;             // of WhenMatched::pipeline: an array's elements
  std::vector<std::string> variables;  // that the pipeline sees

  std::string ns() const { return db + "." + collection; }
};

struct OutputDocument {
  bson::Document document;
  bson::Document variables;  // for the pipeline, with `new`
};

// Takes documents in batches. Called while no transaction and no lock is held by the pipeline.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;  // without finish(): what $out had begun is taken back
  virtual void write(const std::vector<OutputDocument>& documents) = 0;
  virtual void finish() = 0;
};

// Throws what the target is refused for: InvalidNamespace, 17152, 51183 …
using SinkMaker = std::unique_ptr<DocumentSink> (*)(OperationContext& op, const OutputPlan& plan);

}  // namespace server::query
