// Plans race: each works for a moment on the real data, and the one that finds most for its work wins.
//
// A plan's score is the number of documents found per unit of work, plus one if it came to its end, plus a little each if it
// needs no sort and fetches no documents. The race ends when a plan has found as many documents as the limits say (101), or all,
// or after so many units each (10,000).
#pragma once

#include <functional>
#include <vector>

#include "server/query/exec/stage.h"
#include "server/query/query_parameters.h"

namespace server::query::exec {

struct Trial {
  StagePtr stages;
  double score = 0;
  bool failed = false;
};

// Returns the winner. `check_interrupt` is called now and then and may throw.
size_t race(std::vector<Trial>& trials, storage::Transaction& transaction, const RaceLimits& limits,
            const std::function<void()>& check_interrupt);

}  // namespace server::query::exec
