#include "storage/engine/transaction.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/spin_lock.h"
#include "storage/engine/internals.h"
#include "storage/engine/session.h"

namespace storage {

namespace {

// Each commit hands its part of the journal to the operating system. Two commits that do so at once wait for each other inside
// WiredTiger, in steps of milliseconds (measured: 16 threads make 11 k commits a second); if they take turns, they don't (197 k).
// The wait for the turn is limited: WiredTiger makes a committing thread free room in a full cache, and if that room is held by a
// transaction that waits for the turn, neither would go on.
int commit_in_turn(Engine::Internals& internals, WT_SESSION* session) {
  constexpr std::chrono::milliseconds longest_wait(20);
  auto turn = base::try_spin_lock(internals.commit_mutex);
  if (!turn) (void)turn.try_lock_for(longest_wait);
  return session->commit_transaction(session, nullptr);
}

// On a member of a replica set the journal holds hardly anything, and nobody may wait for another's commit: WiredTiger makes a
// committing thread free room in a full cache, which may need the stable timestamp to move, and therefore other commits.
int commit_numbered(StableCommits& commits, WT_SESSION* session, Stamp first, Stamp newest) {
  const uint64_t commit = commits.begin(first, newest);
  int result = session->timestamp_transaction_uint(session, WT_TS_TXN_TYPE_COMMIT, commit);
  if (result == 0) {
    result = session->commit_transaction(session, nullptr);
  } else {
    session->rollback_transaction(session, nullptr);
  }
  commits.over(commit, result == 0);
  return result;
}

int commit_as(Engine::Internals& internals, WT_SESSION* session, Transaction::Mode mode, Stamp first, Stamp newest) {
  if (mode == Transaction::Mode::read) return session->commit_transaction(session, nullptr);
  return internals.stable ? commit_numbered(*internals.stable, session, first, newest) : commit_in_turn(internals, session);
}

}  // namespace

Transaction::Transaction(Engine& engine, Mode mode)
    : engine_(engine),
      mode_(mode),
      session_(engine.internals().sessions.take(), [](Session* session) { session->pool.give_back(session); }) {
  // This is read before the snapshot is taken: a commit in between is in the snapshot, though it isn't counted.
  visible_below_ = engine.internals().stamps.all_committed();
  begin(session_->pool.waits().transaction_settings());
}

Transaction::Transaction(Engine& engine, const Snapshot& snapshot, Mode mode)
    : engine_(engine),
      mode_(mode),
      session_(engine.internals().sessions.take(), [](Session* session) { session->pool.give_back(session); }) {
  visible_below_ = snapshot.stamp + 1;
  char hex[17] = "";
  *std::to_chars(hex, hex + sizeof hex - 1, snapshot.commit, 16).ptr = '\0';
  begin((std::string(CacheWaits::transaction_settings_text) + ",read_timestamp=" + hex).c_str());
}

void Transaction::begin(const char* settings) {
  session_->failure = 0;
  session_->interruption = nullptr;
  session_->waits.reads = mode_ == Mode::read;
  WT_SESSION* raw = session_->session.get();
  wt::check(raw->begin_transaction(raw, settings), "beginning a transaction");
}

Transaction::~Transaction() {
  if (open_) rollback();
}

void Transaction::finish() {
  open_ = false;
  session_->take_back_all();
  if (const uint64_t bytes = std::exchange(session_->unjournaled_bytes, 0); bytes > 0)
    engine_.internals().space.add_unjournaled(-static_cast<int64_t>(bytes));
  if (!stamps_.place) return;
  engine_.internals().stamps.release(stamps_.place);
  stamps_.place = 0;
  if (const auto& transaction_over = engine_.internals().transaction_over) transaction_over();
}

void Transaction::commit() {
  base::check(open_, "commit of a finished transaction");
  base::check(mode_ != Mode::draft, "commit of a draft");
  if (session_->interruption) {
    const std::exception_ptr interruption = session_->interruption;
    rollback();
    std::rethrow_exception(interruption);
  }
  Engine::Internals& internals = engine_.internals();
  if (!session_->counts.empty()) session_->counts.write(*this, internals.counts, session_->slot);
  session_->let_go_of_pages();
  WT_SESSION* raw = session_->session.get();
  // From here on nothing is interrupted: whoever hears of an interruption may take it that nothing was committed.
  const InterruptibleWaits uninterrupted(nullptr);
  if (const int result = commit_as(internals, raw, mode_, stamps_.first, newest_stamp_); result != 0) {
    // WiredTiger has already rolled the transaction back.
    session_->counts.rolled_back();
    finish();
    for (auto& action : after_rollback_) action();
    if (result == WT_ROLLBACK) internals.conflict(*session_);
    // WiredTiger has said already why it refuses, to the call that failed.
    wt::fail(result == EINVAL && session_->failure != 0 ? session_->failure : result, "committing");
  }
  session_->counts.committed();
  finish();
  for (auto& action : after_commit_) action();
}

void Transaction::rollback() {
  base::check(open_, "rollback of a finished transaction");
  const InterruptibleWaits uninterrupted(nullptr);
  WT_SESSION* raw = session_->session.get();
  // Nothing can be done about a failure here, and WiredTiger never reports one except a panic.
  raw->rollback_transaction(raw, nullptr);
  session_->counts.rolled_back();
  finish();
  for (auto& action : after_rollback_) action();
}

void Transaction::let_go_of_pages() {
  session_->let_go_of_pages();
}

Stamp Transaction::next_stamp() {
  StampSource& stamps = engine_.internals().stamps;
  if (mode_ == Mode::draft) return newest_stamp_ = stamps.draft();
  Stamp stamp = std::exchange(given_stamp_, 0);
  if (stamp != 0) {
    stamps.adopt(stamp, stamps_);
  } else if (stamp = stamps.next(stamps_, stamps_expected_); stamp == 0) {
    throw WriteConflict(std::max(stamps_expected_, 2 * (stamps_.end - stamps_.first)));
  }
  newest_stamp_ = std::max(newest_stamp_, stamp);
  return stamp;
}

Stamp Transaction::unlogged_stamp() {
  return engine_.internals().stamps.apart();
}

uint64_t Transaction::written_bytes() const {
  return session_->written_bytes;
}

void Transaction::after_commit(std::function<void()> action) {
  after_commit_.push_back(std::move(action));
}
void Transaction::after_rollback(std::function<void()> action) {
  after_rollback_.push_back(std::move(action));
}

void back_off(int conflicts) {
  if (conflicts == 0) return std::this_thread::yield();
  thread_local base::Random random(base::entropy64());
  const uint64_t longest_us = uint64_t{20} << std::min(conflicts, 10);
  std::this_thread::sleep_for(std::chrono::microseconds(1 + random.below(longest_us)));
}

}  // namespace storage
