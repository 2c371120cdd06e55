// A field of $group's output and its like: {total: {$sum: "$price"}}.
#pragma once

#include <memory>
#include <string>

#include "server/query/expressions/accumulate.h"
#include "server/query/stages/stage.h"

namespace server::query {

struct AccumulatedField {
  std::string name;
  std::string accumulator;
  std::shared_ptr<Expression> input;
  std::shared_ptr<Expression> n;    // of $firstN, $topN and the like
  std::vector<double> percentiles;  // of $percentile and $median

  // For what `input` gives. Throws 5787902, 5787908 where `n` is none.
  std::unique_ptr<Accumulator> make(Frame& frame) const;
};

// Throws what $group answers for a bad one (40234 …).
AccumulatedField parse_accumulated_field(const bson::Element& field, PipelineContext& context);

// {name: {$sum: 1}}
AccumulatedField counting_field(std::string name);

}  // namespace server::query
