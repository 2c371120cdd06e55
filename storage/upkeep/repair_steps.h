// The steps of a repair (repair.h), which share what they have found out. Each file has one job:
//
//   repair.cpp           the order of the steps, what they share, and counts
//   repair_tables.cpp    tables with damaged pages
//   repair_stubs.cpp     records whose contents are whole in chains
//   repair_from_log.cpp  documents that the log has
//   repair_contents.cpp  contents that have copies, and records that can't be helped
//   repair_past.cpp      pre-states
//   repair_chains.cpp    rows of chains and their references
//   repair_indexes.cpp   entries of indexes
//   repair_versions.cpp  what branches and commits show
#pragma once

#include <map>
#include <set>

#include "storage/collections/stored_collection.h"
#include "storage/contents/chain_store.h"
#include "storage/engine/tables.h"
#include "storage/upkeep/repair.h"

namespace storage {

class Repair {
 public:
  Repair(Store& store, StoredCollection& collection, const ContentCopies& copies, VersionRepair* versions,
         const std::function<void()>& interrupted, DocumentLog* log);

  RepairReport report;

  void run();

 private:
  static constexpr int log_removed = 7200301, log_restored = 7200302;
  static constexpr size_t batch = 256;  // This many changes go into one transaction.
  static constexpr size_t lost_bytes_max = 15 << 20;

  static bool holds(BytesView content);
  void ask() const;
  void warn(int64_t count, std::string text);
  void name_lost();
  std::vector<RecordId> records();
  std::optional<Bytes> readable(Transaction& transaction, RecordId record);
  void correct_counts();
  void take_away(RecordId record) {
    report.took_away = true;
    taken_away_.insert(record);
  }

  // --- tables: repair_tables.cpp
  void mend_tables();
  // Does what mend_table does, and reports it.
  std::optional<Tables::Kept> mend(const std::string& table, const Tables::Fill& fill = nullptr);
  // A salvaged table may have rows again that have moved to the other one since: of two rows the older one goes. `records_sound`:
  // the table of records is the one that wasn't salvaged.
  void drop_doubles(bool records_sound);
  // A salvaged table may have rows of earlier checkpoints. Those that a sound table contradicts move to the collection of what
  // was lost: older contents than the last, and documents that were deleted. `damaged` are the tables that aren't sound.
  void drop_older(const std::vector<std::string>& damaged);
  void find_older_by_chains(std::set<RecordId>& older);
  void find_older_by_ids(const StoredIndex& index, std::set<RecordId>& older);
  void set_aside(Transaction& transaction, RecordId record, const char* why);

  // --- records whose contents are in chains: repair_stubs.cpp
  void restore_stubs();
  void restore_stub(Transaction& transaction, const ChainKey& key);

  // --- documents in the log: repair_from_log.cpp
  void restore_from_log();
  void restore_from_log(const DamagedDocument& document, Stamp generation);
  bool is_of(BytesView content, const DamagedDocument& document) const;
  // Returns the checksum of the record's content; nullopt: what says it can't be read.
  std::optional<uint32_t> checksum_of(Transaction& transaction, RecordId record, const RecordRow& row);

  // --- contents: repair_contents.cpp
  struct Member {
    ChainKey key;
    std::optional<uint32_t> checksum;  // The checksum is set if its row can still be read.
    bool dead = false;
    bool kept = false;
    uint64_t references = 0;
  };
  void heal_contents();
  // A content may be readable although its base isn't, when it takes nothing from the damaged place; this function makes it
  // whole. It returns the rows of chains that can't be read.
  std::vector<ChainKey> rescue_from_lost(const std::vector<RecordId>& damaged);
  // This function restores one content of the record's chain after the other, until the record can be read or there are no more
  // copies.
  void heal(RecordId record);
  // This function goes from the content that is whole down to the record's own, and returns the first damaged one.
  std::optional<Member> first_damaged(Transaction& transaction, RecordId record);
  bool intact(Transaction& transaction, const Member& member);
  bool restore(Transaction& transaction, const Member& member);
  void make_whole(Transaction& transaction, const Member& member, BytesView content);
  // Returns whether the chain table keeps older contents of a record whose row is lost.
  bool has_kept_contents(Transaction& transaction, RecordId record);
  const Table& table_of(Transaction& transaction, RecordId record) const;
  void make_lost_and_found();
  void keep(Transaction& transaction, RecordId record, const char* why, const std::vector<std::pair<std::string, Bytes>>& parts);
  void remove(Transaction& transaction, RecordId record);

