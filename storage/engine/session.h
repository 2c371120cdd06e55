// The engine's sessions, kept open with their cursors.
//
// Opening a WiredTiger cursor costs as much as a read, so a session keeps those
// it has opened, by table: one for reads and strict writes, one for overwriting,
// and any number of walkers. A transaction borrows a session; the most recently
// returned one goes out first, its cursors still warm.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/engine/counts.h"
#include "storage/engine/transaction.h"
#include "storage/engine/wt.h"

namespace storage {

class SessionPool;

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// A walking cursor that is out: the session takes it back when the transaction ends, whether or not its
// holder has let go by then.
struct LentCursor {
  wt::Cursor cursor;
  Transaction::Session* session = nullptr;  // nullptr: taken back
  bool on_row = false;
  std::optional<base::Bytes> parked;  // the key of the row that it let go of, to be gone back to
};

struct Transaction::Session {
  struct TableCursors {
    wt::Cursor strict;  // overwrite=false: insert tells of a duplicate, remove of a missing key
    wt::Cursor overwrite;
    std::vector<wt::Cursor> walkers;  // not in use
    bool touched = false;             // since the session was taken
  };

  Session(SessionPool& owner, uint32_t number, wt::Session opened) : pool(owner), slot(number), session(std::move(opened)) {}

  WT_CURSOR* strict(const std::string& table);
  WT_CURSOR* overwrite(const std::string& table);
  void lend_walker(const std::string& table, LentCursor& to);
  void take_back(LentCursor& lent);
  void take_back_all();
  // A cursor that stands on a row keeps its page in memory and from being split, after a commit too:
  // whoever comes next to a page that has grown large tries, fails and sleeps.
  void reset_cursors();
  // The same for the lent ones, which go back to their row when they are asked again. Before a commit too: that one may
  // have to make room in the cache first, and cannot where the large page is the one its own cursors stand on.
  void let_go_of_pages();
  void close_cursors(const std::string& table) { tables.erase(table); }

  SessionPool& pool;
  const uint32_t slot;  // no two open transactions have the same one
  wt::Session session;
  std::unordered_map<std::string, TableCursors, StringHash, std::equal_to<>> tables;
  CountChanges counts;
  uint64_t written_bytes = 0;  // in this transaction
  size_t drops_seen = 0;       // of the pool's dropped tables

 private:
  struct Lent {
    LentCursor* to;
    TableCursors* from;
  };
  std::vector<Lent> lent_;
  std::vector<TableCursors*> touched_;

  TableCursors& touch(const std::string& table);
  std::string uri(const std::string& table) const { return "table:" + table; }
};

// Thread-safe.
class SessionPool {
 public:
  explicit SessionPool(wt::Connection& connection) : connection_(connection) {}

  Transaction::Session* take();
  void give_back(Transaction::Session* session);

  // No idle session holds a cursor on the table any more; busy ones let go when they come back.
  void forget_table(const std::string& table);

 private:
  // A session with cursors on more tables than this starts afresh: each keeps a table's file open.
  static constexpr size_t tables_max = 400;
  void let_go(Transaction::Session& session);

  wt::Connection& connection_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Transaction::Session>> all_;
  std::vector<Transaction::Session*> idle_;
  std::vector<std::string> dropped_;
};

}  // namespace storage
