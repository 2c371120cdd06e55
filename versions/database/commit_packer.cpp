#include "versions/database/commit_packer.h"

#include <algorithm>

#include "dedup/delta.h"
#include "storage/engine/names.h"

namespace versions {

namespace {

constexpr size_t piece_bytes = 1 << 20;
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
  choose();
  commits_ = order_.size();
}

// A commit follows its first parent where it can, so that the receiver need not go back and forth between lines.
void CommitPacker::choose() {
  const VersionGraph& graph = database_.branches().graph();
  const auto find = [&](const Hash& id) { return graph.find(transaction_, base::to_hex(view(id))); };
  std::set<CommitNumber> known, wanted;
  const auto reach = [&](std::vector<CommitNumber> open, std::set<CommitNumber>& into, const std::set<CommitNumber>& without) {
    while (!open.empty()) {
      const CommitNumber number = open.back();
      open.pop_back();
      if (without.contains(number) || !into.insert(number).second) continue;
      for (const CommitNumber parent : graph.commit(transaction_, number)->parents) open.push_back(parent);
    }
  };
  std::vector<CommitNumber> there, heads;
  for (const Hash& id : what_.known) {
    if (const auto number = find(id)) there.push_back(*number);
  }
  for (const pack::Ref& ref : what_.refs) heads.push_back(find(ref.commit).value());
  reach(std::move(there), known, {});
  reach(std::move(heads), wanted, known);

  std::map<CommitNumber, size_t> waits_for;
  std::map<CommitNumber, std::vector<CommitNumber>> children;
  std::set<CommitNumber> ready;
  for (const CommitNumber number : wanted) {
    size_t& count = waits_for[number];
    for (const CommitNumber parent : graph.commit(transaction_, number)->parents) {
      if (!wanted.contains(parent)) continue;
      ++count;
      children[parent].push_back(number);
    }
    if (count == 0) ready.insert(number);
  }
  CommitNumber last = 0;
  while (!ready.empty()) {
    const auto follows = [&](CommitNumber number) {
      const auto commit = graph.commit(transaction_, number);
      return !commit->parents.empty() && commit->parents.front() == last;
    };
    const auto& next_ones = children[last];
    const auto next = std::find_if(next_ones.begin(), next_ones.end(),
                                   [&](CommitNumber number) { return ready.contains(number) && follows(number); });
    last = next != next_ones.end() ? *next : *ready.begin();
    ready.erase(last);
    order_.push_back(last);
    for (const CommitNumber child : children[last]) {
      if (--waits_for[child] == 0) ready.insert(child);
    }
  }
}

void CommitPacker::begin_pack() {
  const VersionGraph& graph = database_.branches().graph();
  pack::Header header{.database = database_.name(), .stands_on = {}, .refs = {}, .collections = {}};
  // One of several packs needn't have the commits that refs name.
  if (what_.pack_bytes == UINT64_MAX) header.refs = what_.refs;
  const std::set<CommitNumber> left(order_.begin(), order_.end());
  std::set<CommitNumber> stands_on;
  std::set<storage::CollectionId> collections;
  for (const CommitNumber number : order_) {
    const auto commit = graph.commit(transaction_, number);
    for (const CommitNumber parent : commit->parents) {
      if (!left.contains(parent)) stands_on.insert(parent);
    }
    for (const CollectionState& one : commit->collections) collections.insert(one.collection);
    // A commit that drops a collection has rows of it.
    if (commit->parents.empty()) continue;
    for (const CollectionState& one : graph.commit(transaction_, commit->parents.front())->collections)
      collections.insert(one.collection);
  }
  // A ref may name a commit that is there already.
  for (const pack::Ref& ref : header.refs) {
    const auto number = graph.find(transaction_, base::to_hex(view(ref.commit)));
    if (!number) continue;
    if (!left.contains(*number)) stands_on.insert(*number);
    for (const CollectionState& one : graph.commit(transaction_, *number)->collections) collections.insert(one.collection);
  }
  for (const CommitNumber number : stands_on) header.stands_on.push_back(graph.commit(transaction_, number)->id);
  places_.clear();
  for (const storage::CollectionId id : collections) {
    const auto shared = database_.versions_of(id);
    if (!shared) continue;
    pack::Collection one{.uuid = shared->base.uuid_bytes(),
                         .name = std::string(storage::collection_of(shared->base.ns())),
                         .options = shared->base.options().document};
    for (const auto& index : shared->base.indexes()) {
      if (!index->is_id() && index->ready()) one.indexes.push_back(index->spec().document);
    }
    places_.emplace(id, static_cast<uint32_t>(header.collections.size()));
    header.collections.push_back(std::move(one));
  }
  writer_.emplace(header);
  begun_ = true;
}

pack::Commit CommitPacker::statement(CommitNumber number) {
  const VersionGraph& graph = database_.branches().graph();
  const auto commit = graph.commit(transaction_, number);
  pack::Commit one{.id = commit->id, .time_ms = commit->time_ms, .metadata = commit->metadata};
  for (const auto& [id, place] : places_) {
    const auto shared = database_.versions_of(id);
    if (shared && !shared->store.purged_records(transaction_).empty()) one.purged = true;
  }
  for (const CommitNumber parent : commit->parents) one.parents.push_back(graph.commit(transaction_, parent)->id);
  for (const CollectionState& state : commit->collections) {
    pack::Root root{.uuid = state.label, .root = state.digest, .tree = {}};
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
  while (writer_->ready_bytes() < piece_bytes) {
    if (interrupted) interrupted();
    if (rows_) {
      if (auto row = rows_->next()) {
        writer_->add(row_of(std::move(*row)));
        continue;
      }
      rows_.reset();
    }
    if (order_.empty() || writer_->raw_bytes() >= what_.pack_bytes) {
      writer_->finish();
      Piece last{.bytes = writer_->take(), .ends_pack = true};
      writer_.reset();
      return last;
    }
    writer_->add(statement(order_.front()));
    rows_ = std::make_unique<CommitRows>(database_, transaction_, order_.front());
    order_.pop_front();
  }
  return Piece{.bytes = writer_->take()};
}

}  // namespace versions
