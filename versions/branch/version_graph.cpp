#include "versions/branch/version_graph.h"

#include <algorithm>

#include "base/varint.h"
#include "storage/engine/touch.h"
#include "versions/branch/graph_rows.h"

namespace versions {

namespace {

constexpr std::string_view policy_key = "#retention", validators_key = "#validators";
constexpr std::string_view before_unique_key = "#unique";
constexpr std::string_view made_root_prefix = "#root";
constexpr std::string_view proof_key = "#proof";
constexpr std::string_view grafted_key = "#grafted";
constexpr std::string_view first_key = "#origin";

Table open_table(storage::Engine& engine, uint32_t database, const std::string& kind) {
  return engine.open_table("versions-db" + std::to_string(database) + "-" + kind, {.copied = true});
}

Bytes number_key(CommitNumber number) {
  Bytes key;
  base::append_be64(key, number);
  return key;
}

Bytes held_key(CommitNumber number) {
  return number_key(number) + "h";
}

Bytes branch_key(const std::string& name) {
  return "b" + name;
}
Bytes tag_key(const std::string& name) {
  return "t" + name;
}
Bytes made_root_key(storage::CollectionId collection, CommitNumber commit) {
  Bytes key(made_root_prefix);
  base::append_be64(key, static_cast<uint64_t>(collection));
  base::append_be64(key, commit);
  return key;
}

int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

const CollectionState* Commit::state_of(storage::CollectionId collection) const {
  for (const CollectionState& one : collections) {
    if (one.collection == collection) return &one;
  }
  return nullptr;
}

std::optional<Hash> Commit::root_of(const CollectionState& state) const {
  return digests == DigestKind::roots && state.digest != Hash{} ? std::optional(state.digest) : std::nullopt;
}

VersionGraph::VersionGraph(storage::Engine& engine, uint32_t database)
    : commits_(open_table(engine, database, "commits")),
      ids_(open_table(engine, database, "ids")),
      branches_(open_table(engine, database, "branches")),
      cache_(1 << 20) {
  Transaction transaction(engine, Transaction::Mode::read);
  TableCursor cursor = commits_.cursor(transaction);
  if (cursor.previous()) next_commit_ = read_number(cursor.key());
  if (!grafted(transaction)) return;
  // A commit that took an absent one's place has that one's number, and its states have the number that it was made under.
  TableCursor all = commits_.cursor(transaction);
  while (all.next()) {
    const Commit commit = read_commit(read_number(all.key()), all.value());
    for (const CollectionState& one : commit.collections) next_commit_ = std::max<CommitNumber>(next_commit_, one.state);
  }
}

// --- branches

std::optional<Branch> VersionGraph::branch(Transaction& transaction, const std::string& name) const {
  const auto row = branches_.get(transaction, branch_key(name));
  if (!row) return std::nullopt;
  return read_branch(name, *row);
}

std::vector<Branch> VersionGraph::branches(Transaction& transaction) const {
  std::vector<Branch> all;
  TableCursor cursor = branches_.cursor(transaction);
  for (bool on = cursor.seek("b"); on && cursor.key().starts_with('b'); on = cursor.next()) {
    all.push_back(read_branch(cursor.key().substr(1), cursor.value()));
  }
  return all;
}

void VersionGraph::put_branch(Transaction& transaction, const Branch& branch) {
  const Bytes row = write_branch(branch);
  call_changing(transaction, branch.name, row);
  branches_.put(transaction, branch_key(branch.name), row);
}

void VersionGraph::remove_branch(Transaction& transaction, const std::string& name) {
  call_changing(transaction, name, {});
  branches_.remove(transaction, branch_key(name));
}

void VersionGraph::call_changing(Transaction& transaction, const std::string& name, BytesView now) const {
  if (!changing_) return;
  const auto row = branches_.get(transaction, branch_key(name));
  const Bytes before(row.value_or(BytesView()));
  if (before != now) changing_(transaction, name, before);
}

Branch VersionGraph::branch_of_row(BytesView name, BytesView row) {
  return read_branch(name, row);
}

std::optional<CommitNumber> VersionGraph::tag(Transaction& transaction, const std::string& name) const {
  const auto row = branches_.get(transaction, tag_key(name));
  if (!row) return std::nullopt;
  return RowReader(*row).number();
}

std::vector<std::pair<std::string, CommitNumber>> VersionGraph::tags(Transaction& transaction) const {
  std::vector<std::pair<std::string, CommitNumber>> all;
  TableCursor cursor = branches_.cursor(transaction);
  for (bool on = cursor.seek("t"); on && cursor.key().starts_with('t'); on = cursor.next()) {
    all.emplace_back(cursor.key().substr(1), RowReader(cursor.value()).number());
  }
  return all;
}

void VersionGraph::put_tag(Transaction& transaction, const std::string& name, CommitNumber commit) {
  hold(transaction, commit);
  Bytes row;
  base::append_varint(row, commit);
  branches_.put(transaction, tag_key(name), row);
}

void VersionGraph::remove_tag(Transaction& transaction, const std::string& name) {
  branches_.remove(transaction, tag_key(name));
}

void VersionGraph::claim_name(Transaction& transaction, const std::string& name) const {
  storage::touch(transaction, branches_, "n" + name);
}

uint32_t VersionGraph::take(Transaction& transaction, BytesView counter, uint32_t first) {
  const auto row = branches_.get(transaction, counter);
  const auto taken = row ? static_cast<uint32_t>(RowReader(*row).number()) : first;
  Bytes next;
  base::append_varint(next, uint64_t{taken} + 1);
  branches_.put(transaction, counter, next);
  return taken;
}

BranchId VersionGraph::new_branch_id(Transaction& transaction) {
  return static_cast<BranchId>(take(transaction, "#branch", 1));
}

void VersionGraph::claim_branch_ids(Transaction& transaction) {
  const auto row = branches_.get(transaction, "#branch");
  if (!row) return storage::touch(transaction, branches_, "#branch");
  const Bytes as_it_is(*row);
  branches_.put(transaction, "#branch", as_it_is);
}

Segment VersionGraph::new_segment(Transaction& transaction) {
  return take(transaction, "#segment", first_segment);
}

std::optional<VersionGraph::MadeRoot> VersionGraph::made_root(Transaction& transaction, storage::CollectionId collection,
                                                              CommitNumber commit) const {
  const auto row = branches_.get(transaction, made_root_key(collection, commit));
  if (!row) return std::nullopt;
  RowReader reader(*row);
  return MadeRoot{reader.hash(), Bytes(row->substr(sizeof(Hash)))};
}

void VersionGraph::put_made_root(Transaction& transaction, storage::CollectionId collection, CommitNumber commit,
                                 const MadeRoot& made) {
  branches_.put(transaction, made_root_key(collection, commit), Bytes(view(made.root)) + made.reached);
}

void VersionGraph::remove_made_root(Transaction& transaction, storage::CollectionId collection, CommitNumber commit) {
  branches_.remove(transaction, made_root_key(collection, commit));
}

std::vector<Hash> VersionGraph::roots(Transaction& transaction) const {
  std::vector<Hash> roots;
  TableCursor made = branches_.cursor(transaction);
  for (bool on = made.seek(made_root_prefix); on && made.key().starts_with(made_root_prefix); on = made.next())
    roots.push_back(RowReader(made.value()).hash());
  TableCursor cursor = commits_.cursor(transaction);
  while (cursor.next()) {
    const Commit commit = read_commit(read_number(cursor.key()), cursor.value());
    if (commit.dropped) continue;
    for (const CollectionState& one : commit.collections) {
      if (const auto root = commit.root_of(one)) roots.push_back(*root);
    }
  }
  return roots;
}

void VersionGraph::remove_made_roots(Transaction& transaction, storage::CollectionId collection) {
  const Bytes first = made_root_key(collection, 0);
  const BytesView prefix = BytesView(first).substr(0, first.size() - sizeof(CommitNumber));
  std::vector<Bytes> keys;
  TableCursor cursor = branches_.cursor(transaction);
  for (bool on = cursor.seek(first); on && cursor.key().starts_with(prefix); on = cursor.next()) keys.emplace_back(cursor.key());
  for (const Bytes& key : keys) branches_.remove(transaction, key);
}

// --- commits

std::shared_ptr<const Commit> VersionGraph::commit(Transaction& transaction, CommitNumber number) const {
  {
    const base::MutexLock lock(mutex_);
    if (const auto* commit = cache_.get(number)) return *commit;
  }
  auto commit = std::make_shared<const Commit>(stored(transaction, number));
  // An absent commit may become another one, and whatever made it so may be rolled back: only their rows say which one it is.
  if (commit->absent || commit->grafted) return commit;
  const base::MutexLock lock(mutex_);
  cache_.put(number, commit, 200 + commit->metadata.size() + 80 * commit->collections.size());
  return commit;
}

Commit VersionGraph::stored(Transaction& transaction, CommitNumber number) const {
  const auto row = commits_.get(transaction, number_key(number));
  if (!row)
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "commit " + std::to_string(number) + " is missing");
  return read_commit(number, *row);
}

VersionGraph::Counts VersionGraph::counts(Transaction& transaction) const {
  Counts counts;
  TableCursor cursor = commits_.cursor(transaction);
  while (cursor.next())
    ++(absent_row(cursor.value()) ? counts.absent : dropped_row(cursor.value()) ? counts.dropped : counts.commits);
  return counts;
}

CommitNumber VersionGraph::first(Transaction& transaction) const {
  if (const auto row = branches_.get(transaction, first_key)) return RowReader(*row).number();
  TableCursor cursor = commits_.cursor(transaction);
  if (!cursor.next())
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "a database with branches has no commit");
  return read_number(cursor.key());
}

