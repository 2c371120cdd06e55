// An executor's plan is private to executor.cpp and explain.cpp.
#pragma once

#include "base/clock.h"
#include "server/core/allowance.h"
#include "server/query/document_metadata.h"
#include "server/query/exec/build.h"
#include "server/query/exec/trial.h"
#include "server/query/executor.h"
#include "server/query/matcher.h"
#include "server/query/plan/access.h"
#include "server/query/plan/plan_bytes.h"
#include "server/query/plan/plan_cache.h"

namespace server::query {

struct Executor::Plan {
  // `whole`: the plan is a part of that computation; nullptr: it is one of its own.
  Plan(OperationContext& current, Allowance* whole);

  OperationContext* op;     // the one that runs the plan; nullptr between two of a cursor's
  Allowance allowance;      // of the expressions in the filter and the projection, and of the sort
  plan::PlanBytes planned;  // what the ways and their stages keep
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

  std::shared_ptr<MetadataPlace> metadata;  // of the current document; nullptr: nobody can ask

  // The plan is the cache's, and its first results are still to come. Were it to need many more works than it did when it was
  // chosen, the others are tried, too.
  struct Expected {
    PlanCacheKey key;
    int64_t works_max = 0;
    int64_t results_max = 0;
    std::vector<plan::Access> ways;
  };
  std::optional<Expected> expected;
  bool raced = false;
  bool replanned = false;

  exec::Parts parts() {
    exec::Parts parts{query, collection, sort, projection.get(), allowance, sort_bytes_max, engine};
    if (metadata && metadata->wanted()) parts.metadata = metadata.get();
    return parts;
  }
  size_t sort_bytes_max = 0;
  storage::Engine* engine = nullptr;
};

// Appends what a plan did in its race.
void append_trial(bson::Builder& out, const exec::Trial& trial);

}  // namespace server::query
