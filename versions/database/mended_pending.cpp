#include "versions/database/mended_pending.h"

#include <algorithm>

#include "base/guarded.h"
#include "base/varint.h"
#include "bson/key_id.h"
#include "versions/branch/pending_rows.h"
#include "versions/database/entry_keys.h"
#include "versions/database/mended_purges.h"
#include "versions/database/pending_lines.h"

namespace versions {

namespace {

using base::guarded;
using storage::in_transaction;
using Pending = storage::VersionRepair::Pending;

constexpr size_t rows_at_once = 256;

class Mend {
 public:
  Mend(const PendingToMend& mend, const storage::Table& rows) : mend_(mend), store_(mend.shared.store), rows_(rows) {}

  Pending run(bool salvaged) {
    Transaction transaction(mend_.engine, Transaction::Mode::read);
    branches_ = mend_.shared.graph.branches(transaction);
    for (const Branch& branch : branches_) committed_[branch.id] = mend_.shared.view_of(transaction, branch.head).state;
    read_entries(transaction);
    read_records(transaction);
    const auto lines = read_log(transaction);
    if (salvaged) drop_older(lines);
    read_rows();
    mend_purged(transaction);
    for (const Branch& branch : branches_) {
      const auto line = lines.find(branch.name);
      if (line != lines.end()) follow(transaction, branch, line->second);
      if (line == lines.end() || !line->second.is_whole) partial_.push_back(&branch);
    }
    follow_entries(transaction);
    put_rest();
    for (const Branch* branch : partial_) mended_.partial.push_back(branch->name);
    return std::move(mended_);
  }

 private:
  void ask() const {
    if (mend_.interrupted) mend_.interrupted();
  }

  // Finds the records that aren't committed, by the documents' keys.
  void read_entries(Transaction& transaction) {
    const storage::Table table(entries_table_of(store_));
    TableCursor entries = table.cursor(transaction);
    while (entries.next()) {
      ask();
      const BytesView entry = entries.key();
      BytesView value = entries.value();
      if (entry.size() < sizeof(RecordId)) continue;
      const BytesView key = entry.substr(0, entry.size() - sizeof(RecordId));
      const auto record = static_cast<RecordId>(base::load_be64(entry.data() + key.size()));
      has_entry_.add(record);
      if (base::take_varint(value) == 0 && value.empty()) add_uncommitted(record, Bytes(key));
    }
    // The index on `_id` has the entries of documents from before the first branch.
    guarded([&] {
      const auto first = mend_.shared.base.stored_indexes()->front()->cursor(transaction, storage::Direction::forward);
      for (first->seek({}); first->next();) {
        ask();
        has_entry_.add(first->record());
      }
      return true;
    });
  }

  // Entries may be lost, too. If what commits show is lost with them, nothing says which of the records aren't committed.
  void read_records(Transaction& transaction) {
    RecordSet others;
    for (const RecordId record : mend_.there)
      if (!has_entry_.contains(record)) others.add(record);
    if (others.empty()) return;
    const std::vector<State> states(mend_.states.begin(), mend_.states.end());
    const auto shown = guarded([&] { return std::optional(store_.shown_by_any(transaction, states, others)); });
    if (!shown) return;
    others.for_each([&](RecordId record) {
      ask();
      auto key = key_of_content(transaction, record);
      if (!key) return;
      if (shown->contains(record))
        without_entry_[*std::move(key)].push_back(record);
      else if (segment_of(record) >= first_segment)
        add_uncommitted(record, *std::move(key));
    });
  }

  void add_uncommitted(RecordId record, Bytes key) {
    uncommitted_[key].push_back(record);
    keys_.emplace(record, std::move(key));
  }

  std::optional<Bytes> key_of_content(Transaction& transaction, RecordId record) {
    return guarded([&]() -> std::optional<Bytes> {
      const auto content = store_.content(transaction, record);
      return content ? std::optional(key_of(*content)) : std::nullopt;
    });
  }

  std::map<std::string, PendingLines::OfBranch> read_log(Transaction& transaction) {
    if (!mend_.log) return {};
    const auto key_of_record = [this](RecordId record) {
      const auto at = keys_.find(record);
      return at == keys_.end() ? std::nullopt : std::optional(at->second);
    };
    const storage::StoredCollection& base = mend_.shared.base;
    PendingLines lines({mend_.database, base.uuid_bytes(), base.id()}, key_of_record);
    mend_.log->walk([&](const LoggedEntry& entry) { lines.meet(entry); }, [&](const std::string& why) { lines.meet_hole(why); },
                    mend_.interrupted);
    auto branches = lines.branches();
    for (const Branch& branch : branches_) {
      const auto line = branches.find(branch.name);
      if (line == branches.end() || !line->second.head) continue;
      if (mend_.shared.graph.commit(transaction, branch.head)->id != *line->second.head) line->second.is_whole = false;
    }
    return branches;
  }

