// $history returns all versions of one document, newest first, each with the commit that it came with.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "server/core/operation.h"
#include "server/query/branches/states.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"
#include "versions/branch/commit_ages.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;

namespace {

class History final : public Stage {
 public:
  History(PipelineContext& context, const bson::ValueView& id)
      : Stage(nullptr),
        op_(context.op),
        states_(*context.op, branched_database(*context.op, context.db)),
        collection_(*context.op, states_, context.collection),
        first_(states_.branches().graph().first(states_.transaction())),
        shown_as_first_(states_.branches().graph().proof_of_first(states_.transaction()).value_or(first_)) {
    (void)states_.place(versions::ref_of_database(context.db));
    if (!collection_) return;
    key_ = key_of_id(id);
    versions_ = collection_.store().history(states_.transaction(), key_);
    for (versions::Version& version : versions_) {
      if (is_from_before(version)) version.commit = first_;
    }
    if (versions_.empty()) return;
    const versions::VersionGraph& graph = states_.branches().graph();
    std::optional<versions::Graph> all;
    if (graph.grafted(states_.transaction())) find_commits(all.emplace(graph.graph(states_.transaction())));
    std::stable_sort(versions_.begin(), versions_.end(), newer_number);
    if (!all && !sorted_by_age()) all = graph.graph(states_.transaction());
    if (all) sort_by_age(*all);
  }

  bool next() override {
    op_->check_interrupt();
    if (at_ == versions_.size()) return false;
    show(versions_[at_++]);
    return true;
  }
  DocumentView document() override { return document_; }
  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }

 private:
  // Fetching more of a shallow history may bring older commits that show versions which are here already. A version came with the
  // first commit that shows it.
  void find_commits(const versions::Graph& all) {
    const versions::VersionGraph& graph = states_.branches().graph();
    std::unordered_map<storage::RecordId, versions::CommitNumber> came_with;
    std::unordered_map<versions::CommitNumber, storage::RecordId> shown;
    std::unordered_set<storage::RecordId> repeated;
    const auto content = [&](storage::RecordId record) { return collection_.store().content(states_.transaction(), record); };
    for (const versions::CommitNumber number : versions::parents_first(all)) {
      op_->check_interrupt();
      if (all.at(number).dropped) continue;
      const auto commit = graph.commit(states_.transaction(), number);
      const versions::CollectionState* const state = commit->state_of(collection_.collection->id());
      if (!state || state->state == 0) continue;
      const auto record = collection_.store().find(states_.transaction(), versions::View{.state = state->state}, key_);
      shown.emplace(number, record);
      if (record == 0 || came_with.contains(record) || repeated.contains(record)) continue;
      // Documents that arrived later than those of their children are versions of their own, though they are the same.
      const auto shows_same = [&](versions::CommitNumber parent) {
        const auto found = shown.find(parent);
        return found != shown.end() && found->second != 0 && content(found->second) == content(record);
      };
      if (std::any_of(commit->parents.begin(), commit->parents.end(), shows_same))
        repeated.insert(record);
      else
        came_with.emplace(record, number);
    }
    std::erase_if(versions_, [&](versions::Version& version) {
      if (repeated.contains(version.record)) return true;
      if (const auto found = came_with.find(version.record); found != came_with.end()) version.commit = found->second;
      return version.commit != 0 && !all.contains(version.commit);
    });
  }

  // A version that isn't committed is newer than all.
  static bool newer_number(const versions::Version& a, const versions::Version& b) {
    const auto place = [](const versions::Version& version) { return version.commit == 0 ? UINT64_MAX : version.commit; };
    return place(a) > place(b);
  }
  auto first_committed() {
    return std::find_if(versions_.begin(), versions_.end(), [](const versions::Version& version) { return version.commit != 0; });
  }

  // Commits' numbers increase with time, but those that came from other servers may be older than some that were here. This looks
  // at neighbours alone, so it takes for granted that no commit is older than one that it comes from.
  bool sorted_by_age() {
    const versions::VersionGraph& graph = states_.branches().graph();
    const auto time = [&](versions::CommitNumber number) { return graph.commit(states_.transaction(), number)->time_ms; };
    const auto swapped = [&](const versions::Version& newer, const versions::Version& older) {
      return newer.commit != older.commit && time(newer.commit) <= time(older.commit) &&
             graph.common_ancestor(states_.transaction(), newer.commit, older.commit) != older.commit;
    };
    return std::adjacent_find(first_committed(), versions_.end(), swapped) == versions_.end();
  }

  void sort_by_age(const versions::Graph& all) {
    const auto ages = versions::ages(all);
    std::stable_sort(first_committed(), versions_.end(), [&](const versions::Version& a, const versions::Version& b) {
      return ages.at(a.commit) > ages.at(b.commit);
    });
  }

  static bool is_from_before(const versions::Version& version) {
    return version.commit == 0 && versions::segment_of(version.record) < versions::first_segment;
  }

  void show(const versions::Version& version) {
    const versions::VersionGraph& graph = states_.branches().graph();
    bson::Builder out;
    if (version.commit == 0) {
      out.append("branch", writer_of(version.record));
    } else if (version.commit == first_) {
      versions::Commit commit = *graph.commit(states_.transaction(), shown_as_first_);
      commit.parents.clear();
      out.append_all(describe(states_.transaction(), graph, commit).view());
    } else {
      out.append_all(describe(states_.transaction(), graph, *graph.commit(states_.transaction(), version.commit)).view());
    }
    if (const auto content = collection_.store().content(states_.transaction(), version.record))
      out.append("document", DocumentView(*content));
    document_ = out.done();
  }

  // An uncommitted version is shown only by the branch that wrote it, mostly in that branch's current segment.
  std::string writer_of(storage::RecordId record) {
    if (heads_.empty()) heads_ = states_.branches().graph().branches(states_.transaction());
    std::stable_partition(heads_.begin(), heads_.end(),
                          [&](const versions::Branch& branch) { return branch.segment == versions::segment_of(record); });
    for (const versions::Branch& branch : heads_) {
      op_->check_interrupt();
      if (collection_.store().shows(states_.transaction(), collection_.shared->view_of(states_.transaction(), branch), record))
        return branch.name;
    }
    return {};
  }

  OperationContext* op_;  // nullptr between batches
  States states_;
  Versioned collection_;
  // the commit of documents that existed before, and the one that the log names
  const versions::CommitNumber first_, shown_as_first_;
  base::Bytes key_;  // of the document
  std::vector<versions::Version> versions_;
  std::vector<versions::Branch> heads_;
  size_t at_ = 0;
  bson::Document document_;
};

class HistorySpec final : public SourceSpec {
 public:
  HistorySpec(const Element& specification, const bson::ValueView& id) : SourceSpec(specification.name, specification), id_(id) {}
  StagePtr start(StagePtr, PipelineContext& context) const override { return std::make_unique<History>(context, id_); }

 private:
  const bson::Value id_;
};

}  // namespace

StageSpecPtr parse_history(const Element& specification, PipelineContext&) {
  const Arguments arguments = arguments_of(specification);
  arguments.only({"_id"});
  const Element id = specification.as_document()["_id"];
  if (!id.exists()) refuse(40414, "BSON field '$history._id' is missing but a required field");
  return std::make_unique<HistorySpec>(specification, id);
}

}  // namespace server::query
