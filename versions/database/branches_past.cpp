#include "versions/database/branches_past.h"

#include <mutex>
#include <set>

#include "storage/contents/declared_snapshots.h"
#include "storage/store.h"
#include "versions/database/collection_view.h"

namespace versions {

namespace {

constexpr char database_owner[] = "d", added_row[] = "\x01";
constexpr size_t pending_owner_bytes = 9;

Bytes number_key(char kind, uint32_t number) {
  Bytes key(1, kind);
  return key.append(storage::catalog_key(number));
}

Bytes pending_owner(storage::CollectionId collection, BranchId branch) {
  return number_key('p', collection).append(storage::catalog_key(static_cast<uint32_t>(branch)));
}

[[noreturn]] void damaged() {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "what branches were in snapshots can't be read");
}

Bytes branch_name(BranchId branch) {
  return storage::catalog_key(static_cast<uint32_t>(branch));
}

Listing listing_of(BytesView value) {
  const auto listing = static_cast<Listing>(value.size() == 1 ? value[0] : 0);
  if (listing != Listing::made && listing != Listing::dropped && listing != Listing::made_anew) damaged();
  return listing;
}

RecordId record_of(BytesView name) {
  if (name.size() != sizeof(RecordId)) damaged();
  return static_cast<RecordId>(base::load_be64(name.data()));
}

// The number of a database; nullopt: it had no branches.
std::optional<uint32_t> number_of(BytesView value) {
  if (value.empty()) return std::nullopt;
  if (value.size() != sizeof(uint32_t)) damaged();
  return __builtin_bswap32(base::load_le<uint32_t>(value.data()));
}

class ReadOnce final : public past::ShownRecords {
 public:
  explicit ReadOnce(std::function<RecordSet()> read) : read_(std::move(read)) {}

  bool contains(RecordId record) override {
    std::call_once(once_, [&] { records_ = read_(); });
    return records_.contains(record);
  }

 private:
  const std::function<RecordSet()> read_;
  std::once_flag once_;
  RecordSet records_;
};

}  // namespace

std::shared_ptr<past::ShownRecords> shown_records(std::function<RecordSet()> read) {
  return std::make_shared<ReadOnce>(std::move(read));
}

// --- a collection

Stamp CollectionPast::shown_before(Stamp write) const {
  return storage::is_draft(write) ? 0 : past_.store().declared_snapshots().newest_before(write);
}

void CollectionPast::save_content(Transaction& transaction, RecordId record, const storage::Superseded& before, Stamp write) {
  past_.save(transaction, base_, record, before, write);
}

void CollectionPast::save_pending(Transaction& transaction, BranchId branch, RecordId record, char kind, Stamp since,
                                  Stamp write) {
  const Stamp position = past_.store().declared_snapshots().position_before(write), from = std::max<Stamp>(since, 1);
  const BytesView value(&kind, 1);
  if (record == listing_at)
    return past_.states().save(transaction, number_key('l', base_.id()), branch_name(branch), from, value, position);
  Bytes name;
  base::append_be64(name, static_cast<uint64_t>(record));
  past_.states().save(transaction, pending_owner(base_.id(), branch), name, from, value, position);
}

bool CollectionPast::saved_listed(Transaction& transaction) const {
  bool listed = false;
  const Bytes owner = number_key('l', base_.id());
  past_.states().each(transaction, owner, owner.size(),
                      [&](BytesView, BytesView value) { listed = listed || lists(listing_of(value)); });
  return listed;
}

RecordSet CollectionPast::saved_additions(Transaction& transaction) {
  RecordSet records;
  past_.states().each(transaction, number_key('p', base_.id()), pending_owner_bytes, [&](BytesView name, BytesView value) {
    if (value == added_row) records.add(record_of(name));
  });
  return records;
}

// --- branches

void BranchesPast::changing(Transaction& transaction, const std::string& name, BytesView before) const {
  const storage::DeclaredSnapshots& declared = past_.store().declared_snapshots();
  const Stamp write = change_stamp(transaction);
  if (declared.newest_before(write) == 0) return;
  past_.states().save(transaction, number_key('b', database_), name, 0, before, declared.position_before(write));
}

