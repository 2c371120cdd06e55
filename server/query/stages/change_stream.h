// Pipelines over a change stream have rules of their own.
#pragma once

#include <functional>
#include <optional>

#include "server/query/changes/resume_token.h"
#include "server/query/stages/pipeline.h"

namespace server::query {

// A running $changeStream, for the cursor that reads from it.
class ChangeStreamSource {
 public:
  virtual ~ChangeStreamSource() = default;
  // Returns the token by which the stream can be resumed after everything that was read.
  virtual bson::Document resume_token() const = 0;
  // Returns the token of the event that was returned last.
  virtual ResumeToken event_token() const = 0;
  // The stream was resumed within a split event; the event comes again, and whoever splits it leaves out what the client has.
  virtual std::optional<ResumeToken> resumed_in_parts() const = 0;
  virtual bool closed() const = 0;  // it was invalidated
  virtual std::function<void(std::function<void()>)> when_more() = 0;
};

bool is_change_stream(const Pipeline& pipeline);
// Throws IllegalOperation for stages that may not follow $changeStream, or may follow nothing else.
void check_change_stream(const Pipeline& pipeline);
// Returns the pipeline's last stage, or a stage on top of it that throws ChangeStreamFatalError for an event whose _id was
// changed. `source` is the stage that start() made of $changeStream.
StagePtr keep_tokens(StagePtr top, const Pipeline& pipeline, const ChangeStreamSource& source);

}  // namespace server::query