std::optional<CommitNumber> VersionGraph::find(Transaction& transaction, std::string_view hex) const {
  const auto refuse = [&](const char* why) {
    return base::OperationError(base::ErrorCode::bad_value, "'" + std::string(hex) + "' " + why);
  };
  if (hex.size() < 8 || hex.size() > 64) throw refuse("is no commit's id: 8 to 64 hex digits");
  Bytes first((hex.size() + 1) / 2, '\0');
  for (size_t i = 0; i < hex.size(); ++i) {
    const int digit = hex_digit(hex[i]);
    if (digit < 0) throw refuse("is no commit's id: hex digits only");
    first[i / 2] |= static_cast<char>(digit << (i % 2 == 0 ? 4 : 0));
  }
  const auto fits = [&](BytesView id) { return base::to_hex(id).starts_with(hex); };
  TableCursor cursor = ids_.cursor(transaction);
  if (!cursor.seek(first) || !fits(cursor.key())) return std::nullopt;
  const CommitNumber number = read_number(cursor.value());
  if (cursor.next() && fits(cursor.key())) throw refuse("begins more than one commit's id");
  return number;
}

std::optional<CommitNumber> VersionGraph::find(Transaction& transaction, const Hash& id) const {
  const auto row = ids_.get(transaction, view(id));
  return row ? std::optional(read_number(*row)) : std::nullopt;
}

