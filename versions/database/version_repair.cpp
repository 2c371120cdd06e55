// This part of BranchedDatabase answers what a repair asks about versions: `_id` entries, which lead to them, who shows them, and
// the hash trees that name them.
#include <algorithm>

#include "storage/upkeep/repair.h"
#include "versions/branch/mended_states.h"
#include "versions/branch/mended_trees.h"
#include "versions/database/branched_database.h"
#include "versions/database/entry_keys.h"
#include "versions/database/mended_pending.h"
#include "versions/database/unique_keys.h"

namespace versions {

namespace {

class RepairOfVersions final : public storage::VersionRepair {
 public:
  RepairOfVersions(storage::Engine& engine, std::shared_ptr<BranchedDatabase> database, std::shared_ptr<SharedCollection> shared,
                   storage::EntryLog* log)
      : engine_(engine),
        database_(std::move(database)),
        shared_(std::move(shared)),
        log_(log),
        id_index_(shared_->base.stored_indexes()->front()) {}

  std::string entries_table() const override { return entries_table_of(shared_->store); }
  std::string states_table() const override { return shared_->store.states_table(); }
  std::string trees_table() const override { return database_->branches().roots().table_name(); }

  // Layouts without bitmaps keep more of what is pending than these rows.
  std::string pending_table() const override { return shared_->store.states() ? shared_->store.pending_table() : std::string(); }

  States make_states(const std::vector<RecordId>& there, const std::function<void()>& interrupted) override {
    States states;
    if (const auto place = place_of_collection()) {
      const MendedStates mended = mend_states(engine_, database_->branches(), *place, there, shared_->holes, interrupted);
      states = {.made = static_cast<int64_t>(mended.made), .lost = ids_of(mended.lost), .partial = ids_of(mended.partial)};
    }
    return states;
  }

  Pending make_pending(const storage::Table& rows, bool salvaged, const std::vector<RecordId>& there,
                       const std::function<void()>& interrupted) override {
    PendingToMend mend{.engine = engine_,
                       .branches = database_->branches(),
                       .shared = *shared_,
                       .database = database_->name(),
                       .log = log_,
                       .there = there,
                       .interrupted = interrupted};
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      mend.states = states(transaction);
    }
    return mend_pending(mend, rows, salvaged);
  }

  Missing missing(Transaction& transaction, const std::vector<RecordId>& there,
                  const std::function<void()>& interrupted) override {
    BranchStore& store = shared_->store;
    RecordSet known = store.purged_records(transaction);
    for (const RecordId record : there) known.add(record);
    RecordSet shown;
    std::optional<RecordSet> by_all;  // that is, by all states which begin with what was there before the first branch
    for (const State state : states(transaction)) {
      if (interrupted) interrupted();
      RecordSet here = store.diff(transaction, View{}, View{.state = state}).only_b;
      const bool of_first = !here.empty() && here.parts().begin()->first < first_segment &&
                            store.same_line(transaction, state, shared_->graph.first(transaction));
      here -= known;
      shown |= here;
      if (!of_first) continue;
      if (by_all)
        *by_all &= here;
      else
        by_all = std::move(here);
    }
    for (const Branch& branch : branches(transaction)) {
      RecordSet added = store.pending(transaction, branch.id).added;
      added -= known;
      shown |= added;
    }
    RecordSet holes;
    if (by_all) {
      for (const auto& [segment, bitmap] : by_all->parts()) {
        if (segment < first_segment) holes.set_part(segment, bitmap);
      }
    }
    shown -= holes;
    Missing missing;
    if (int64_t left = shared_->holes; holes.count() > static_cast<uint64_t>(left)) {
      holes.for_each([&](RecordId record) {
        if (--left < 0) missing.unknown.push_back(record);
      });
    }
    shown.for_each([&](RecordId record) { missing.records.push_back(record); });
    return missing;
  }

  void remove(Transaction& transaction, BytesView key, RecordId record, bool gone) override {
    std::vector<BranchId> ids;
    for (const Branch& branch : branches(transaction)) ids.push_back(branch.id);
    if (kept_by_store(*id_index_)) return shared_->store.remove_entry(transaction, key, record, gone, ids);
    // The store's own entries have the bytes of `_id`, which a sort key doesn't say.
    if (!gone) return;
    RecordSet records;
    records.add(record);
    const auto all = entry_keys(transaction, shared_->store, records);
    const auto found = all.find(record);
    const std::vector<Bytes> own = found == all.end() ? std::vector<Bytes>() : found->second;
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

  Trees make_trees(const std::function<void()>& interrupted) override {
    Trees trees;
    if (const auto place = place_of_collection()) {
      const TreeKind kind = tree_kind_of(shared_->base.options().document);
      const MendedTrees mended = mend_trees(engine_, database_->branches(), *place, kind, interrupted);
      trees = {.made = static_cast<int64_t>(mended.made), .lost = ids_of(mended.lost)};
    }
    return trees;
  }

 private:
  // The collection's place among the database's; nullopt: it was dropped.
  std::optional<size_t> place_of_collection() const {
    const Branches& branches = database_->branches();
    for (size_t i = 0; i < branches.collections(); ++i)
      if (branches.collection(i).parts.collection == shared_->base.id()) return i;
    return std::nullopt;
  }

  std::vector<std::string> ids_of(const std::vector<CommitNumber>& commits) const {
    std::vector<std::string> ids;
    Transaction transaction(engine_, Transaction::Mode::read);
    for (const CommitNumber commit : commits)
      ids.push_back(base::to_hex(merkle::view(shared_->graph.commit(transaction, commit)->id)));
    return ids;
  }

  // The states of all commits and branches.
  std::set<State> states(Transaction& transaction) const {
    std::set<State> states;
    for (const auto& [number, node] : shared_->graph.graph(transaction)) {
      if (node.dropped) continue;
      if (const State state = shared_->view_of(transaction, number).state; state != 0) states.insert(state);
    }
    return states;
  }

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

  // The first commit that shows the record; 0: it is pending.
  CommitNumber came_with(Transaction& transaction, RecordId record) {
    for (const auto& [number, node] : shared_->graph.graph(transaction)) {
      if (!node.dropped && shared_->store.shows(transaction, shared_->view_of(transaction, number), record)) return number;
    }
    return 0;
  }

  storage::Engine& engine_;
  const std::shared_ptr<BranchedDatabase> database_;
  const std::shared_ptr<SharedCollection> shared_;
  storage::EntryLog* const log_;
  const std::shared_ptr<storage::StoredIndex> id_index_;
};

}  // namespace

std::unique_ptr<storage::VersionRepair> BranchedDatabase::version_repair(storage::Engine& engine,
                                                                         storage::CollectionId collection,
                                                                         storage::EntryLog* log) {
  auto shared = versions_of(collection);
  return shared ? std::make_unique<RepairOfVersions>(engine, shared_from_this(), std::move(shared), log) : nullptr;
}

}  // namespace versions
