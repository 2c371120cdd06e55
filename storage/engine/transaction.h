// A transaction reads from one snapshot, and its writes take effect together or not at all.
//
// Transactions have snapshot isolation: a write to a row that somebody else has written since the snapshot throws WriteConflict,
// and `in_transaction` runs the work again. A transaction is not thread-safe, but it may move to another thread between calls.
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

// The transaction can't go on and has to be run again. This is no OperationError: code that turns one statement's error into an
// answer must not catch it, or the retry is lost.
class WriteConflict final : public std::exception {
 public:
  // `stamps` is the number of timestamps that the transaction would have needed in one range, if others had taken the next ones.
  explicit WriteConflict(uint64_t stamps = 1) : stamps_(stamps) {}
  uint64_t stamps() const { return stamps_; }
  const char* what() const noexcept override {
    return "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation or "
           "multi-document transaction.";
  }

 private:
  uint64_t stamps_;
};

// A snapshot is a state that stays readable as long as somebody holds it (Engine::keep_snapshot).
struct Snapshot {
  uint64_t commit = 0;
  Stamp stamp = 0;  // it holds everything with a timestamp up to this one
};

class Transaction {
 public:
  // A draft sees what it writes, and conflicts with others who write the same rows, but it is never committed: whoever drafts
  // replays its changes in a transaction that is. So a draft may stay open for as long as a client thinks; its timestamps are of
  // no log, hold no reader back, and nothing of the past is kept for it.
  enum class Mode { read, write, draft };

  Transaction(Engine& engine, Mode mode);
  // The transaction reads the state of `snapshot`; it may be a draft, which then conflicts with every later write.
  Transaction(Engine& engine, const Snapshot& snapshot, Mode mode = Mode::read);
  ~Transaction();  // the destructor rolls back a transaction that isn't over
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Throws WriteConflict or OperationError; the transaction is over in any case.
  void commit();
  void rollback();

  // Returns the timestamp of this transaction's next logical write. Readers of the log may not read past the timestamps of open
  // transactions. No other transaction's timestamps lie between those of one. Throws WriteConflict if that can't be ensured.
  Stamp next_stamp();
  // Announces how many timestamps the transaction will need; unused ones cost nothing. If the first timestamp was taken already,
  // `in_transaction` reserves so many when it has to run the transaction again.
  void expect_stamps(uint64_t count) { stamps_expected_ = std::max(stamps_expected_, count); }
  // Returns a timestamp for a write that has no part in the log. These timestamps go up apart from the others, and hold no reader
  // back.
  Stamp unlogged_stamp();
  // Returns 0 if the transaction took no timestamp.
  Stamp first_stamp() const { return stamps_.first; }
  Stamp newest_stamp() const { return newest_stamp_; }
  // Makes the next call of next_stamp return this timestamp: another member gave it to the change, which is replayed here.
  void set_next_stamp(Stamp stamp) { given_stamp_ = stamp; }
  // Returns the timestamp of the write that is being made: the one that was set, or the transaction's newest, or its first, which
  // this call takes.
  Stamp write_stamp() { return given_stamp_ != 0 ? given_stamp_ : newest_stamp_ != 0 ? newest_stamp_ : next_stamp(); }
  bool replays() const { return given_stamp_ != 0; }
  // This is the change of the schema or of branches that the transaction replays (storage/collections/replayed_change.h); it is
  // nullptr if the transaction makes a change of this member's own.
  void set_replayed(const ReplayedChange* change) { replayed_ = change; }
  const ReplayedChange* replayed() const { return replayed_; }

  // Takes the transaction's cursors off their pages, so that others can write to those without a wait. The cursors go back to
  // their rows when they are used again; the views that they gave are no longer valid. A caller that keeps a transaction open
  // while it does something else calls this.
  void let_go_of_pages();

  // Returns how far the log may be read within this transaction's snapshot: every write with a timestamp below this was committed
  // or rolled back before the snapshot was taken.
  Stamp visible_below() const { return visible_below_; }

  // Adds an action that runs after the commit, in the order of the calls; it doesn't run after a rollback. It must not throw.
  void after_commit(std::function<void()> action);
  // Adds an action that runs after a rollback and undoes changes in memory.
  void after_rollback(std::function<void()> action);

  // Makes reads decode contents from stored data alone, without the results of earlier reads. Code that looks for damage uses
  // this.
  void pass_by_caches() { uses_caches_ = false; }
  bool uses_caches() const { return uses_caches_; }

  Engine& engine() const { return engine_; }
  bool writes() const { return mode_ != Mode::read; }
  bool is_draft() const { return mode_ == Mode::draft; }
  // Returns how many bytes the transaction has written so far, all tables together.
  uint64_t written_bytes() const;

  struct Session;  // it is the engine's session with its cursors; only storage/ uses it
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
  Stamp given_stamp_ = 0;  // 0 means that one has to be taken
  const ReplayedChange* replayed_ = nullptr;
  Stamp newest_stamp_ = 0;  // 0 means that it took none
  uint64_t stamps_expected_ = 1;
  StampRange stamps_;
  std::vector<std::function<void()>> after_commit_;
  std::vector<std::function<void()>> after_rollback_;
};

// Waits a little longer after each consecutive conflict (microseconds, then milliseconds, with jitter).
void back_off(int conflicts);

// Runs `work` in a write transaction and commits it, and does so again after each conflict. `work` must have no effect except
// through the transaction. `interrupted` is called before each retry and may throw.
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