Bytes VersionGraph::statement(Transaction& transaction, const Commit& commit) const {
  Bytes bytes = "palimpsest commit";
  bytes.push_back(static_cast<char>(commit.digests));
  base::append_varint(bytes, commit.parents.size());
  for (const CommitNumber parent : commit.parents) bytes.append(view(this->commit(transaction, parent)->id));
  append_bytes(bytes, commit.metadata);
  base::append_varint(bytes, commit.collections.size());
  for (const CollectionState& one : commit.collections) {
    append_bytes(bytes, one.label);
    bytes.append(view(one.digest));
  }
  base::append_le(bytes, commit.time_ms);
  return bytes;
}

void VersionGraph::put_commit(Transaction& transaction, Commit& commit) {
  for (;; ++commit.time_ms) {
    commit.id = sha256(statement(transaction, commit));
    if (ids_.insert(transaction, view(commit.id), number_key(commit.number))) break;
    if (const CommitNumber there = find(transaction, commit.id).value(); absent(transaction, there)) {
      commit.number = there;
      commit.grafted = true;
      break;
    }
  }
  commits_.put(transaction, number_key(commit.number), write_commit(commit));
  note_proof(transaction, commit, false);
}

void VersionGraph::note_proof(Transaction& transaction, const Commit& commit, bool same_documents) {
  if (commit.parents.size() != 1) return;
  const auto first = this->commit(transaction, commit.parents.front());
  if (first->dropped) return;
  const auto same = [&](const CollectionState& a, const CollectionState& b) {
    return a.collection == b.collection && (same_documents || a.state == b.state);
  };
  if (!first->parents.empty() || commit.metadata != first->metadata ||
      !std::ranges::equal(commit.collections, first->collections, same))
    return;
  Bytes row;
  base::append_varint(row, commit.number);
  branches_.insert(transaction, proof_key, row);
}

std::optional<CommitNumber> VersionGraph::proof_of_first(Transaction& transaction) const {
  const auto row = branches_.get(transaction, proof_key);
  return row ? std::optional(RowReader(*row).number()) : std::nullopt;
}

// --- shallow histories

