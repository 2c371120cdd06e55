// This part of BranchedDatabase answers what a repair asks about `_id` entries, each of which leads to a version.
#include <algorithm>

#include "storage/upkeep/repair.h"
#include "versions/database/branched_database.h"
#include "versions/database/unique_keys.h"

namespace versions {

namespace {

class EntriesToRepair final : public storage::VersionEntries {
 public:
  EntriesToRepair(std::shared_ptr<BranchedDatabase> database, std::shared_ptr<SharedCollection> shared)
      : database_(std::move(database)), shared_(std::move(shared)), id_index_(shared_->base.stored_indexes()->front()) {}

  void remove(Transaction& transaction, BytesView key, RecordId record, bool gone) override {
    std::vector<BranchId> ids;
    for (const Branch& branch : branches(transaction)) ids.push_back(branch.id);
    if (kept_by_store(*id_index_)) return shared_->store.remove_entry(transaction, key, record, gone, ids);
    // The store's own entries have the bytes of `_id`, which a sort key doesn't say.
    if (!gone) return;
    const std::vector<Bytes> own = own_keys(transaction, record);
    for (const Bytes& each : own) shared_->store.remove_entry(transaction, each, record, true, ids);
    // The store has no entry of what was there before the first branch.
    if (own.empty()) shared_->store.remove_entry(transaction, {}, record, true, ids);
  }

  bool insert(Transaction& transaction, BytesView key, RecordId record) override {
    if (!kept_by_store(*id_index_)) return insert_collated(transaction, key, record);
    if (segment_of(record) < first_segment) return id_index_->insert(transaction, key, record, {});
    shared_->store.put_entry(transaction, key, record, came_with(transaction, record));
    return true;
  }

 private:
  std::vector<Branch> branches(Transaction& transaction) const { return shared_->graph.branches(transaction); }

  bool insert_collated(Transaction& transaction, BytesView key, RecordId record) {
    const bool is_first = segment_of(record) < first_segment;
    if (!id_index_->has(transaction, key, record)) {
      if (is_first) return id_index_->insert(transaction, key, record, {});
      id_index_->add_version(transaction, key, record);
    }
    const auto content = is_first ? std::nullopt : shared_->store.content(transaction, record);
    if (!content) return true;
    const Bytes own = key_of(*content);
    const auto versions = shared_->store.history(transaction, own);
    if (std::none_of(versions.begin(), versions.end(), [&](const Version& one) { return one.record == record; }))
      shared_->store.put_entry(transaction, own, record, came_with(transaction, record));
    return true;
  }

  // The keys under which the store has an entry of the record.
  std::vector<Bytes> own_keys(Transaction& transaction, RecordId record) const {
    Bytes end;
    base::append_be64(end, static_cast<uint64_t>(record));
    const storage::Table table(shared_->store.table_names().front());
    std::vector<Bytes> keys;
    storage::TableCursor entries = table.cursor(transaction);
    while (entries.next()) {
      if (entries.key().ends_with(end)) keys.emplace_back(entries.key().substr(0, entries.key().size() - end.size()));
    }
    return keys;
  }

  // The first commit that shows the record; 0: it is pending.
  CommitNumber came_with(Transaction& transaction, RecordId record) {
    for (const auto& [number, node] : shared_->graph.graph(transaction)) {
      if (!node.dropped && shared_->store.shows(transaction, shared_->view_of(transaction, number), record)) return number;
    }
    return 0;
  }

  const std::shared_ptr<BranchedDatabase> database_;
  const std::shared_ptr<SharedCollection> shared_;
  const std::shared_ptr<storage::StoredIndex> id_index_;
};

}  // namespace

std::unique_ptr<storage::VersionEntries> BranchedDatabase::entries_to_repair(storage::CollectionId collection) {
  auto shared = versions_of(collection);
  return shared ? std::make_unique<EntriesToRepair>(shared_from_this(), std::move(shared)) : nullptr;
}

}  // namespace versions