std::map<std::string, Branch> BranchesPast::branches(Transaction& transaction, Stamp snapshot) const {
  std::map<std::string, Branch> all;
  for (Branch& branch : graph_.branches(transaction)) {
    std::string name = branch.name;
    all.emplace(std::move(name), std::move(branch));
  }
  past_.states().each_as_of(transaction, number_key('b', database_), snapshot, [&](BytesView name, BytesView row) {
    if (row.empty())
      all.erase(std::string(name));
    else
      all.insert_or_assign(std::string(name), VersionGraph::branch_of_row(name, row));
  });
  return all;
}

std::optional<Branch> BranchesPast::branch(Transaction& transaction, const std::string& name, Stamp snapshot) const {
  const auto all = branches(transaction, snapshot);
  const auto found = all.find(name);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

std::vector<CommitNumber> BranchesPast::held(Transaction& transaction) const {
  std::set<CommitNumber> held;
  const Bytes owner = number_key('b', database_);
  past_.states().each(transaction, owner, owner.size(), [&](BytesView name, BytesView row) {
    if (!row.empty()) held.insert(VersionGraph::branch_of_row(name, row).head);
  });
  const BytesView databases(database_owner);
  past_.states().each(transaction, databases, databases.size(), [&](BytesView name, BytesView number) {
    if (name == name_ && number.empty()) held.insert(graph_.first(transaction));
  });
  return {held.begin(), held.end()};
}

std::optional<Listing> BranchesPast::listing(Transaction& transaction, SharedCollection& shared, const Branch& branch,
                                             Stamp snapshot) const {
  const Held then{.below = snapshot};
  std::optional<Listing> listing = shared.store.listing(transaction, branch.id, &then);
  past_.states().each_as_of(transaction, number_key('l', shared.base.id()), snapshot, [&](BytesView name, BytesView value) {
    if (name == branch_name(branch.id)) listing = listing_of(value);
  });
  return listing;
}

RecordSet BranchesPast::shown(Transaction& transaction, SharedCollection& shared, const Branch& branch, Stamp snapshot) const {
  const auto listing = this->listing(transaction, shared, branch, snapshot);
  RecordSet records;
  if (!listing || !hides(*listing)) {
    const View head = shared.view_of(transaction, branch.head);
    records = shared.store.diff(transaction, View{}, View{.state = head.state}).only_b;
  }
  const Held then{.below = snapshot};
  BranchStore::Pending pending = shared.store.pending(transaction, branch.id, &then);
  past_.states().each_as_of(
      transaction, pending_owner(shared.base.id(), branch.id), snapshot,
      [&](BytesView name, BytesView value) { (value == added_row ? pending.added : pending.removed).add(record_of(name)); });
  records -= pending.removed;
  records |= pending.added;
  return records;
}

// --- databases

void BranchesPast::database_changing(past::Past& past, Transaction& transaction, std::string_view name,
                                     std::optional<uint32_t> number) {
  const storage::DeclaredSnapshots& declared = past.store().declared_snapshots();
  const Stamp write = change_stamp(transaction);
  if (declared.newest_before(write) == 0) return;
  past.states().save(transaction, database_owner, name, 0, number ? storage::catalog_key(*number) : Bytes(),
                     declared.position_before(write));
}

std::optional<std::optional<uint32_t>> BranchesPast::database(past::Past& past, Transaction& transaction, std::string_view name,
                                                              Stamp snapshot) {
  std::optional<std::optional<uint32_t>> found;
  past.states().each_as_of(transaction, database_owner, snapshot, [&](BytesView one, BytesView value) {
    if (one == name) found.emplace(number_of(value));
  });
  return found;
}

bool BranchesPast::shown_by_any_snapshot(past::Past& past, Transaction& transaction, uint32_t number) {
  bool shown = false;
  const BytesView owner(database_owner);
  past.states().each(transaction, owner, owner.size(),
                     [&](BytesView, BytesView value) { shown = shown || number_of(value) == number; });
  return shown;
}

}  // namespace versions