CommitNumber VersionGraph::find_or_put_absent(Transaction& transaction, const Hash& id) {
  if (const auto there = find(transaction, id)) return *there;
  Commit commit{.id = id, .number = new_commit_number(), .dropped = true, .absent = true};
  ids_.insert(transaction, view(id), number_key(commit.number));
  commits_.put(transaction, number_key(commit.number), write_commit(commit));
  if (!grafted(transaction)) branches_.put(transaction, grafted_key, Bytes(1, '\1'));
  return commit.number;
}

bool VersionGraph::absent(Transaction& transaction, CommitNumber number) const {
  const auto row = commits_.get(transaction, number_key(number));
  return row && absent_row(*row);
}

bool VersionGraph::grafted(Transaction& transaction) const {
  return branches_.get(transaction, grafted_key).has_value();
}

bool VersionGraph::is_boundary(Transaction& transaction, const Commit& commit) const {
  // The parents of most commits have lower numbers.
  return commit.grafted && std::any_of(commit.parents.begin(), commit.parents.end(),
                                       [&](CommitNumber parent) { return absent(transaction, parent); });
}

std::vector<CommitNumber> VersionGraph::boundaries(Transaction& transaction, bool dropped_too) const {
  std::vector<CommitNumber> all;
  if (!grafted(transaction)) return all;
  TableCursor cursor = commits_.cursor(transaction);
  while (cursor.next()) {
    const Commit commit = read_commit(read_number(cursor.key()), cursor.value());
    if ((dropped_too || !commit.dropped) && is_boundary(transaction, commit)) all.push_back(commit.number);
  }
  return all;
}

void VersionGraph::put_first(Transaction& transaction, CommitNumber number) {
  Bytes row;
  base::append_varint(row, number);
  branches_.put(transaction, first_key, row);
  // The child that proves it may be here already.
  const Graph all = graph(transaction);
  for (const auto& [child, node] : all) {
    if (!node.dropped && node.parents.size() == 1 && node.parents.front() == number)
      note_proof(transaction, *commit(transaction, child), false);
  }
}

CommitNumber VersionGraph::before_unique(Transaction& transaction) const {
  const auto row = branches_.get(transaction, before_unique_key);
  return row ? RowReader(*row).number() : 0;
}

void VersionGraph::put_before_unique(Transaction& transaction) {
  Bytes row;
  base::append_varint(row, next_commit_.load());
  branches_.put(transaction, before_unique_key, row);
}

RetentionPolicy VersionGraph::policy(Transaction& transaction) const {
  RetentionPolicy policy;
  const auto row = branches_.get(transaction, policy_key);
  if (!row) return policy;
  RowReader reader(*row);
  if (const uint64_t newest = reader.number(); newest > 0) policy.newest = newest;
  if (const uint64_t age = reader.number(); age > 0) policy.age_ms = static_cast<int64_t>(age);
  return policy;
}

void VersionGraph::put_policy(Transaction& transaction, const RetentionPolicy& policy) {
  Bytes row;
  base::append_varint(row, policy.newest.value_or(0));
  base::append_varint(row, static_cast<uint64_t>(policy.age_ms.value_or(0)));
  branches_.put(transaction, policy_key, row);
}

Bytes VersionGraph::validators(Transaction& transaction) const {
  const auto row = branches_.get(transaction, validators_key);
  return row ? Bytes(*row) : Bytes();
}

void VersionGraph::put_validators(Transaction& transaction, BytesView validators) {
  branches_.put(transaction, validators_key, validators);
}

// A commit in memory doesn't change, so only its row says whether it was dropped.
bool VersionGraph::dropped(Transaction& transaction, CommitNumber number) const {
  const auto row = commits_.get(transaction, number_key(number));
  return row && dropped_row(*row);
}

void VersionGraph::drop_commit(Transaction& transaction, CommitNumber number) {
  storage::touch(transaction, commits_, held_key(number));
  Commit commit = *this->commit(transaction, number);
  commit.dropped = true;
  commit.metadata.clear();
  commits_.put(transaction, number_key(number), write_commit(commit));
}

void VersionGraph::hold(Transaction& transaction, CommitNumber number) const {
  check_there(transaction, number);
  storage::touch(transaction, commits_, held_key(number));
}

void VersionGraph::check_there(Transaction& transaction, CommitNumber number) const {
  const auto row = commits_.get(transaction, number_key(number));
  if (!row || !dropped_row(*row)) return;
  throw base::OperationError(base::ErrorCode::bad_value,
                             absent_row(*row) ? "the commit lies behind the boundary of a shallow history: fetch it with a "
                                                "greater depth, or with unshallow"
                                              : "the commit was dropped, and nothing is left of what it showed");
}

