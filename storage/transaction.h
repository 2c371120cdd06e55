// A transaction: one snapshot to read from, one all-or-nothing set of writes.
//
// Snapshot isolation: a write to a row that somebody else has written since the
// snapshot throws WriteConflict, and the work is run again by `in_transaction`.
// Not thread-safe, but may move between threads between calls.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "storage/record_id.h"

namespace storage {

class Engine;

class WriteConflict : public base::OperationError {
 public:
  WriteConflict()
      : OperationError(base::ErrorCode::write_conflict,
                       "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry "
                       "your operation or multi-document transaction.") {}
};

class Transaction {
 public:
  enum class Mode { read, write };

  Transaction(Engine& engine, Mode mode);
  ~Transaction();  // rolls back what was not committed
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Throws WriteConflict or OperationError; the transaction is over either way.
  void commit();
  void rollback();

  // The stamp of the next logical write of this transaction. Stamps of open
  // transactions hold back what readers of the log may see.
  Stamp next_stamp();
  // The next call of next_stamp gives this one: the change was stamped on another member, and is made again here.
  void set_next_stamp(Stamp stamp) { given_stamp_ = stamp; }

  // What the log may be read up to within this transaction's snapshot: everything stamped below was
  // committed, or gone, before the snapshot was taken.
  Stamp visible_below() const { return visible_below_; }

  // Run after the commit, in order; not run after a rollback. Must not throw.
  void after_commit(std::function<void()> action);
  // Run after a rollback: undoes what was changed in memory.
  void after_rollback(std::function<void()> action);

  Engine& engine() const { return engine_; }
  bool writes() const { return mode_ == Mode::write; }

  struct Session;  // the engine's session with its cursors; storage/ only
  Session& session() { return *session_; }

 private:
  void finish();

  Engine& engine_;
  Mode mode_;
  bool open_ = true;
  std::unique_ptr<Session, void (*)(Session*)> session_;
  Stamp visible_below_ = 0;
  Stamp given_stamp_ = 0;     // 0: take one
  uint64_t stamp_place_ = 0;  // among the open ones; 0: took no stamp
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
  for (int conflicts = 0;; ++conflicts) {
    try {
      Transaction transaction(engine, Transaction::Mode::write);
      if constexpr (std::is_void_v<decltype(work(transaction))>) {
        work(transaction);
        transaction.commit();
        return;
      } else {
        auto result = work(transaction);
        transaction.commit();
        return result;
      }
    } catch (const WriteConflict&) {
      if (interrupted) interrupted();
      back_off(conflicts);
    }
  }
}

}  // namespace storage
