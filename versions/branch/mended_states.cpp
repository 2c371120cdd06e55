#include "versions/branch/mended_states.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/guarded.h"
#include "base/varint.h"
#include "storage/engine/engine.h"

namespace versions {

namespace {

using base::guarded;
using storage::in_transaction;
using Row = CommitHistory::Row;

constexpr size_t documents_at_once = 4096;

RecordSet of_old_segments(const RecordSet& records) {
  RecordSet old;
  for (const auto& [segment, bitmap] : records.parts())
    if (segment < first_segment) old.set_part(segment, bitmap);
  return old;
}

// The records of a collection by the hashes of their contents.
class RecordsByContent {
 public:
  RecordsByContent(storage::Engine& engine, BranchStore& store, const std::vector<RecordId>& there,
                   const std::function<void()>& interrupted)
      : store_(store) {
    Transaction transaction(engine, Transaction::Mode::read);
    for (const RecordId record : there) {
      if (interrupted) interrupted();
      const auto content = guarded([&] { return store.content(transaction, record); });
      if (!content) continue;
      by_hash_.emplace(sha256(*content), record);
      readable_.add(record);
    }
    guarded([&] {
      store.each_purged(transaction, [&](RecordId record, BytesView key) { purged_[Bytes(key)].push_back(record); });
      return true;
    });
  }

  // Returns the record that a commit of this number shows under the key; 0: nobody has that document any more. `before` is what
  // the commit before it shows.
  RecordId find(Transaction& transaction, const DocumentHash& document, CommitNumber number, const RecordSet& before) const {
    std::vector<RecordId> found;
    for (auto [at, end] = by_hash_.equal_range(*document.hash); at != end; ++at) found.push_back(at->second);
    if (found.size() == 1) return found.front();
    const auto shown_before = [&] {
      return std::find_if(found.begin(), found.end(), [&](RecordId one) { return before.contains(one); });
    };
    if (const auto same = shown_before(); same != found.end()) return *same;
    const auto history = guarded([&] { return store_.history(transaction, document.key); });
    // A record that can't be read may be the one, or one that was purged.
    if (found.empty()) {
      for (const Version& version : history)
        if (!readable_.contains(version.record)) found.push_back(version.record);
      if (const auto purged = purged_.find(document.key); purged != purged_.end())
        found.insert(found.end(), purged->second.begin(), purged->second.end());
      if (const auto same = shown_before(); same != found.end()) return *same;
    }
    RecordId newest = 0;
    CommitNumber came_with = 0;
    for (const RecordId record : found) {
      const auto version = std::find_if(history.begin(), history.end(), [&](const Version& one) { return one.record == record; });
      const CommitNumber commit = version == history.end() ? 0 : version->commit;
      if (commit > number || (newest != 0 && commit < came_with)) continue;
      newest = record;
      came_with = commit;
    }
    return newest;
  }

 private:
  BranchStore& store_;
  std::unordered_multimap<Hash, RecordId, merkle::HashOfHash> by_hash_;
  std::unordered_map<Bytes, std::vector<RecordId>> purged_;
  RecordSet readable_;
};

class StateMender {
 public:
  StateMender(storage::Engine& engine, Branches& branches, size_t collection, const std::vector<RecordId>& there, int64_t holes,
              const std::function<void()>& interrupted)
      : engine_(engine),
        branches_(branches),
        graph_(branches.graph()),
        store_(branches.store(collection)),
        history_(*store_.states()),
        id_(branches.collection(collection).parts.collection),
        there_(there),
        holes_(holes),
        interrupted_(interrupted) {}

  MendedStates mend() {
    for (const State state : load()) {
      if (interrupted_) interrupted_();
      if (!stands(state)) make(state);
    }
    return std::move(mended_);
  }

 private:
  // A rebuilt state is exact if it has just the records that it had. One that was rebuilt by its tree has the documents that it
  // had, but of two equal records of a document it may have the other one.
  enum class Known { exact, by_tree };

  std::set<State> load() {
    Transaction transaction(engine_, Transaction::Mode::read);
    rows_ = history_.rows(transaction, interrupted_);
    std::set<State> states;
    for (const auto& [state, rows] : rows_) {
      states.insert(state);
      for (const Row& row : rows) {
        states.insert(row.target);
        from_[row.target].emplace_back(state, row.layer);
      }
    }
    for (const auto& [number, node] : graph_.graph(transaction)) {
      if (node.dropped) continue;
      const State state = state_of(transaction, number);
      commits_[state].push_back(number);
      states.insert(state);
    }
    states.erase(0);
    known_[0] = Known::exact;
    return states;
  }

