// This part of Databases appends declared snapshots to the log, and replays them from it.
#include "storage/store.h"
#include "versions/database/databases.h"
#include "versions/log/snapshot_entries.h"

namespace versions {

using past::DeclaredSnapshot;

DeclaredSnapshot Databases::declare_snapshot(const std::string& name, const std::function<void()>& interrupted) {
  past_.past().make();
  return past_.past().snapshots().declare(
      name,
      [&](Transaction& transaction, const DeclaredSnapshot& snapshot) {
        log_snapshot(transaction, log::CreateSnapshot{snapshot}.encode());
      },
      interrupted);
}

bool Databases::drop_snapshot(uint64_t number) {
  const auto append = [&](Transaction& transaction, const DeclaredSnapshot& snapshot) {
    log_snapshot(transaction, log::DropSnapshot{snapshot.number}.encode());
  };
  return past_.past().snapshots().drop(number, append).has_value();
}

void Databases::log_snapshot(Transaction& transaction, const bson::Document& entry) const {
  if (log_) log_->branches_changed(transaction, log::snapshots_database, entry);
}

void Databases::replay_snapshots(const std::vector<storage::BranchChange>& changes, const storage::ReplayedChange& replayed) {
  past::Past& past = past_.past();
  past.make();
  storage::in_transaction(store_, [&](Transaction& transaction) {
    transaction.set_replayed(&replayed);
    for (const storage::BranchChange& change : changes) {
      if (!change.documents.empty()) log::refuse("the log has documents before a snapshot, which changes none");
      const log::SnapshotChange entry = log::decode_snapshot_change(change.command);
      if (const auto* create = std::get_if<log::CreateSnapshot>(&entry)) {
        past.snapshots().replay_declare(transaction, create->snapshot);
        log_snapshot(transaction, create->encode());
      } else {
        const auto& drop = std::get<log::DropSnapshot>(entry);
        past.snapshots().replay_drop(transaction, drop.number);
        log_snapshot(transaction, drop.encode());
      }
    }
  });
}

}  // namespace versions