  void drop_older(const std::map<std::string, PendingLines::OfBranch>& lines) {
    for (const Branch& branch : branches_) {
      const auto line = lines.find(branch.name);
      if (line == lines.end() || !line->second.is_whole) continue;
      in_transaction(mend_.engine, [&](Transaction& transaction) {
        rows_.truncate(transaction, pending_key(branch.id, 0), pending_key(branch.id, storage::record_id_max));
      });
    }
  }

  // Finds which branch has which record, and which branches show nothing of their last commits, by the rows that are left.
  void read_rows() {
    Transaction transaction(mend_.engine, Transaction::Mode::read);
    TableCursor rows = rows_.cursor(transaction);
    while (rows.next()) {
      ask();
      const auto row = parse_pending_row(rows.key(), rows.value());
      if (!row) continue;
      if (row->branch == BranchId::none) {
        purged_.add(row->record);
        if (!row->purged.empty()) without_entry_[Bytes(row->purged)].push_back(row->record);
        continue;
      }
      if (row->record == listing_at && hides(static_cast<Listing>(row->kind))) emptied_.insert(row->branch);
      if (row->kind == static_cast<char>(PendingKind::added)) owners_[row->record] = row->branch;
    }
  }

  void mend_purged(Transaction& transaction) {
    RecordSet known = has_entry_;
    known |= purged_;
    for (const RecordId record : mend_.there) known.add(record);
    const auto purged = guarded([&] {
      return mend_purges(transaction, {mend_.branches, mend_.shared, known, without_entry_, mend_.interrupted});
    });
    for (const auto& [record, key] : purged) {
      put(BranchId::none, record, purged_row(key));
      mended_.purged.push_back({.record = record, .id = bson::id_of_key(key).value_or(bson::Document()), .why = {}});
    }
  }

  // Puts the rows that follow from the log.
  void follow(Transaction& transaction, const Branch& branch, const PendingLines::OfBranch& line) {
    if (const auto& listed = line.listed) {
      // No branch makes a collection that it has, so if its last commit has one, it was dropped.
      const bool hides = committed_.at(branch.id) != 0;
      if (listed->lists)
        put(branch, listing_at, pending_row(hides ? Listing::made_anew : Listing::made, listed->stamp));
      else if (hides)
        put(branch, listing_at, pending_row(Listing::dropped, listed->stamp));
      if (hides) emptied_.insert(branch.id);
    }
    for (const auto& [key, write] : line.writes) {
      ask();
      const RecordId record = write.there ? record_of(transaction, branch, key, write) : 0;
      hide(transaction, branch, key, record, write.first);
      if (record != 0)
        add(branch, record, write.newest);
      else if (write.there && !write.may_be_purged)
        ++mended_.lost[branch.name];
    }
  }

  // Returns the record that has what a branch wrote; 0: it is lost.
  RecordId record_of(Transaction& transaction, const Branch& branch, const Bytes& key, const PendingLines::Write& write) {
    const auto at = uncommitted_.find(key);
    if (at == uncommitted_.end()) return 0;
    const auto& records = at->second;
    if (std::find(records.begin(), records.end(), write.record) != records.end()) return write.record;
    RecordId lost = 0;
    for (const RecordId record : records) {
      const auto owner = owners_.find(record);
      if (owner != owners_.end() && owner->second != branch.id) continue;
      if (owner != owners_.end()) return record;
      const auto generation = generation_of(transaction, record);
      if (generation == write.generation) return record;
      if (!generation) lost = record;  // its row is gone, so that nothing says its generation
    }
    return lost;
  }

  std::optional<Stamp> generation_of(Transaction& transaction, RecordId record) {
    return guarded(
        [&] { return mend_.shared.base.records().generation_not_after(transaction, record, ~Stamp{0}, /*current=*/true); });
  }

