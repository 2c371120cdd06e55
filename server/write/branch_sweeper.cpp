#include "server/write/branch_sweeper.h"

#include "base/clock.h"
#include "base/log.h"
#include "bson/builder.h"
#include "replication/coordinator.h"
#include "server/core/operation.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/write/batch.h"
#include "server/write/keep_for_log.h"
#include "storage/store.h"

namespace server::write {

versions::Branches::Swept sweep(OperationContext& op, versions::BranchedDatabase& database) {
  const auto commits = static_cast<size_t>(op.services().parameters.find("branchSweepCommits")->get().view().to_int64());
  versions::Branches::Swept all;
  for (;;) {
    op.check_interrupt();
    const auto unnamed = database.drop_unnamed();
    if (!unnamed) return all;
    const auto indexes = database.keep_indexes();
    const auto some = in_transaction(op, [&](storage::Transaction& transaction) {
      const versions::RetentionPolicy policy = database.retention(transaction);
      if (policy.keeps_all()) return versions::Branches::Swept{};
      return database.sweep(transaction, policy.at(op.services().clock.wall_ms()), commits, keep_for_log(op));
    });
    if (some.commits == 0) break;
    all.commits += some.commits;
    all.records += some.records;
  }
  storage::Catalog& catalog = store_of(op).catalog();
  for (const auto& collection : catalog.collections(database.name())) {
    op.check_interrupt();
    if (!op.services().databases->anybody_has(database.name(), *collection)) catalog.drop_unowned(collection->ns());
  }
  return all;
}

void free_nodes(OperationContext& op, versions::BranchedDatabase& database) {
  uint64_t count = 0;
  do {
    op.check_interrupt();
    count = in_transaction(
        op, [&](storage::Transaction& transaction) { return database.free_nodes(transaction, [&] { op.check_interrupt(); }); });
  } while (count > 0);
}

BranchSweeper::BranchSweeper(Services& services)
    : services_(services),
      passes_(
          services.clock, "BranchSweeper", [this] { return std::chrono::seconds(sleep_seconds_.load()); },
          [this] {
            if (enabled_) run_pass();
          }) {
  services.parameters.add_boolean("branchSweepEnabled", enabled_);
  services.parameters.add_integer("branchSweepSleepSecs", sleep_seconds_, {.min = 1, .max = INT32_MAX});
  services.parameters.add_integer("branchSweepCommits", commits_, {.min = 1, .max = 10'000});
}

void BranchSweeper::run_pass() {
  // the commits that the primary drops come through the log
  if (services_.replica_set && !services_.replica_set->writable()) return;
  for (const auto& database : services_.databases->all()) {
    sweep_one(*database);
    if (passes_.stopping()) return;
  }
}

void BranchSweeper::sweep_one(versions::BranchedDatabase& database) {
  bson::Builder body;
  body.append("sweep", 1);
  try {
    Passes::Operation operation(passes_, services_, database.name(), body.done());
    operation.context().begin_writing();
    if (sweep(operation.context(), database).commits > 0) nodes_[database.name()].owed = true;
    free_nodes_of(operation.context(), database);
  } catch (const std::exception& error) {
    // The next pass tries again; the database may just have been dropped.
    base::log(base::Severity::warning, base::LogComponent::storage, 7734001, "Error dropping old commits of a database",
              base::Attributes().add("db", database.name()).add("error", error.what()));
  }
}

void BranchSweeper::free_nodes_of(OperationContext& op, versions::BranchedDatabase& database) {
  constexpr int64_t part_of_time = 50;
  const int64_t begun = services_.clock.monotonic_us();
  Nodes& nodes = nodes_[database.name()];
  if (!nodes.owed || nodes.not_before_us > begun) return;
  free_nodes(op, database);
  const int64_t now = services_.clock.monotonic_us();
  nodes = {false, now + part_of_time * (now - begun)};
}

}  // namespace server::write
