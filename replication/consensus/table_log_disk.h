// The log on disk is a journaled table of the engine (docs/formats/raft-log.md).
//
//   00                -> meta: term, vote, commit, membership, where the log begins
//   01 first (8, BE)  -> the term of the entries from there on
//   02 index (8, BE)  -> checksum, term, kind, context, data
//
// A batch is one transaction, or shares it with others, also where it replaces a
// suffix. One sync of the journal follows.
#pragma once

#include "replication/consensus/log_disk.h"
#include "storage/engine/engine.h"

namespace replication::consensus {

inline constexpr char log_table[] = "raft_log";

// Threads may call what LogDisk allows.
class TableLogDisk final : public LogDisk {
 public:
  explicit TableLogDisk(storage::Engine& engine, const std::string& table = log_table);

  std::optional<LogImage> load() override;
  void write_on(const std::vector<LogBatch>& batches, size_t& done) override;
  std::vector<EntryPtr> read(Index low, Index high, uint64_t bytes_max) override;

 private:
  std::optional<LogImage> read_image();
  using Batches = std::vector<LogBatch>::const_iterator;
  void write_some(Batches from, Batches to);
  struct Newest {  // row; without a term: not known
    Index index = 0;
    std::optional<Term> term;
  };
  void write_batch(storage::Transaction& transaction, const LogBatch& batch, std::optional<Index> begins, Newest& newest);
  std::optional<Term> term_before(storage::Transaction& transaction, Index first) const;
  Index last_index(storage::Transaction& transaction) const;

  storage::Engine& engine_;
  storage::Table table_;
  Index compacted_ = 0;  // rows up to here are gone; for the writing thread
  Newest newest_;        // for the writing thread
};

}  // namespace replication::consensus