  // Hides the document that the branch's last commit has under the key, unless that is `record`.
  void hide(Transaction& transaction, const Branch& branch, const Bytes& key, RecordId record, Stamp stamp) {
    if (emptied_.contains(branch.id)) return;
    const View shown{.state = committed_.at(branch.id)};
    const RecordId old = shown.state == 0 ? 0 : guarded([&] { return find(transaction, shown, key); });
    if (old != 0 && old != record) put(branch, old, pending_row(PendingKind::removed, stamp, key));
  }

  RecordId find(Transaction& transaction, const View& shown, const Bytes& key) {
    if (const auto at = without_entry_.find(key); at != without_entry_.end()) {
      for (const RecordId record : at->second)
        if (!purged_.contains(record) && store_.shows(transaction, shown, record)) return record;
    }
    return store_.find(transaction, shown, key);
  }

  void add(const Branch& branch, RecordId record, Stamp stamp) {
    owners_[record] = branch.id;
    put(branch, record, pending_row(PendingKind::added, stamp));
  }

  // Records that aren't committed, and that no row has yet, belong to branches of which the log doesn't have all.
  void follow_entries(Transaction& transaction) {
    if (partial_.empty()) return;
    std::set<BranchId> given;
    for (const auto& [key, records] : uncommitted_) {
      ask();
      std::set<BranchId> have;  // branches that have another record of the document
      std::vector<std::pair<Stamp, RecordId>> left;
      for (const RecordId record : records) {
        if (const auto owner = owners_.find(record); owner != owners_.end())
          have.insert(owner->second);
        else if (segment_of(record) >= first_segment)
          left.emplace_back(generation_of(transaction, record).value_or(0), record);
      }
      std::sort(left.rbegin(), left.rend());
      for (const auto& [generation, record] : left) {
        const Branch* branch = writer_of(segment_of(record));
        if (branch && !is_partial(*branch)) continue;  // the log has no such write: the record waits to be freed
        if (!branch && partial_.size() == 1) branch = partial_.front();
        if (!branch || !have.insert(branch->id).second) {
          mended_.nobodys.push_back(record);
          continue;
        }
        hide(transaction, *branch, key, record, generation);
        add(*branch, record, generation);
        if (committed_.at(branch->id) == 0 && given.insert(branch->id).second)
          put(*branch, listing_at, pending_row(Listing::made, 0));
      }
    }
  }

  // Returns the branch that writes into the segment; nullptr: none does, or several do. A branch begins another segment when a
  // branch is made from it; its records stay where they are.
  const Branch* writer_of(Segment segment) const {
    const Branch* found = nullptr;
    for (const Branch& branch : branches_) {
      if (branch.segment != segment) continue;
      if (found) return nullptr;
      found = &branch;
    }
    return found;
  }
  bool is_partial(const Branch& branch) const { return std::find(partial_.begin(), partial_.end(), &branch) != partial_.end(); }

  void put(const Branch& branch, RecordId record, Bytes row) { put(branch.id, record, std::move(row)); }
  void put(BranchId branch, RecordId record, Bytes row) {
    to_put_.emplace_back(pending_key(branch, record), std::move(row));
    if (to_put_.size() >= rows_at_once) put_rest();
  }

  void put_rest() {
    const uint64_t made = in_transaction(mend_.engine, [&](Transaction& transaction) {
      uint64_t count = 0;
      for (const auto& [key, row] : to_put_)
        if (rows_.insert(transaction, key, row)) ++count;
      return count;
    });
    mended_.made += static_cast<int64_t>(made);
    to_put_.clear();
  }

  const PendingToMend& mend_;
  BranchStore& store_;
  const storage::Table& rows_;
  std::vector<Branch> branches_;
  std::map<BranchId, State> committed_;  // the states of their last commits; 0: that doesn't have the collection
  RecordSet has_entry_, purged_;
  std::unordered_map<Bytes, std::vector<RecordId>> uncommitted_;    // by keys
  std::unordered_map<RecordId, Bytes> keys_;                        // of these
  std::unordered_map<Bytes, std::vector<RecordId>> without_entry_;  // committed records that lost theirs, or were purged
  std::unordered_map<RecordId, BranchId> owners_;                   // the branches that have added them
  std::set<BranchId> emptied_;                                      // these branches show nothing of their last commits
  std::vector<const Branch*> partial_;
  std::vector<std::pair<Bytes, Bytes>> to_put_;
  Pending mended_;
};

}  // namespace

storage::VersionRepair::Pending mend_pending(const PendingToMend& mend, const storage::Table& rows, bool salvaged) {
  return Mend(mend, rows).run(salvaged);
}

}  // namespace versions
