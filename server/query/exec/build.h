// From a way to the data to the stages that go it.
#pragma once

#include "server/query/exec/stage.h"
#include "server/query/plan/access.h"
#include "server/query/projection.h"

namespace server::query::exec {

// What the stages borrow: it must outlive them.
struct Parts {
  const Query& query;
  std::shared_ptr<storage::Collection> collection;
  const SortPattern& sort;
  const Projection* projection;  // nullptr: none
  std::string temporary_path;    // for sorts that spill
};

StagePtr build(const Parts& parts, const plan::Access& access);

}  // namespace server::query::exec
