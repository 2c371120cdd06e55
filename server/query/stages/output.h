// $out and $merge end a pipeline and put its documents into a collection.
//
// The pipeline only says what is wanted; the write side, which knows transactions,
// indexes and the log, is plugged in as a sink.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/collator.h"
#include "bson/document.h"
#include "server/query/series/series_options.h"

namespace server {
class OperationContext;
}

namespace server::query {

struct OutputPlan {
  enum class WhenMatched { replace, keep_existing, merge, fail, pipeline };
  enum class WhenNotMatched { insert, discard, fail };

  bool merge = false;  // true: $merge; false: $out
  std::string db, collection;
  std::optional<SeriesOptions> series;  // $out makes a time series
  // $merge
  std::vector<std::string> on;  // the fields that identify an existing document
  WhenMatched when_matched = WhenMatched::merge;
  WhenNotMatched when_not_matched = WhenNotMatched::insert;
  bson::CollatorPtr collator;          // the pipeline's: documents are found by it; nullptr: none
  bson::Document pipeline;             // of WhenMatched::pipeline: an array's elements
  std::vector<std::string> variables;  // the variables that the pipeline sees

  std::string ns() const { return db + "." + collection; }
};

struct OutputDocument {
  bson::Document document;
  bson::Document variables;  // for the pipeline, with `new`
};

// A sink takes documents in batches. The pipeline holds no transaction and no lock while it calls it.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;  // without finish(), it undoes what $out had begun
  virtual void write(const std::vector<OutputDocument>& documents) = 0;
  virtual void finish() = 0;
};

// Throws 51183 if no index makes the documents of $merge's target unique by the fields that the client names in `on`.
using UniqueCheck = void (*)(OperationContext& op, const OutputPlan& plan);
// Throws if the target is refused: InvalidNamespace, 17152 …
using SinkMaker = std::unique_ptr<DocumentSink> (*)(OperationContext& op, const OutputPlan& plan);

}  // namespace server::query
