// A race between plans: each works for a moment on the real data, and the one
// that finds most for its work is taken.
//
// A plan's score is documents found per unit of work, plus one where it came to its end, plus a
// hair each for doing without a sort and without fetching documents. The race ends when a plan has found 101
// documents or all there are, or after 10,000 units each.
#pragma once

#include <functional>
#include <vector>

#include "server/query/exec/stage.h"

namespace server::query::exec {

struct Trial {
  StagePtr stages;
  double score = 0;
  bool failed = false;
};

// Which of them won. `check_interrupt` is asked now and then and may throw.
size_t race(std::vector<Trial>& trials, storage::Transaction& transaction, const std::function<void()>& check_interrupt);

}  // namespace server::query::exec