  // --- what the past keeps in rows: repair_past.cpp
  struct PreStatesRead;
  // Each pre-state is made out of the one before it, so those behind one that can't be read are lost with it. They are removed
  // from the row; the snapshots that showed them then show nothing of the record.
  void drop_damaged_pre_states();
  PreStatesRead read_pre_states(Transaction& transaction, const Table& table, BytesView key, BytesView value);
  PreStatesRead read_pre_states(RecordId record, BytesView list, Stamp above, BytesView own);
  void drop_pre_states(Transaction& transaction, const Table& table, const Bytes& key, size_t readable_bytes);
  // `all`: nothing is left of what is kept in the row.
  void warn_of_past(RecordId record, bool all);
  // The entries of a lost record on `_id` go, so the past keeps one if snapshots still show something of the record.
  void keep_ids_of_lost();
  // A record's row is made anew: of the older contents that a row may have, nothing is left.
  void warn_of_row(RecordId record, Stamp generation);

  // --- chains: repair_chains.cpp
  struct Row;
  // This class makes changes of rows, several in each transaction.
  class Changes;
  void correct_chains();
  static bool stands(const ChainKey& base, const std::map<ChainKey, size_t>& at, const std::vector<Row>& rows,
                     const std::map<ContentName, uint64_t>& raw);

  // --- indexes: repair_indexes.cpp
  bool due(Transaction& transaction, const StoredIndex& index, RecordId record, BytesView key);
  void correct_index(StoredIndex& index);
  // The branches find versions by their `_id`s.
  bool of_versions(const StoredIndex& index) const;
  // The index has the entries of versions itself. Those of `_id` are the branches', unless sort keys stand in place of strings.
  bool has_versions(const StoredIndex& index) const;
  // The entries of branches under one key are separate rows.
  void remove_entry(Transaction& transaction, const StoredIndex& index, BytesView key, RecordId record);
  void correct_entries(Transaction& transaction, StoredIndex& index, RecordId record);
  // This function corrects the types of an entry, and returns whether they were wrong.
  bool correct_types(Transaction& transaction, const StoredIndex& index, BytesView key, RecordId record, BytesView due);
  // Two documents have the same key in a unique index: the one that is in the index stays, as in MongoDB, and this function moves
  // the other one away.
  void move_away(Transaction& transaction, RecordId record, const Bytes& content);

  // --- what branches and commits show: repair_versions.cpp
  void make_states();
  void make_pending();
  // If a record's row and its entry on `_id` are lost, only what shows it tells of it.
  void find_unnamed();
  void remove_unnamed();
  void make_trees();

  Store& store_;
  Engine& engine_;
  StoredCollection& collection_;
  ChainStore& chains_;
  const StoreTables& tables_;
  const ContentCopies& copies_;
  VersionRepair* const versions_;
  const std::function<void()>& interrupted_;
  DocumentLog* const log_;
  std::set<RecordId> taken_away_;
  std::map<RecordId, std::string> why_not_;  // the log has nothing of these records' documents
  std::shared_ptr<Collection> lost_;
  std::vector<DamagedDocument> unreadable_;
  std::set<RecordId> unnamed_;  // those of them that no entry on `_id` leads to, and others from before the first branch
  std::set<RecordId> purged_;   // commits name these, and nothing says of which documents they were
  bool pending_lost_ = false;   // rows of what branches show, which say what was purged, went with damaged pages
  bool chains_older_ = false;   // the table of chains was salvaged, and may have rows of an earlier checkpoint
  bool rows_lost_ = false;      // records' rows went with damaged pages
  bool ids_lost_ = false;       // and the index on `_id`, if there is one, doesn't have all of them any more
  IndexKeys keys_;
};

}  // namespace storage
