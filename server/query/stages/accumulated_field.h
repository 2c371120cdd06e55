// An accumulated field is a field of $group's output or a similar stage's: {total:
// {$sum: "$price"}}.
#pragma once

#include <memory>
#include <string>

#include "server/query/expressions/accumulate.h"
#include "server/query/stages/script_accumulator.h"
#include "server/query/stages/stage.h"

namespace server::query {

struct AccumulatedField {
  std::string name;
  std::string accumulator;
  std::shared_ptr<Expression> input;
  std::shared_ptr<Expression> n;                               // of $firstN, $topN and the like
  std::vector<double> percentiles;                             // of $percentile and $median
  std::shared_ptr<const ScriptAccumulation> script = nullptr;  // of $accumulator

  // Makes an accumulator for the values of `input` of a group, whose key is the frame's document. Throws 5787902, 5787908 if `n`
  // is no valid number, and what ScriptAccumulation::make throws.
  std::unique_ptr<Accumulator> make(Frame& frame) const;
};

// Throws $group's errors for a bad field (40234 …).
AccumulatedField parse_accumulated_field(const bson::Element& field, PipelineContext& context);

// Returns the field {name: {$sum: 1}}.
AccumulatedField counting_field(std::string name);

}  // namespace server::query
