// This part of BranchedDatabase answers what a repair asks about `_id` entries, each of which leads to a version.
#include "storage/upkeep/repair.h"
#include "versions/database/branched_database.h"

namespace versions {

namespace {

class EntriesToRepair final : public storage::VersionEntries {
 public:
  EntriesToRepair(std::shared_ptr<BranchedDatabase> database, std::shared_ptr<SharedCollection> shared)
      : database_(std::move(database)), shared_(std::move(shared)), id_index_(shared_->base.stored_indexes()->front()) {}

  void remove(Transaction& transaction, BytesView key, RecordId record, bool gone) override {
    std::vector<BranchId> ids;
    for (const Branch& branch : branches(transaction)) ids.push_back(branch.id);
    shared_->store.remove_entry(transaction, key, record, gone, ids);
  }

  bool insert(Transaction& transaction, BytesView key, RecordId record) override {
    if (segment_of(record) < first_segment) return id_index_->insert(transaction, key, record, {});
    shared_->store.put_entry(transaction, key, record, came_with(transaction, record));
    return true;
  }

 private:
  std::vector<Branch> branches(Transaction& transaction) const { return shared_->graph.branches(transaction); }

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
