// An executor's plan is private to executor.cpp and explain.cpp.
#pragma once

#include "base/clock.h"
#include "server/core/allowance.h"
#include "server/query/exec/build.h"
#include "server/query/exec/trial.h"
#include "server/query/executor.h"
#include "server/query/matcher.h"
#include "server/query/plan/access.h"

namespace server::query {

struct Executor::Plan {
  explicit Plan(OperationContext& current) : op(&current) {}

  OperationContext* op;     // the one that runs the plan; nullptr between two of a cursor's
  Allowance allowance{op};  // of the expressions in the filter and the projection
  Query query;
  std::string ns;
  std::shared_ptr<storage::Collection> collection;
  std::unique_ptr<Matcher> matcher;
  SortPattern sort;
  std::unique_ptr<Projection> projection;
  plan::Access chosen;
  std::vector<plan::Access> rejected;
  std::vector<exec::Trial> trials;  // those of `rejected`, if they are to be kept
  exec::StagePtr root;
  storage::Transaction* transaction = nullptr;
  base::Clock* clock = nullptr;
  int64_t started_us = 0;

  exec::Parts parts() const { return {query, collection, sort, projection.get(), temporary_path}; }
  std::string temporary_path;
};

}  // namespace server::query
