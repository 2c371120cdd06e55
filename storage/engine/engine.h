// The engine: tables and transactions over one data directory.
//
// It owns the WiredTiger connection and the work on all tables alike: the
// journal's syncs, checkpoints, the order of timestamps. What the tables hold is
// the business of the floors above (storage/store.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "storage/engine/table.h"

namespace storage {

struct EngineOptions {
  std::string path;
  uint64_t cache_bytes = 256ull << 20;
  std::string block_compressor = "zstd";
  std::string journal_compressor = "snappy";
  int checkpoint_seconds = 60;
  int journal_commit_ms = 100;
  // A member of a replica set: what survives is decided by the set's log. Commits don't go through the journal (but those of
  // tables that always do), and checkpoints hold what `set_agreed` has been told of, no more.
  bool replicated = false;
};

// What a floor above adds to the engine.
struct EngineExtension {
  std::string configuration;                                 // for wiredtiger_open, behind the engine's own
  std::function<void(const std::string& table)> table_gone;  // is called once a table was dropped; nullptr: nobody asks
};

class Engine {
 public:
  // Opens or creates the directory. Throws OperationError: UnsupportedFormat
  // for a directory of another format or version, DataCorruptionDetected …
  explicit Engine(const EngineOptions& options, EngineExtension extension = {});
  ~Engine();  // stops the background work, checkpoints, closes
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const EngineOptions& options() const;

  // Opens the table, making it where it isn't there. For the catalog's own use and for layers
  // that keep tables of their own (the oplog). Not inside a transaction.
  Table open_table(const std::string& name, const TableOptions& options = {});
  std::vector<std::string> table_names() const;
  // Takes the table away once nobody has a cursor on it; returns at once.
  void drop_table(const std::string& name);
  int64_t file_bytes(const std::string& table) const;
  int64_t reusable_bytes(const std::string& table) const;
  void compact(const std::string& table);
  // Gives back the free ends of all files, whose tables each write a page.
  void trim_files();

  // Everything committed is in the data files when it returns.
  void checkpoint();
  // Calls back, on the flusher's thread, once all that was committed before the
  // call survives power loss. Group commit: one sync serves all who wait.
  void when_durable(std::function<void()> done);
  void wait_durable();

  // Everything stamped below this is committed or gone: how far the log may be read.
  Stamp all_committed() const;
  Stamp last_stamp() const;
  // How many transactions took stamps since it was opened.
  uint64_t stamped_transactions() const;
  // At start: stamps go on above the newest that was used.
  void raise_stamp(Stamp at_least);

  // Replicated. The set has agreed on everything stamped up to here. Background work since then becomes stable with the next
  // call, with the same stamp too.
  void set_agreed(Stamp upto);
  // Everything stamped up to here was there when the directory was opened, or is in a checkpoint by now. Later stamps may be too.
  Stamp recovered_stamp() const;
  Stamp checkpointed_stamp() const;
  // Replicated. The newest moment that the set has agreed on, kept readable until the last holder lets go. Costs space for what
  // changes meanwhile. Not to be held beyond the engine's life.
  std::shared_ptr<const Snapshot> keep_snapshot();

  // Called, from any thread, after a transaction that took stamps is over: all_committed may have moved. Set before there are
  // any.
  void on_settled(std::function<void()> told);

  // Appends engine figures: cache, files, checkpoints, log (serverStatus' `wiredTiger`).
  void append_stats(bson::Builder& out) const;

  struct Internals;
  Internals& internals() { return *internals_; }  // storage/ only

 private:
  std::unique_ptr<Internals> internals_;
};

}  // namespace storage
