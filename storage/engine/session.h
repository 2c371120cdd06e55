// The engine's sessions are kept open with their cursors.
//
// To open a WiredTiger cursor costs as much as a read, so a session keeps the cursors that it has opened, by table: one for reads
// and strict writes, one for overwriting, and any number of walkers. A transaction borrows a session. The session that was
// returned last is lent first, because its cursors are still warm.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "storage/engine/cache_waits.h"
#include "storage/engine/counts.h"
#include "storage/engine/transaction.h"
#include "storage/engine/wt.h"

namespace storage {

class SessionPool;

// Throws what WiredTiger's result on a table means. `doing` is for example "reading". If a page or the file is damaged, the table
// becomes one of the engine's damaged ones.
[[noreturn]] void fail_on_table(Transaction::Session& session, int result, const char* doing, const std::string& table);

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// This is a walking cursor that is lent. The session takes it back when the transaction ends, even if its holder still has it
// then.
struct LentCursor {
  wt::Cursor cursor;
  Transaction::Session* session = nullptr;  // nullptr means that it was taken back
  bool on_row = false;
  std::optional<base::Bytes> parked;  // it holds the key of the row that the cursor left and goes back to
};

struct Transaction::Session {
  struct TableCursors {
    wt::Cursor strict;  // with overwrite=false, insert reports a duplicate and remove a missing key
    wt::Cursor overwrite;
    std::vector<wt::Cursor> walkers;  // these are not in use
    bool touched = false;             // it is set if the table was used since the session was taken
  };

  Session(SessionPool& owner, CacheWaits& cache_waits, uint32_t number)
      : pool(owner), slot(number), session(cache_waits.open_session(waits)) {}

  WT_CURSOR* strict(const std::string& table);
  WT_CURSOR* overwrite(const std::string& table);
  void lend_walker(const std::string& table, LentCursor& to);
  void take_back(LentCursor& lent);
  void take_back_all();
  // Takes all cursors off their rows. A cursor that stands on a row keeps the row's page in memory and keeps it from being split,
  // after a commit too: other sessions that come to a page that has grown large try to split it, fail and sleep.
  void reset_cursors();
  // Does the same for the lent cursors, which go back to their rows when they are used again. It is needed before a commit too: a
  // commit may have to make room in the cache first, and can't if its own cursors stand on the large page.
  void let_go_of_pages();
  void close_cursors(const std::string& table) { tables.erase(table); }

  SessionPool& pool;
  const uint32_t slot;  // no two open transactions have the same number
  SessionWaits waits;
  wt::Session session;
  std::unordered_map<std::string, TableCursors, StringHash, std::equal_to<>> tables;
  CountChanges counts;
  uint64_t written_bytes = 0;       // this transaction wrote so many
  uint64_t unjournaled_bytes = 0;   // of them; the journal gets them with the commit
  std::exception_ptr interruption;  // it ended a wait of this transaction, which can't be committed any more
  int failure = 0;        // WiredTiger's result of a call of this transaction that failed, after which it refuses the commit
  size_t drops_seen = 0;  // the session knows so many of the pool's dropped tables

 private:
  struct Lent {
    LentCursor* to;
    TableCursors* from;
  };
  std::vector<Lent> lent_;
  std::vector<TableCursors*> touched_;

  TableCursors& touch(const std::string& table);
  wt::Cursor open(const std::string& table, const char* config = nullptr);
};

// The class is thread-safe.
class SessionPool {
 public:
  explicit SessionPool(wt::Connection& connection) : connection_(connection), waits_(connection) {}

  Transaction::Session* take();
  void give_back(Transaction::Session* session);

  const wt::Connection& connection() const { return connection_; }
  const CacheWaits& waits() const { return waits_; }
  std::function<std::string(std::string_view table)> table_owner;  // it is set once, before the first client comes

  // Cursors keep files in use. With `few` idle sessions close theirs if they have more than a few, and so does each session that
  // comes back.
  void keep_few(bool few);
  // Closes the cursors of idle sessions on the table; busy sessions close theirs when they come back.
  void forget_table(const std::string& table);

 private:
  // A session with cursors on more tables than this closes them all: each cursor keeps a table's file open.
  static constexpr size_t tables_max = 400, few_tables_max = 20;
  std::atomic<size_t> tables_max_{tables_max};
  void let_go(Transaction::Session& session) REQUIRES(mutex_);

  wt::Connection& connection_;
  CacheWaits waits_;
  base::Mutex mutex_;
  std::vector<std::unique_ptr<Transaction::Session>> all_ GUARDED_BY(mutex_);
  std::vector<Transaction::Session*> idle_ GUARDED_BY(mutex_);
  std::vector<std::string> dropped_ GUARDED_BY(mutex_);
};

}  // namespace storage