  State state_of(Transaction& transaction, CommitNumber number) const {
    const auto commit = graph_.commit(transaction, number);
    const CollectionState* const state = commit->state_of(id_);
    return state ? state->state : 0;
  }
  bool is_exact(State state) const {
    const auto known = known_.find(state);
    return known != known_.end() && known->second == Known::exact;
  }
  const std::vector<Row>& rows(State state) const {
    static const std::vector<Row> none;
    const auto found = rows_.find(state);
    return found == rows_.end() ? none : found->second;
  }
  const Row* first_row(State state) const {
    const auto& rows = this->rows(state);
    return rows.empty() || rows.front().layer != 0 ? nullptr : &rows.front();
  }
  uint64_t depth(State state) const { return state == 0 ? 0 : rows(state).front().depth; }

  // Are all rows of the state there, and do they lead to the states that they have to lead to?
  bool stands(State state) {
    const Row* const first = first_row(state);
    if (!first || !is_exact(first->target)) return false;
    const std::vector<Row>& own = rows(state);
    const uint64_t depth = this->depth(first->target) + 1;
    if (own.size() != CommitHistory::rows_at(depth)) return false;
    State target = first->target;
    for (size_t layer = 0; layer < own.size(); ++layer) {
      for (uint64_t i = 1; layer > 0 && i < CommitHistory::steps_of_layer; ++i) target = rows(target)[layer - 1].target;
      if (own[layer] != Row{static_cast<unsigned>(layer), depth, target}) return false;
    }
    known_[state] = Known::exact;
    return true;
  }

  void make(State state) {
    const Row* const first = first_row(state);
    const auto commit = commits_.find(state);
    const CommitNumber number = commit == commits_.end() ? 0 : commit->second.front();
    const State parent = first && known_.contains(first->target) ? first->target : parent_of(number != 0 ? number : state, state);
    Known how = Known::exact;
    std::optional<RecordSet> set = by_rows(state);
    if (!set && is_first(state)) set = by_count(state);
    if (!set && number != 0) {
      how = Known::by_tree;
      for (size_t i = 0; !set && i < commit->second.size(); ++i) set = by_tree(commit->second[i], parent);
    }
    if (!set) {
      if (number != 0) mended_.lost.insert(mended_.lost.end(), commit->second.begin(), commit->second.end());
      return;
    }
    in_transaction(engine_, [&](Transaction& transaction) {
      RecordSet changed = *set;
      changed ^= *history_.whole(transaction, parent);
      forget(state);
      rows_[state] = history_.replace(transaction, state, parent, changed);
    });
    known_[state] = how;
    if (how == Known::exact) {
      for (const Row& row : rows(state))
        if (is_exact(row.target)) from_[row.target].emplace_back(state, row.layer);
      cut_off_.clear();
    }
    ++mended_.made;
  }

  // The rows that led from the state are about to go.
  void forget(State state) {
    for (const Row& row : rows(state)) std::erase(from_[row.target], std::pair(state, row.layer));
    rows_.erase(state);
  }

  // The nearest state behind the commit that can be read.
  State parent_of(CommitNumber number, State below) const {
    Transaction transaction(engine_, Transaction::Mode::read);
    for (;;) {
      const auto commit = guarded([&] { return graph_.commit(transaction, number); });
      if (!commit || commit->absent || commit->parents.empty()) return 0;
      number = commit->parents.front();
      const State state = state_of(transaction, number);
      if (state != 0 && state < below && known_.contains(state)) return state;
    }
  }

  // Looks for a chain of rows between the state and an exact one.
  std::optional<RecordSet> by_rows(State state) {
    if (cut_off_.contains(state)) return std::nullopt;
    struct Step {
      State back;    // towards `state`
      State row_of;  // the row is this state's
      unsigned layer;
    };
    std::map<State, Step> met{{state, {}}};
    std::deque<State> next{state};
    const auto found = [&]() -> std::optional<State> {
      while (!next.empty()) {
        if (interrupted_) interrupted_();
        const State at = next.front();
        next.pop_front();
        if (at != state && is_exact(at)) return at;
        const auto meet = [&](State to, State row_of, unsigned layer) {
          if (met.emplace(to, Step{at, row_of, layer}).second) next.push_back(to);
        };
        // The rows of a state that was made by its tree tell of records that it may not have had.
        if (!known_.contains(at) || is_exact(at))
          for (const Row& row : rows(at)) meet(row.target, at, row.layer);
        if (const auto from = from_.find(at); from != from_.end())
          for (const auto& [other, layer] : from->second) meet(other, other, layer);
      }
      return std::nullopt;
    }();
    if (!found) {
      for (const auto& [at, step] : met) cut_off_.insert(at);
      return std::nullopt;
    }
    Transaction transaction(engine_, Transaction::Mode::read);
    RecordSet set = *history_.whole(transaction, *found);
    for (State at = *found; at != state; at = met.at(at).back)
      set ^= history_.changed(transaction, met.at(at).row_of, met.at(at).layer);
    return set;
  }