Graph VersionGraph::graph(Transaction& transaction) const {
  Graph graph;
  TableCursor cursor = commits_.cursor(transaction);
  while (cursor.next()) {
    const CommitNumber number = read_number(cursor.key());
    Commit commit = read_commit(number, cursor.value());
    graph[number] = {std::move(commit.parents), commit.time_ms, commit.dropped, commit.id};
  }
  return graph;
}

// Walks down from the highest number, and marks each commit with the one of the two that descends from it: the first commit with
// both marks is the newest common ancestor.
CommitNumber VersionGraph::common_ancestor(Transaction& transaction, CommitNumber a, CommitNumber b) const {
  if (grafted(transaction)) return common_ancestor_grafted(transaction, a, b);
  std::map<CommitNumber, unsigned, std::greater<>> waiting{{a, 1}};
  waiting[b] |= 2;
  while (!waiting.empty()) {
    const auto [number, seen_by] = *waiting.begin();
    if (seen_by == 3) return number;
    waiting.erase(waiting.begin());
    const auto known = commit(transaction, number);
    for (const CommitNumber parent : known->parents) waiting[parent] |= seen_by;
  }
  return 0;
}

VersionGraph::Reached VersionGraph::reached_from(Transaction& transaction, CommitNumber from) const {
  Reached reached;
  std::vector<CommitNumber> open{from};
  while (!open.empty()) {
    const CommitNumber number = open.back();
    open.pop_back();
    const auto [at, is_new] = reached.try_emplace(number);
    if (!is_new) continue;
    at->second = commit(transaction, number);
    open.insert(open.end(), at->second->parents.begin(), at->second->parents.end());
  }
  return reached;
}

// It is the youngest of the common ancestors that no other common ancestor comes from.
CommitNumber VersionGraph::common_ancestor_grafted(Transaction& transaction, CommitNumber a, CommitNumber b) const {
  const Reached reached[2] = {reached_from(transaction, a), reached_from(transaction, b)};
  std::unordered_set<CommitNumber> behind;
  for (const auto& [number, commit] : reached[0]) {
    if (reached[1].contains(number)) behind.insert(commit->parents.begin(), commit->parents.end());
  }
  const Commit* best = nullptr;
  for (const auto& [number, commit] : reached[0]) {
    if (!reached[1].contains(number) || behind.contains(number)) continue;
    if (!best || std::pair(commit->time_ms, commit->id) > std::pair(best->time_ms, best->id)) best = commit.get();
  }
  return best ? best->number : 0;
}

CommitNumber VersionGraph::merge_base(Transaction& transaction, CommitNumber a, CommitNumber b) const {
  const CommitNumber base = common_ancestor(transaction, a, b);
  if (!grafted(transaction)) return base;
  const auto refuse = [] {
    throw base::OperationError(
        base::ErrorCode::illegal_operation,
        "the merge base lies behind the boundary of a shallow history: fetch with a greater depth, or with "
        "unshallow");
  };
  if (base != 0 && absent(transaction, base)) refuse();
  // A younger one may lie behind a boundary that only one of the sides has.
  const Reached before = base != 0 ? reached_from(transaction, base) : Reached();
  for (const CommitNumber side : {a, b}) {
    for (const auto& [number, commit] : reached_from(transaction, side)) {
      if (!before.contains(number) && is_boundary(transaction, *commit)) refuse();
    }
  }
  return base;
}

// --- the log

Log::Log(const VersionGraph& graph, Transaction& transaction, CommitNumber from) : cursor_(graph.commits_.cursor(transaction)) {
  wait_for(from);
}

bool Log::next() {
  while (step()) {
    if (!commit_.dropped) return true;
  }
  return false;
}

bool Log::step() {
  if (waiting_.empty()) return false;
  commit_ = std::move(waiting_.extract(waiting_.begin()).mapped());
  for (const CommitNumber parent : commit_.parents) wait_for(parent);
  return true;
}

void Log::wait_for(CommitNumber number) {
  if (!met_.insert(number).second) return;
  const Bytes key = number_key(number);
  // The parent mostly has the next lower number.
  const bool on = at_ == number + 1 ? cursor_.previous() : cursor_.seek_back(key);
  if (!on || (cursor_.key() != key && !cursor_.seek_back(key)) || cursor_.key() != key) RowReader::fail();
  at_ = number;
  Commit commit = read_commit(number, cursor_.value());
  waiting_.emplace(std::pair(commit.time_ms, commit.id), std::move(commit));
}

}  // namespace versions
