#include "versions/database/commit_packer.h"

#include <algorithm>

#include "dedup/delta.h"
#include "storage/engine/names.h"
#include "versions/database/imported_commit.h"

namespace versions {

namespace {

// A piece goes into one document. A frame of documents that can't be compressed is longer.
constexpr size_t piece_bytes = 1 << 20, piece_bytes_max = 8 << 20;
// An update that isn't shorter than this part of the document comes whole: it is checked without the document before.
constexpr size_t delta_part_max = 2;

}  // namespace

std::vector<Hash> KnownCommits::of(Transaction& transaction, const VersionGraph& graph) {
  const Graph all = graph.graph(transaction);
  std::set<CommitNumber> behind, chosen;
  for (const auto& [number, node] : all) behind.insert(node.parents.begin(), node.parents.end());
  for (const auto& [number, node] : all) {
    if (node.dropped || behind.contains(number)) continue;
    CommitNumber at = number;
    for (uint64_t step = 0, next = 0;; ++step) {
      const auto found = all.find(at);
      if (found == all.end() || found->second.dropped) break;
      if (step == next) {
        chosen.insert(at);
        next = next == 0 ? 1 : 2 * next;
      }
      if (found->second.parents.empty()) break;
      at = found->second.parents.front();
    }
  }
  std::vector<Hash> ids;
  for (auto number = chosen.rbegin(); number != chosen.rend() && ids.size() < ids_max; ++number)
    ids.push_back(graph.commit(transaction, *number)->id);
  return ids;
}

std::vector<pack::Ref> refs_of(Transaction& transaction, const VersionGraph& graph) {
  std::vector<pack::Ref> refs;
  for (const Branch& branch : graph.branches(transaction))
    refs.push_back({pack::Ref::Kind::branch, branch.name, graph.commit(transaction, branch.head)->id});
  for (const auto& [name, number] : graph.tags(transaction)) {
    if (!is_stash_name(name)) refs.push_back({pack::Ref::Kind::tag, name, graph.commit(transaction, number)->id});
  }
  return refs;
}

CommitPacker::CommitPacker(BranchedDatabase& database, Transaction& transaction, What what)
    : database_(database), transaction_(transaction), what_(std::move(what)) {
  if (!what_.selection.empty()) selected_.emplace(database, transaction, what_.selection, what_.filtering, what_.interrupted);
  choose();
  commits_ = order_.size();
}

Hash CommitPacker::id(CommitNumber number) const {
  return selected_ ? selected_->id(number) : database_.branches().graph().commit(transaction_, number)->id;
}

std::optional<CommitNumber> CommitPacker::find(const Hash& id) const {
  return selected_ ? selected_->find(id) : database_.branches().graph().find(transaction_, id);
}

void CommitPacker::choose() {
  const std::set<CommitNumber> known = choose_known(), wanted = choose_wanted(known);
  const VersionGraph& graph = database_.branches().graph();
  for (const CommitNumber number : wanted) {
    const auto commit = graph.commit(transaction_, number);
    for (const CommitNumber parent : commit->parents) {
      if (!wanted.contains(parent) && !known.contains(parent)) excluded_.insert(parent);
    }
  }
  put_in_order(wanted);
  choose_against();
}

// All that the other side has, as far as it is here.
std::set<CommitNumber> CommitPacker::choose_known() const {
  const VersionGraph& graph = database_.branches().graph();
  std::set<CommitNumber> known, ends;
  std::vector<CommitNumber> open;
  for (const Hash& id : what_.shallow) {
    if (const auto number = find(id)) ends.insert(*number);
  }
  for (const std::vector<Hash>* ids : {&what_.known, &what_.shallow}) {
    for (const Hash& id : *ids) {
      if (const auto number = find(id)) open.push_back(*number);
    }
  }
  while (!open.empty()) {
    go_on();
    const CommitNumber number = open.back();
    open.pop_back();
    const auto commit = graph.commit(transaction_, number);
    if (commit->absent || !known.insert(number).second || ends.contains(number)) continue;
    open.insert(open.end(), commit->parents.begin(), commit->parents.end());
  }
  return known;
}

std::set<CommitNumber> CommitPacker::choose_wanted(const std::set<CommitNumber>& known) const {
  const VersionGraph& graph = database_.branches().graph();
  std::set<CommitNumber> met, wanted;
  std::vector<CommitNumber> level;
  for (const pack::Ref& ref : what_.refs) level.push_back(graph.find(transaction_, ref.commit).value());
  for (uint64_t depth = 0; depth < what_.depth.value_or(UINT64_MAX) && !level.empty(); ++depth) {
    std::vector<CommitNumber> next;
    for (const CommitNumber number : level) {
      go_on();
      if ((!what_.depth && known.contains(number)) || !met.insert(number).second) continue;
      const auto commit = graph.commit(transaction_, number);
      // Nobody can tell what one of these shows. Without a depth whoever asks is told so.
      if (commit->absent || (what_.depth && graph.dropped(transaction_, number))) continue;
      if (!known.contains(number)) wanted.insert(number);
      next.insert(next.end(), commit->parents.begin(), commit->parents.end());
    }
    level = std::move(next);
  }
  return wanted;
}

// Where a commit's first parent isn't in the pack, the pack describes the commit's documents as differences from a commit that
// the other side has, or that comes before; mostly few differ.
void CommitPacker::choose_against() {
  const VersionGraph& graph = database_.branches().graph();
  CommitNumber near = 0;
  for (const std::vector<Hash>* ids : {&what_.shallow, &what_.known}) {
    for (const Hash& id : *ids) {
      const auto number = find(id);
      if (near == 0 && number && !graph.dropped(transaction_, *number) &&
          graph.commit(transaction_, *number)->digests == DigestKind::roots)
        near = *number;
    }
  }
  // A parent of a commit at the boundary differs least from that commit.
  std::map<CommitNumber, CommitNumber> children;
  for (const Hash& id : what_.shallow) {
    const auto number = find(id);
    if (!number || graph.dropped(transaction_, *number)) continue;
    const auto commit = graph.commit(transaction_, *number);
    for (const CommitNumber parent : commit->parents) children.emplace(parent, *number);
  }
  for (const CommitNumber number : order_) {
    const auto commit = graph.commit(transaction_, number);
    const bool alone = commit->parents.empty() ? !what_.shallow.empty() : excluded_.contains(commit->parents.front());
    if (!alone) continue;
    const auto child = children.find(number);
    against_.emplace(number, child != children.end() ? child->second : near);
    if (near == 0) near = number;
  }
}

// A commit follows its first parent where it can, so that the receiver need not go back and forth between lines. The first commit
// of the database comes first, since the database begins with it.
void CommitPacker::put_in_order(const std::set<CommitNumber>& wanted) {
  const VersionGraph& graph = database_.branches().graph();
  std::map<CommitNumber, size_t> waits_for;
  std::map<CommitNumber, std::vector<CommitNumber>> children;
  std::set<CommitNumber> ready;
  for (const CommitNumber number : wanted) {
    size_t& count = waits_for[number];
    const auto commit = graph.commit(transaction_, number);
    for (const CommitNumber parent : commit->parents) {
      if (!wanted.contains(parent)) continue;
      ++count;
      children[parent].push_back(number);
    }
    if (count == 0) ready.insert(number);
  }
  CommitNumber last = 0;
  const auto take = [&](CommitNumber number) {
    last = number;
    ready.erase(number);
    order_.push_back(number);
    for (const CommitNumber child : children[number]) {
      if (--waits_for[child] == 0) ready.insert(child);
    }
  };
  const auto first = std::find_if(ready.begin(), ready.end(),
                                  [&](CommitNumber number) { return graph.commit(transaction_, number)->parents.empty(); });
  if (first != ready.end()) take(*first);
  while (!ready.empty()) {
    const auto follows = [&](CommitNumber number) {
      const auto commit = graph.commit(transaction_, number);
      return !commit->parents.empty() && commit->parents.front() == last;
    };
    const auto& next_ones = children[last];
    const auto next = std::find_if(next_ones.begin(), next_ones.end(),
                                   [&](CommitNumber number) { return ready.contains(number) && follows(number); });
    take(next != next_ones.end() ? *next : *ready.begin());
  }
}

// A part of a history begins with a part of its first commit, which must be here.
std::optional<Hash> CommitPacker::first() const {
  const VersionGraph& graph = database_.branches().graph();
  return selected_ ? selected_->known_id(graph.first(transaction_)) : first_of_history(transaction_, graph);
}

void CommitPacker::begin_pack() {
  const VersionGraph& graph = database_.branches().graph();
  pack::Header header{.database = database_.name(), .first = first(), .stands_on = {}, .refs = {}, .collections = {}};
  // One of several packs needn't have the commits that refs name.
  if (what_.pack_bytes == UINT64_MAX) header.refs = what_.refs;
  const std::set<CommitNumber> left(order_.begin(), order_.end());
  std::set<CommitNumber> stands_on, excluded;
  for (const CommitNumber number : order_) {
    const auto commit = graph.commit(transaction_, number);
    for (const CommitNumber parent : commit->parents) {
      if (excluded_.contains(parent))
        excluded.insert(parent);
      else if (!left.contains(parent))
        stands_on.insert(parent);
    }
    for (const CollectionState& one : commit->collections) collections_.insert(one.collection);
    // A commit that drops a collection has rows of it.
    const auto against = against_.find(number);
    const CommitNumber before = against != against_.end() ? against->second
                                : commit->parents.empty() ? 0
                                                          : commit->parents.front();
    if (before == 0) continue;
    if (against != against_.end() && !left.contains(before)) stands_on.insert(before);
    const auto other = graph.commit(transaction_, before);
    for (const CollectionState& one : other->collections) collections_.insert(one.collection);
  }
  // A ref may name a commit that is there already.
  for (pack::Ref& ref : header.refs) {
    const auto number = graph.find(transaction_, ref.commit);
    if (!number) continue;
    ref.commit = id(*number);
    if (!left.contains(*number)) stands_on.insert(*number);
  }
  for (const pack::Ref& ref : what_.refs) {
    const auto number = graph.find(transaction_, ref.commit);
    if (!number) continue;
    const auto commit = graph.commit(transaction_, *number);
    for (const CollectionState& one : commit->collections) collections_.insert(one.collection);
  }
  for (const CommitNumber number : stands_on) header.stands_on.push_back(id(number));
  for (const CommitNumber number : excluded) header.excluded.push_back(id(number));
  places_.clear();
  for (const storage::CollectionId collection : collections_) {
    const auto shared = is_packed(collection) ? database_.versions_of(collection) : nullptr;
    if (!shared) continue;
    pack::Collection one{.uuid = shared->base.uuid_bytes(),
                         .name = std::string(storage::collection_of(shared->base.ns())),
                         .options = shared->base.options().document};
    for (const auto& index : shared->base.indexes()) {
      if (!index->is_id() && index->ready()) one.indexes.push_back(index->spec().document);
    }
    places_.emplace(collection, static_cast<uint32_t>(header.collections.size()));
    header.collections.push_back(std::move(one));
  }
  writer_.emplace(header);
  begun_ = true;
}

pack::Commit CommitPacker::statement(CommitNumber number) {
  const VersionGraph& graph = database_.branches().graph();
  const auto commit = graph.commit(transaction_, number);
  pack::Commit one{
      .id = id(number), .time_ms = commit->time_ms, .metadata = selected_ ? selected_->metadata(*commit) : commit->metadata};
  for (const auto& [collection, place] : places_) {
    const auto shared = database_.versions_of(collection);
    if (shared && !shared->store.purged_records(transaction_).empty()) one.purged = true;
  }
  for (const CommitNumber parent : commit->parents) one.parents.push_back(id(parent));
  if (const auto against = against_.find(number); against != against_.end())
    one.against = against->second == 0 ? Hash{} : id(against->second);
  for (const CollectionState& state : commit->collections) {
    if (!is_packed(state.collection)) continue;
    pack::Root root{.uuid = state.label, .root = selected_ ? selected_->root(*commit, state) : state.digest, .tree = {}};
    if (const auto named = commit->root_of(state)) {
      const TreeKind kind = database_.branches().roots().kind(transaction_, *named);
      if (kind != TreeKind()) {
        bson::Builder tree;
        append(tree, kind);
        root.tree = tree.done();
      }
    }
    one.roots.push_back(std::move(root));
  }
  return one;
}

pack::Row CommitPacker::row_of(CommitRows::Row row) const {
  using Kind = pack::Row::Kind;
  pack::Row out{.kind = Kind::remove, .collection = places_.at(row.collection), .key = std::move(row.key)};
  if (row.named) {
    out.kind = Kind::named;
    out.body = view(*row.named);
  } else if (row.after) {
    out.kind = row.before ? Kind::replace : Kind::insert;
    if (row.before && what_.deltas) {
      if (auto delta = dedup::encode(*row.before, *row.after); delta && delta_part_max * delta->size() < row.after->size()) {
        out.kind = Kind::update;
        out.body = std::move(*delta);
        return out;
      }
    }
    out.body = std::move(*row.after);
  }
  return out;
}

std::optional<CommitPacker::Piece> CommitPacker::next(const std::function<void()>& interrupted) {
  if (!writer_) {
    if (begun_ && order_.empty()) return std::nullopt;
    begin_pack();
  }
  while (!finished_ && writer_->ready_bytes() < piece_bytes) {
    if (interrupted) interrupted();
    if (rows_) {
      if (auto row = rows_->next(interrupted)) {
        if (!selected_ || selected_->show(*row)) writer_->add(row_of(std::move(*row)));
        continue;
      }
      rows_.reset();
    }
    if (order_.empty() || writer_->raw_bytes() >= what_.pack_bytes) {
      writer_->finish();
      finished_ = true;
      break;
    }
    writer_->add(statement(order_.front()));
    CommitRows::What rows{.commit = order_.front()};
    if (selected_) rows.only = selected_->collections();
    if (const auto against = against_.find(rows.commit); against != against_.end()) rows.against = against->second;
    rows_ = std::make_unique<CommitRows>(database_, transaction_, rows);
    order_.pop_front();
  }
  Piece piece{.bytes = writer_->take(piece_bytes_max)};
  if (!finished_ || writer_->ready_bytes() > 0) return piece;
  piece.ends_pack = true;
  finished_ = false;
  writer_.reset();
  return piece;
}

}  // namespace versions
