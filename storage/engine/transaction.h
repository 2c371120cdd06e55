// A transaction: one snapshot to read from, one all-or-nothing set of writes.
//
// Snapshot isolation: a write to a row that somebody else has written since the
// snapshot throws WriteConflict, and the work is run again by `in_transaction`.
// Not thread-safe, but may move between threads between calls.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "storage/engine/stamps.h"

namespace storage {

class Engine;
class ReplayedChange;

// The transaction can't go on and has to be run again. It is no OperationError: who takes one statement's error for an answer
// must not take this one, or the retry is lost.
class WriteConflict final : public std::exception {
 public:
  // `stamps`: how many the transaction would have needed together, where others had taken the next ones.
  explicit WriteConflict(uint64_t stamps = 1) : stamps_(stamps) {}
  uint64_t stamps() const { return stamps_; }
  const char* what() const noexcept override {
    return "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation or "
           "multi-document transaction.";
  }

 private:
  uint64_t stamps_;
};

// A moment that stays readable for as long as somebody holds it (Engine::keep_snapshot).
struct Snapshot {
  uint64_t commit = 0;
  Stamp stamp = 0;  // everything stamped up to here is in it
};

class Transaction {
 public:
  enum class Mode { read, write };

  Transaction(Engine& engine, Mode mode);
  // Reads as of `snapshot`.
  Transaction(Engine& engine, const Snapshot& snapshot);
  ~Transaction();  // rolls back what was not committed
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Throws WriteConflict or OperationError; the transaction is over either way.
  void commit();
  void rollback();

  // The stamp of the next logical write of this transaction. Stamps of open
  // transactions hold back what readers of the log may see. No other transaction's
  // stamps lie between those of one. Throws WriteConflict where that can't be kept.
  Stamp next_stamp();
  // How many it will need, unused ones being no loss: before the first, or what runs it once more reserves so many.
  void expect_stamps(uint64_t count) { stamps_expected_ = std::max(stamps_expected_, count); }
  // For what has no part in the log: goes up apart from the others, and holds nobody back.
  Stamp unlogged_stamp();
  // 0: took none.
  Stamp first_stamp() const { return stamps_.first; }
  Stamp newest_stamp() const { return newest_stamp_; }
  // The next call of next_stamp gives this one: the change was stamped on another member, and is made again here.
  void set_next_stamp(Stamp stamp) { given_stamp_ = stamp; }
  // Of the write that is being made: the one it was given, or the transaction's newest, or its first, which it takes.
  Stamp write_stamp() { return given_stamp_ != 0 ? given_stamp_ : newest_stamp_ != 0 ? newest_stamp_ : next_stamp(); }
  bool replays() const { return given_stamp_ != 0; }
  // The change of the schema or of branches that this transaction replays (storage/collections/replayed_change.h); nullptr: it
  // makes a change of this member's own.
  void set_replayed(const ReplayedChange* change) { replayed_ = change; }
  const ReplayedChange* replayed() const { return replayed_; }

  // Others can write to the pages that its cursors stand on without waiting for them: those go back to their rows when they are
  // asked again. What they gave is no longer valid. For who keeps a transaction while it does something else.
  void let_go_of_pages();

  // What the log may be read up to within this transaction's snapshot: everything stamped below was
  // committed, or gone, before the snapshot was taken.
  Stamp visible_below() const { return visible_below_; }

  // Run after the commit, in order; not run after a rollback. Must not throw.
  void after_commit(std::function<void()> action);
  // Run after a rollback: undoes what was changed in memory.
  void after_rollback(std::function<void()> action);

  // Contents are made of what is stored alone, not of what earlier reads made: for who looks for damage.
  void pass_by_caches() { uses_caches_ = false; }
  bool uses_caches() const { return uses_caches_; }

  Engine& engine() const { return engine_; }
  bool writes() const { return mode_ == Mode::write; }

  struct Session;  // the engine's session with its cursors; storage/ only
  Session& session() { return *session_; }

 private:
  void begin(const char* settings);
  void finish();

  Engine& engine_;
  Mode mode_;
  bool open_ = true;
  bool uses_caches_ = true;
  std::unique_ptr<Session, void (*)(Session*)> session_;
  Stamp visible_below_ = 0;
  Stamp given_stamp_ = 0;  // 0: take one
  const ReplayedChange* replayed_ = nullptr;
  Stamp newest_stamp_ = 0;  // 0: took none
  uint64_t stamps_expected_ = 1;
  StampRange stamps_;
  std::vector<std::function<void()>> after_commit_;
  std::vector<std::function<void()>> after_rollback_;
};

// Waits a little longer after each conflict in a row (microseconds, then
// milliseconds, with jitter).
void back_off(int conflicts);

// Runs `work` in a write transaction and commits it, again after each conflict.
// `work` must have no effect but through the transaction. `interrupted` is
// asked before each retry and may throw.
template <class Work>
auto in_transaction(Engine& engine, Work&& work, const std::function<void()>& interrupted = nullptr) {
  uint64_t stamps = 1;
  for (int conflicts = 0;; ++conflicts) {
    try {
      Transaction transaction(engine, Transaction::Mode::write);
      transaction.expect_stamps(stamps);
      if constexpr (std::is_void_v<decltype(work(transaction))>) {
        work(transaction);
        transaction.commit();
        return;
      } else {
        auto result = work(transaction);
        transaction.commit();
        return result;
      }
    } catch (const WriteConflict& conflict) {
      stamps = std::max(stamps, conflict.stamps());
      if (interrupted) interrupted();
      back_off(conflicts);
    }
  }
}

}  // namespace storage
