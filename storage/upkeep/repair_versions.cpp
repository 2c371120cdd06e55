#include <algorithm>

#include "base/guarded.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

void Repair::make_states() {
  if (!versions_) return;
  const VersionRepair::States states = versions_->make_states(records(), interrupted_);
  report.made_states = states.made;
  report.took_away |= !states.lost.empty() || !states.partial.empty();
  for (const std::string& commit : states.lost)
    report.warnings.push_back("Lost: the state of commit " + commit + "; neither other commits nor its hash tree determine it.");
  for (const std::string& commit : states.partial)
    report.warnings.push_back("Commit " + commit + " shows less than its hash tree names, since nobody has the other documents.");
}

void Repair::make_pending() {
  const std::string table = versions_ ? versions_->pending_table() : std::string();
  VersionRepair::Pending pending;
  const auto fill = [&](const Table& rows, const Tables::Kept& kept) {
    pending = versions_->make_pending(rows, kept.salvaged, records(), interrupted_);
  };
  if (table.empty() || !mend(table, fill)) return;
  pending_lost_ = true;
  report.made_pending = pending.made;
  report.took_away |= !pending.partial.empty() || !pending.lost.empty() || !pending.nobodys.empty();
  for (const std::string& branch : pending.partial) {
    report.warnings.push_back("The log doesn't have all writes of branch " + branch +
                              " since its last commit, so it may show documents again that were removed.");
  }
  for (const auto& [branch, count] : pending.lost)
    warn(count, "Lost: {} documents that branch " + branch + " showed beyond its last commit.");
  // If entries are lost as well, a lost document looks like one that was purged.
  if (ids_lost_) {
    report.took_away |= !pending.purged.empty();
    for (const DamagedDocument& document : pending.purged) {
      report.lost.push_back(name_of(document));
      report.warnings.push_back("Lost, unless it was purged: " + report.lost.back());
    }
  }
  if (pending.nobodys.empty()) return;
  make_lost_and_found();
  for (const RecordId record : pending.nobodys) {
    ask();
    in_transaction(engine_, [&](Transaction& transaction) {
      set_aside(transaction, record, "nothing says on which branch it was written");
    });
  }
  warn(static_cast<int64_t>(pending.nobodys.size()), "Removed {} documents of which nothing says on which branch they were.");
}

void Repair::find_unnamed() {
  if (!versions_) return;
  // A record that the index on `_id` names is purged when the index loses its entry.
  std::vector<RecordId> there = records();
  std::set<RecordId> known;
  for (const DamagedDocument& document : unreadable_) {
    known.insert(document.record);
    if (!document.id.empty() || !document.key.empty()) there.push_back(document.record);
  }
  const auto missing = base::guarded([&]() -> std::optional<VersionRepair::Missing> {
    Transaction transaction(engine_, Transaction::Mode::read);
    return versions_->missing(transaction, there, interrupted_);
  });
  if (!missing) {
    report.warnings.emplace_back("What branches and commits show can't be read, so documents may be missing that nothing names.");
    return;
  }
  // A purge removes the document's entry, and notes the record in the table of what branches show. So if that table is lost, and
  // no entries are, a record without an entry was purged.
  const bool purged = pending_lost_ && !ids_lost_;
  for (const RecordId record : missing->records) {
    if (!known.insert(record).second) continue;
    if (purged)
      purged_.insert(record);
    else
      unreadable_.push_back({record, {}, "its record is missing"});
  }
  std::sort(unreadable_.begin(), unreadable_.end(),
            [](const DamagedDocument& a, const DamagedDocument& b) { return a.record < b.record; });
  for (const DamagedDocument& document : unreadable_) {
    if (document.id.empty() && document.key.empty()) unnamed_.insert(document.record);
  }
  (purged ? purged_ : unnamed_).insert(missing->unknown.begin(), missing->unknown.end());
  if (purged) return;
  warn(static_cast<int64_t>(missing->unknown.size()),
       "Lost: {} documents from before the first branch, of which nothing says which they are.");
}

void Repair::remove_unnamed() {
  for (const RecordId record : purged_) {
    ask();
    in_transaction(engine_, [&](Transaction& transaction) { versions_->remove(transaction, {}, record, true); });
    ++report.made_pending;
  }
  for (const RecordId record : unnamed_) {
    ask();
    in_transaction(engine_, [&](Transaction& transaction) {
      if (readable(transaction, record)) return;  // the log had it
      take_away(record);
      versions_->remove(transaction, {}, record, true);
      transaction.after_commit([this] { ++report.unnamed_records; });
    });
  }
}

void Repair::make_trees() {
  if (!versions_) return;
  const VersionRepair::Trees trees = versions_->make_trees(interrupted_);
  report.made_trees = trees.made;
  report.took_away |= !trees.lost.empty();
  for (const std::string& commit : trees.lost) {
    report.warnings.push_back("The hash tree of commit " + commit +
                              " can't be read, and what the commit shows doesn't make it again.");
  }
}

}  // namespace storage
