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
  // `whole`: the plan is a part of that computation; nullptr: it is one of its own.
  Plan(OperationContext& current, Allowance* whole);

  OperationContext* op;  // the one that runs the plan; nullptr between two of a cursor's
  Allowance allowance;   // of the expressions in the filter and the projection, and of the sort
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

  std::shared_ptr<double> text_score;  // the current document's; nullptr: the filter has no $text
  bool wants_text_score = false;

  exec::Parts parts() {
    exec::Parts parts{query, collection, sort, projection.get(), temporary_path, allowance, engine};
    if (wants_text_score) parts.text_score = text_score.get();
    return parts;
  }
  std::string temporary_path;
  storage::Engine* engine = nullptr;
};

}  // namespace server::query
