#include "server/write/branch_sweeper.h"

#include "base/clock.h"
#include "base/log.h"
#include "bson/builder.h"
#include "server/client.h"
#include "server/command.h"
#include "server/operation.h"
#include "server/parameters.h"
#include "server/services.h"
#include "server/write/batch.h"
#include "server/write/keep_for_log.h"
#include "server/write/running_operation.h"
#include "storage/engine.h"

namespace server::write {

versions::Branches::Swept sweep(OperationContext& op, versions::BranchedDatabase& database, size_t commits) {
  versions::Branches::Swept all;
  for (;;) {
    op.check_interrupt();
    const auto some = storage::in_transaction(
        *op.services().engine,
        [&](storage::Transaction& transaction) {
          const versions::RetentionPolicy policy = database.retention(transaction);
          if (policy.keeps_all()) return versions::Branches::Swept{};
          return database.sweep(transaction, policy.at(op.services().clock.wall_ms()), commits, keep_for_log(op));
        },
        on_conflict(op));
    if (some.commits == 0) return all;
    all.commits += some.commits;
    all.records += some.records;
  }
}

BranchSweeper::BranchSweeper(Services& services) : services_(services) {
  services.parameters.add_boolean("branchSweepEnabled", enabled_);
  services.parameters.add_integer("branchSweepSleepSecs", sleep_seconds_, {.min = 1});
  services.parameters.add_integer("branchSweepCommits", commits_, {.min = 1, .max = 10'000});
}

BranchSweeper::~BranchSweeper() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (running_) running_->kill(base::ErrorCode::interrupted_at_shutdown);
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BranchSweeper::start() {
  thread_ = std::thread([this] { run(); });
}

void BranchSweeper::run() {
  const base::LogContext context("BranchSweeper");
  std::unique_lock lock(mutex_);
  while (!woken_.wait_for(lock, std::chrono::seconds(sleep_seconds_.load()), [this] { return stopping_; })) {
    if (!enabled_) continue;
    lock.unlock();
    run_pass();
    lock.lock();
  }
}

void BranchSweeper::run_pass() {
  for (const auto& database : services_.databases->all()) {
    sweep_one(*database);
    std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
}

void BranchSweeper::sweep_one(versions::BranchedDatabase& database) {
  bson::Builder body;
  body.append("sweep", 1);
  const bson::Document command = body.done();
  const Request request{"sweep", database.name(), command, {}};
  Client client(ClientId{0}, "", "", false);
  try {
    OperationContext op(services_, client, request, nullptr);
    const RunningOperation running(mutex_, running_, op);
    sweep(op, database, static_cast<size_t>(commits_.load()));
  } catch (const base::OperationError& error) {
    // The next pass tries again; the database may just have been dropped.
    base::log(base::Severity::warning, base::LogComponent::storage, 7734001, "Error dropping old commits of a database",
              base::Attributes().add("db", database.name()).add("error", error.what()));
  }
}

}  // namespace server::write