  // A database's first commit has a state of its own number, and no tree.
  bool is_first(State state) const {
    Transaction transaction(engine_, Transaction::Mode::read);
    return state == guarded([&] { return graph_.first(transaction); });
  }

  // All ids up to the newest, of which so many had no record; or, if the commit came from another server, what came with it.
  RecordSet by_count(State state) {
    uint64_t had = 0;
    RecordId newest = storage::record_id_min - 1;
    old_records().for_each([&](RecordId record) {
      ++had;
      newest = record;
    });
    const int64_t none = newest - storage::record_id_min + 1 - static_cast<int64_t>(had);
    newest += std::max<int64_t>(0, holes_ - none);
    RecordSet all = came_with(state);
    if (newest >= storage::record_id_min) all.add_range(storage::record_id_min, newest);
    return all;
  }

  RecordSet came_with(CommitNumber number) const {
    RecordSet records;
    Transaction transaction(engine_, Transaction::Mode::read);
    const storage::Table entries(store_.table_names().front());
    TableCursor cursor = entries.cursor(transaction);
    while (cursor.next()) {
      if (interrupted_) interrupted_();
      BytesView value = cursor.value();
      const BytesView key = cursor.key();
      if (base::take_varint(value) == number && value.empty() && key.size() > sizeof(RecordId))
        records.add(static_cast<RecordId>(base::load_be64(key.data() + key.size() - sizeof(RecordId))));
    }
    return records;
  }

  // The records from before the first branch, with those that were purged.
  const RecordSet& old_records() {
    if (old_records_) return *old_records_;
    RecordSet records;
    for (const RecordId record : there_) records.add(record);
    Transaction transaction(engine_, Transaction::Mode::read);
    records |= guarded([&] { return store_.purged_records(transaction); });
    return old_records_.emplace(of_old_segments(records));
  }

  std::optional<RecordSet> by_tree(CommitNumber number, State parent) {
    if (!records_) records_.emplace(engine_, store_, there_, interrupted_);
    Transaction transaction(engine_, Transaction::Mode::read);
    const auto commit = graph_.commit(transaction, number);
    const auto root = commit->root_of(*commit->state_of(id_));
    if (!root) return std::nullopt;
    const std::shared_ptr<const RecordSet> before = history_.whole(transaction, parent);
    RecordSet set = holes_of(transaction, parent, *before);
    bool partial = false;
    const bool whole = guarded([&] {
      std::optional<Bytes> behind;
      for (bool more = true; more;) {
        const std::vector<DocumentHash> some = branches_.roots().some(transaction, *root, behind, documents_at_once);
        for (const DocumentHash& document : some) {
          if (interrupted_) interrupted_();
          const RecordId record = records_->find(transaction, document, number, *before);
          if (record == 0)
            partial = true;
          else
            set.add(record);
        }
        more = some.size() == documents_at_once;
        if (more) behind = some.back().key;
      }
      return true;
    });
    if (!whole) return std::nullopt;
    if (partial) mended_.partial.push_back(number);
    return set;
  }

  // Each state behind the first one names the ids that had no record then, and no tree does.
  RecordSet holes_of(Transaction& transaction, State parent, const RecordSet& before) {
    RecordSet holes;
    if (holes_ == 0 || parent == 0 || history_.first_of(transaction, parent) != graph_.first(transaction)) return holes;
    RecordSet none = of_old_segments(before);
    none -= old_records();
    int64_t left = holes_;
    none.for_each([&](RecordId record) {
      if (left-- > 0) holes.add(record);
    });
    return holes;
  }

  storage::Engine& engine_;
  Branches& branches_;
  VersionGraph& graph_;
  BranchStore& store_;
  CommitHistory& history_;
  const storage::CollectionId id_;
  const std::vector<RecordId>& there_;
  const int64_t holes_;
  const std::function<void()>& interrupted_;
  MendedStates mended_;
  std::map<State, std::vector<Row>> rows_;
  std::map<State, std::vector<std::pair<State, unsigned>>> from_;  // the rows that lead to a state
  std::map<State, std::vector<CommitNumber>> commits_;             // those that weren't dropped
  std::map<State, Known> known_;
  std::unordered_set<State> cut_off_;  // no chain of rows leads from these to an exact state
  std::optional<RecordsByContent> records_;
  std::optional<RecordSet> old_records_;
};

}  // namespace

MendedStates mend_states(storage::Engine& engine, Branches& branches, size_t collection, const std::vector<RecordId>& there,
                         int64_t holes, const std::function<void()>& interrupted) {
  if (!branches.store(collection).states()) return {};
  return StateMender(engine, branches, collection, there, holes, interrupted).mend();
}

}  // namespace versions
