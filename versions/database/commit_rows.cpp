#include "versions/database/commit_rows.h"

#include <set>

namespace versions {

using base::ErrorCode;
using base::OperationError;

namespace {

std::shared_ptr<const Commit> whole(Transaction& transaction, const VersionGraph& graph, CommitNumber number) {
  auto commit = graph.commit(transaction, number);
  const std::string id = base::to_hex(view(commit->id)).substr(0, 16);
  if (graph.dropped(transaction, number)) {
    throw OperationError(
        ErrorCode::illegal_operation,
        "commit " + id + (commit->absent ? " lies behind the boundary of a shallow history" : " was dropped by the retention") +
            ", so what comes from it can't be packed");
  }
  if (commit->digests != DigestKind::roots)
    throw OperationError(ErrorCode::illegal_operation, "commit " + id + " is older than trees of documents, and can't be packed");
  return commit;
}

}  // namespace

CommitRows::CommitRows(BranchedDatabase& database, Transaction& transaction, const What& what)
    : database_(database), transaction_(transaction), keys_max_(what.keys_max) {
  const VersionGraph& graph = database.branches().graph();
  commit_ = whole(transaction, graph, what.commit);
  const CommitNumber against = what.against ? *what.against : commit_->parents.empty() ? 0 : commit_->parents.front();
  if (against != 0) parent_ = whole(transaction, graph, against);
  for (const storage::CollectionId id : database.collections()) {
    if (what.only && !what.only->contains(id)) continue;
    if (!commit_->state_of(id) && !(parent_ && parent_->state_of(id))) continue;
    if (auto shared = database.versions_of(id)) left_.push_back(std::move(shared));
  }
}

std::optional<CommitRows::Row> CommitRows::next(const std::function<void()>& interrupted) {
  for (;;) {
    if (scan_) {
      if (scan_->next()) {
        const BytesView content = scan_->content();
        return Row{.collection = shared_->base.id(), .key = key_of(content), .before = {}, .after = Bytes(content)};
      }
      scan_.reset();
    }
    while (!changes_.empty()) {
      const Change change = std::move(changes_.front());
      changes_.pop_front();
      if (auto row = row_of(change)) return row;
    }
    if (more_)
      fill(interrupted);
    else if (!open())
      return std::nullopt;
  }
}

bool CommitRows::open() {
  if (left_.empty()) return false;
  shared_ = std::move(left_.front());
  left_.pop_front();
  behind_.reset();
  const storage::CollectionId id = shared_->base.id();
  const CollectionState* const now = commit_->state_of(id);
  const CollectionState* const then = parent_ ? parent_->state_of(id) : nullptr;
  before_ = {.state = then ? then->state : 0};
  after_ = {.state = now ? now->state : 0};
  const Roots& roots = database_.branches().roots();
  if (!parent_) {
    scan_ = shared_->store.scan(transaction_, after_);
    // The tree may name documents that nobody has.
    if (const auto root = commit_->root_of(*now)) {
      for (Bytes& key : shared_->store.purged_of(transaction_, after_.state).keys) {
        const auto hash = roots.find(transaction_, *root, key);
        if (hash && !shared_->store.get(transaction_, after_, key))
          changes_.push_back({std::move(key), hash, Change::By::records});
      }
    }
    return true;
  }
  more_ = true;
  return true;
}

// Finds the changes behind the last key.
void CommitRows::fill(const std::function<void()>& interrupted) {
  const storage::CollectionId id = shared_->base.id();
  const CollectionState* const now = commit_->state_of(id);
  const CollectionState* const then = parent_->state_of(id);
  const Roots& roots = database_.branches().roots();
  const auto root_now = now ? commit_->root_of(*now) : std::optional(roots.empty(transaction_));
  const auto root_then = then ? parent_->root_of(*then) : std::optional(roots.empty(transaction_));
  if (root_now && root_then)
    by_trees(*root_then, *root_now, interrupted);
  else
    by_records(root_now, interrupted);
  more_ = changes_.size() >= keys_max_;
  if (more_) behind_ = changes_.back().key;
}

void CommitRows::by_trees(const Hash& before, const Hash& after, const std::function<void()>& interrupted) {
  if (before == after) return;
  // The keys come in the same order each time, whichever that is.
  bool is_behind = !behind_;
  database_.branches().roots().diff(transaction_, before, after, [&](BytesView key, const std::optional<Hash>& hash) {
    if (interrupted) interrupted();
    if (is_behind)
      changes_.push_back({Bytes(key), hash});
    else
      is_behind = key == *behind_;
    return changes_.size() < keys_max_;
  });
}

// The receiver has the first commit without what was purged, and so its tree: all that the child's tree names beside comes as
// rows.
void CommitRows::by_records(const std::optional<Hash>& root, const std::function<void()>& interrupted) {
  std::set<Bytes> keys;  // the lowest ones
  const auto add = [&](Bytes key) {
    if (interrupted) interrupted();
    if (behind_ && key <= *behind_) return;
    keys.insert(std::move(key));
    if (keys.size() > keys_max_) keys.erase(std::prev(keys.end()));
  };
  BranchStore& store = shared_->store;
  const Difference difference = store.diff(transaction_, before_, after_);
  for (const RecordSet* side : {&difference.only_a, &difference.only_b}) {
    const auto scan = store.scan_set(transaction_, *side);
    while (scan->next()) add(key_of(scan->content()));
  }
  for (const View& view : {before_, after_}) {
    for (Bytes& key : store.purged_of(transaction_, view.state).keys) add(std::move(key));
  }
  for (const Bytes& key : keys) {
    if (root)
      changes_.push_back({key, database_.branches().roots().find(transaction_, *root, key), Change::By::records});
    else
      changes_.push_back({key, std::nullopt, Change::By::documents});
  }
}

std::optional<CommitRows::Row> CommitRows::row_of(const Change& change) const {
  Row row{.collection = shared_->base.id(), .key = change.key, .before = shared_->store.get(transaction_, before_, change.key)};
  if (change.by == Change::By::documents) row.after = shared_->store.get(transaction_, after_, change.key);
  if (change.hash) {
    row.after = shared_->store.get(transaction_, after_, change.key);
    if (row.after && sha256(*row.after) != *change.hash) row.after.reset();
    if (!row.after) row.named = change.hash;
  }
  // Neither tree names what isn't there on either side.
  if (change.by == Change::By::tree) return row;
  if (!row.before && !row.after && !row.named) return std::nullopt;
  if (row.before && row.before == row.after) return std::nullopt;
  return row;
}

}  // namespace versions
