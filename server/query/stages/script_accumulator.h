// $accumulator: functions of the client accumulate the values of a group.
#pragma once

#include <memory>

#include "server/query/expressions/accumulate.h"
#include "server/query/stages/stage.h"

namespace server::query {

// The groups of one field share a ScriptAccumulation. It must outlive their accumulators.
class ScriptAccumulation {
 public:
  virtual ~ScriptAccumulation() = default;
  // Begins a group; the frame's document is the group's key. Throws 4544711, and what the client's function throws.
  virtual std::unique_ptr<Accumulator> make(Frame& frame) const = 0;
};

struct ScriptAccumulationField {
  std::shared_ptr<const ScriptAccumulation> accumulation;
  ExpressionPtr input;  // accumulateArgs
};
// Throws $accumulator's errors (4544701 …).
ScriptAccumulationField parse_script_accumulation(const bson::ValueView& specification, PipelineContext& context);

}  // namespace server::query
