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
  Allowance& allowance;
  size_t sort_bytes_max;              // what a sort may keep in memory
  storage::Engine* engine = nullptr;  // sorts spill beside its data
  MetadataPlace* metadata = nullptr;  // gets what each document has beside its fields; nullptr: nobody asks
};

StagePtr build(const Parts& parts, const plan::Access& access);

}  // namespace server::query::exec
