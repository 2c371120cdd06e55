// This class knows which tables there are, makes them and drops them.
//
// A table is made at once. It can't be dropped before no cursor is on it, so a thread of its own tries again until WiredTiger
// releases the files.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "storage/engine/readable_rows.h"
#include "storage/engine/session.h"
#include "storage/engine/table.h"
#include "storage/engine/unapplied_rows.h"

namespace storage {

class Engine;

// The table that has the same rows as this one (TableOptions::copied).
inline constexpr std::string_view copy_suffix = "_copy";
inline std::string copy_name(const std::string& table) {
  return table + std::string(copy_suffix);
}

// The class is thread-safe.
class Tables {
 public:
  // If `journaled` is set, every table's changes go through the journal, otherwise only those of tables that are always
  // journaled. Tables that were kept the other way until now are altered.
  Tables(wt::Connection& connection, SessionPool& sessions, UnappliedRows& unapplied, bool journaled);
  ~Tables();

  Table open(const std::string& name, const TableOptions& options);
  // Says how a table is to be made that replace_rows makes.
  void describe(const std::string& name, const TableOptions& options);
  // The names are sorted. Tables that are being dropped are left out, and so are copies (TableOptions::copied).
  std::vector<std::string> names() const;
  bool exists(const std::string& name) const;
  // Drops the table, and its copy. Its files are removed when nobody has a cursor on it, but not before a checkpoint holds the
  // commit `gone_in`, because until then the table may be in use again after a restart. If `gone_in` is 0, no checkpoint is
  // waited for.
  void drop(const std::string& name, uint64_t gone_in = 0);
  // Reports that a checkpoint holds all commits up to this one.
  void checkpointed(uint64_t commit);
  void drop_now(const std::string& name);  // with its copy; it is called while nobody else uses the table
  // Drops a table and makes it anew, without rows. Nobody else may use the table. It has to have been opened before.
  void make_empty(const std::string& name);
  // Makes the table, anew if it exists, with the rows of another one. A crash leaves it as it was, or with all of these rows.
  // Nobody else may use the table.
  void replace_rows(Engine& engine, const std::string& name, const std::string& by);
  using RowList = std::vector<std::pair<Bytes, Bytes>>;
  void replace_rows(Engine& engine, const std::string& name, const RowList& rows);
  // Copies all rows of `name` that can be read into a new file, which takes the place of the old one. If the file can't be
  // opened, WiredTiger salvages what it finds in it first, and `salvaged` is set: rows may then be older than the last ones that
  // were written. What the journal had for the damaged pages is put in too, and then `fill` may add rows to the new table. A
  // crash leaves the table as it was, or with all of these rows. Nobody else may use the table. Returns how many rows there are,
  // without those of `fill`.
  struct Kept {
    int64_t rows = 0;
    int64_t from_journal = 0;  // of these rows
    bool salvaged = false;
    std::vector<Hole> holes = {};  // what the journal had is in them
  };
  using Fill = std::function<void(const Table& replacement, const Kept& kept)>;
  Kept keep_readable(Engine& engine, const std::string& name, const Fill& fill = nullptr);
  // Sets a function that the dropping thread calls whenever a dropped table's files are gone. It is set before the first drop.
  void when_gone(std::function<void(const std::string& name)> told) { gone_ = std::move(told); }
  void stop();

  int64_t file_bytes(const std::string& name) const;
  int64_t reusable_bytes(const std::string& name) const;
  void compact(const std::string& name);
  // Reads the file's whole structure and returns what is wrong with it; an empty string means that it is sound. `busy` is set if
  // somebody has the table open, and then nothing was read. It calls `interrupted` before each block that it reads, and throws
  // what that throws.
  std::string verify(const std::string& name, bool& busy, const std::function<void()>& interrupted = {});

 private:
  struct Leaving {
    uint64_t gone_in;
    std::string name;
  };
  void load() REQUIRES(mutex_);
  void finish_replacements() REQUIRES(mutex_);
  void drop_copies_alone() REQUIRES(mutex_);
  void begin_replacement(WT_SESSION* session, const std::string& name);
  void end_replacement(Engine& engine, WT_SESSION* session, const std::string& name);
  bool is_copy(const std::string& name) const REQUIRES(mutex_);
  void drop_alone(const std::string& name);
  void leave(const std::string& name, uint64_t gone_in);
  void rename(WT_SESSION* session, const std::string& from, const std::string& to);
  void run();
  bool drop_unused(WT_SESSION* session, const std::string& name);
  // Returns false if somebody uses the table. The rows that a start could not apply are left to the caller, who forgets them when
  // nothing needs them any more, even after a crash.
  bool try_drop(WT_SESSION* session, const std::string& name);
  int64_t statistic(const std::string& name, int key, const char* depth) const;

  wt::Connection& connection_;
  SessionPool& sessions_;
  UnappliedRows& unapplied_;
  const bool journaled_;
  std::function<void(const std::string&)> gone_;
  mutable base::Mutex mutex_;
  base::Condition woken_;
  wt::Session session_ GUARDED_BY(mutex_);  // it makes tables
  std::set<std::string> names_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> settings_ GUARDED_BY(mutex_);  // of tables that were opened
  std::deque<std::string> dropping_ GUARDED_BY(mutex_);
  std::deque<Leaving> leaving_ GUARDED_BY(mutex_);  // these wait for their checkpoint
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace storage
