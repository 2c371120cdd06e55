// The engine offers tables and transactions over one data directory.
//
// It owns the WiredTiger connection and does the work that all tables share: it syncs the journal, takes checkpoints and keeps
// the order of timestamps. The layers above decide what the tables hold (storage/store.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/cipher.h"
#include "base/clock.h"
#include "base/interruptible_mutex.h"
#include "bson/builder.h"
#include "storage/engine/damaged_pages.h"
#include "storage/engine/encryption_options.h"
#include "storage/engine/table.h"

namespace storage {

struct EngineOptions {
  explicit EngineOptions(base::Clock& its_clock) : clock(&its_clock) {}

  std::string path;
  uint64_t cache_bytes = 256ull << 20;
  std::string block_compressor = "zstd";
  std::string journal_compressor = "snappy";
  int checkpoint_seconds = 60;
  int journal_commit_ms = 100;
  // The engine belongs to a member of a replica set, so the set's log decides what survives. Commits don't go through the journal
  // (except those to tables that are always journaled), and a checkpoint holds only what `set_majority_committed` has reported.
  bool replicated = false;
  // WiredTiger's own files and the journal are salvaged if they can't be read: what they have lost is gone, and logged.
  bool salvage = false;
  EncryptionOptions encryption;
  base::Clock* clock;  // it must live longer than the engine; timestamps are taken from it too
};

// A layer above adds these to the engine.
struct EngineExtension {
  // An entry of wiredtiger_open's list of extensions; it may be empty.
  std::string extension;
  std::function<void(const std::string& table)> table_gone;  // it is called once a table was dropped; it may be nullptr
};

class Engine {
 public:
  // Opens or creates the directory. Throws OperationError: UnsupportedFormat for a directory of another format or version,
  // DataCorruptionDetected for damaged files, and others.
  explicit Engine(const EngineOptions& options, EngineExtension extension = {});
  ~Engine();  // the destructor stops the background work, takes a checkpoint and closes
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const EngineOptions& options() const;
  // Seals files that a layer above keeps beside the engine's; nullptr: the directory isn't encrypted.
  const base::Cipher* file_cipher() const;
  base::Clock& clock() const;  // everything in storage/ that measures time asks this clock

  // Opens the table, and makes it if it isn't there. The catalog uses this, and so do layers that keep tables of their own (the
  // oplog). It must not be called inside a transaction.
  Table open_table(const std::string& name, const TableOptions& options = {});
  // Drops all rows of a table that was opened, whatever its file holds. Nobody else may use it.
  void make_empty(const Table& table);
  std::vector<std::string> table_names() const;
  // Drops the table once nobody has a cursor on it; the call returns at once.
  void drop_table(const std::string& name);
  int64_t file_bytes(const std::string& table) const;
  int64_t reusable_bytes(const std::string& table) const;
  void compact(const std::string& table);
  // Gives the free ends of all files back to the file system; for that, each table writes a page.
  void trim_files();

  // Returns the pages of tables that couldn't be read since the engine was opened. Each operation that needed one of them failed
  // with DataCorruptionDetected.
  std::vector<DamagedPage> damaged_pages() const;
  // Sets the function that says for an error's text whose a table is; it returns an empty string if it is nobody's.
  void name_tables(std::function<std::string(std::string_view table)> owner);

  // Takes a checkpoint: when it returns, the data files hold everything that was committed.
  void checkpoint();
  // Calls `done` on the journal's thread, once everything that was committed before this call survives a power loss. One sync
  // serves all callers that wait (group commit).
  void when_durable(std::function<void()> done);
  void wait_durable();

  // The log is quiescent below this timestamp: every write below it is committed or rolled back, and readers of the log may read
  // up to it.
  Stamp all_committed() const;
  Stamp last_stamp() const;
  // Returns how many transactions took timestamps since the engine was opened.
  uint64_t stamped_transactions() const;
  // Makes new timestamps continue above `at_least`, the newest that was used; it is called at start.
  void raise_stamp(Stamp at_least);

  // Reports, on a member of a replica set, that everything with a timestamp up to this one is majority-committed. Background work
  // that was done since the last call becomes stable with the next call, even if that reports the same timestamp.
  void set_majority_committed(Stamp upto);
  // Everything with a timestamp up to the returned one was in the directory when it was opened, or is in a checkpoint by now.
  // Writes with later timestamps may be there too.
  Stamp recovered_stamp() const;
  Stamp checkpointed_stamp() const;
  // Returns, on a member of a replica set, the newest majority-committed state, and keeps it readable until the last holder
  // releases it. This costs space for everything that changes meanwhile. The snapshot must not be held longer than the engine
  // lives.
  std::shared_ptr<const Snapshot> keep_snapshot();

  // Whoever opens a draft (Transaction::Mode::draft) holds this from before its beginning to its end: meanwhile the background
  // stores nothing in another way, which the draft would conflict with. `interrupted` is called while the call waits for the
  // background, some milliseconds, and may throw.
  base::SharedHold hold_draft(const base::Interrupted& interrupted);

  // Sets a function that is called, on any thread, after a transaction that took timestamps is over: all_committed may have moved
  // then. It is set before there are such transactions.
  void on_transaction_over(std::function<void()> called);

  // Appends the engine's figures about cache, files, checkpoints and log (serverStatus' `wiredTiger`).
  void append_stats(bson::Builder& out) const;

  struct Internals;
  Internals& internals() { return *internals_; }  // only storage/ uses it

 private:
  std::unique_ptr<Internals> internals_;
};

}  // namespace storage
