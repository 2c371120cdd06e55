// Builds the stages that run a plan's access to the data.
#pragma once

#include "server/query/exec/stage.h"
#include "server/query/plan/access.h"
#include "server/query/projection.h"

namespace storage {
class Engine;
}

namespace server::query::exec {

// The stages borrow the parts, which must outlive them.
struct Parts {
  const Query& query;
  std::shared_ptr<storage::Collection> collection;
  const SortPattern& sort;
  const Projection* projection;  // nullptr: none
  std::string temporary_path;    // sorts spill there
  Allowance& allowance;
  storage::Engine* engine = nullptr;
  double* text_score = nullptr;  // gets the score of each document; nullptr: nobody asks for it
};

StagePtr build(const Parts& parts, const plan::Access& access);

}  // namespace server::query::exec
