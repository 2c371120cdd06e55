// log returns the commits that a state comes from, newest first.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/shared/id_argument.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/allowance.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/cursor_registry.h"
#include "server/query/matcher.h"

namespace server {
namespace {

// A filter serves all batches, so it knows no operation but by the allowance.
std::unique_ptr<query::Matcher> parse_filter(bson::DocumentView filter, Allowance& allowance) {
  return query::Matcher::parse(filter, {.expressions = nullptr, .let = {}, .op = nullptr, .allowance = &allowance});
}

// Finds out which commits changed one document, or any document that matches a filter before the change or after it.
class Touching {
 public:
  // The filter accounts for its work to `allowance`, which must live longer.
  Touching(OperationContext& op, const query::States& states, bson::DocumentView what, Allowance& allowance) {
    const Arguments arguments("log.touching", what);
    arguments.only({"coll", "_id", "filter"});
    collection_ = query::Versioned(op, states, arguments.required_string("coll"));
    if (const auto filter = arguments.object("filter")) {
      if (arguments.any("_id").exists())
        throw base::OperationError(base::ErrorCode::bad_value, "log.touching takes '_id' or 'filter', and not both");
      filter_ = parse_filter(*filter, allowance);
    } else {
      key_ = query::key_of_id(id_argument(arguments));
    }
  }

  // A commit changed the document if it differs from that of all parents: a merge that took one side's document didn't change it.
  bool changed_by(OperationContext& op, const query::States& states, const versions::Commit& commit) {
    if (!collection_) return false;
    return filter_ ? changed_matching(op, states, commit) : changed_one(states, commit);
  }

 private:
  bool changed_one(const query::States& states, const versions::Commit& commit) {
    const storage::RecordId now = shown(states, commit);
    if (commit.parents.empty()) return now != 0;
    return std::all_of(commit.parents.begin(), commit.parents.end(), [&](versions::CommitNumber parent) {
      const storage::RecordId before = shown(states, *states.branches().graph().commit(states.transaction(), parent));
      if (before == now) return false;
      // Documents that arrived later than those of their children are versions of their own, though they are the same.
      return before == 0 || now == 0 || !commit_is_late(states, commit) || content(states, before) != content(states, now);
    });
  }

  // Returns whether parents of the commit may have arrived after it.
  static bool commit_is_late(const query::States& states, const versions::Commit& commit) {
    return commit.grafted || states.branches().graph().grafted(states.transaction());
  }
  std::optional<base::Bytes> content(const query::States& states, storage::RecordId record) {
    return collection_.store().content(states.transaction(), record);
  }

  storage::RecordId shown(const query::States& states, const versions::Commit& commit) {
    const versions::State state = state_of(commit);
    if (state == 0) return 0;
    if (const auto known = known_.find(state); known != known_.end()) return known->second;
    // Commits come newest first, so the entries that were found lately are those that are needed again.
    if (known_.size() == known_max) known_.clear();
    return known_[state] = collection_.store().find(states.transaction(), versions::View{.state = state}, key_);
  }

  // The documents that differ from those of the first parent are looked up in the other parents.
  bool changed_matching(OperationContext& op, const query::States& states, const versions::Commit& commit) {
    storage::Transaction& transaction = states.transaction();
    versions::BranchStore& store = collection_.store();
    const versions::View now{.state = state_of(commit)};
    std::vector<versions::View> before;
    for (const versions::CommitNumber parent : commit.parents)
      before.push_back({.state = state_of(*states.branches().graph().commit(transaction, parent))});
    if (before.empty()) before.emplace_back();
    if (before.front().state == now.state) return false;

    versions::Difference difference = store.diff(transaction, before.front(), now);
    for (versions::RecordSet* only : {&difference.only_b, &difference.only_a}) {
      const auto scan = store.scan_set(transaction, std::move(*only));
      while (scan->next()) {
        op.check_interrupt();
        if (!filter_->matches(bson::DocumentView(scan->content()))) continue;
        const base::Bytes key = versions::key_of(scan->content());
        const auto after = store.get(transaction, now, key);
        if (std::all_of(before.begin(), before.end(),
                        [&](const versions::View& parent) { return store.get(transaction, parent, key) != after; }))
          return true;
      }
    }
    return false;
  }

  versions::State state_of(const versions::Commit& commit) const {
    const versions::CollectionState* state = commit.state_of(collection_.collection->id());
    return state ? state->state : 0;
  }

  static constexpr size_t known_max = 4096;
  query::Versioned collection_;
  base::Bytes key_;
  std::unique_ptr<query::Matcher> filter_;  // nullptr: it is about the document with the key
  std::unordered_map<versions::State, storage::RecordId> known_;
};

// Reads commits when a client asks for them. Commits never change, so one storage snapshot serves all batches.
class LogSource : public query::CursorSource {
 public:
  LogSource(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database, const versions::Ref& from, int64_t limit,
            bson::DocumentView filter, std::optional<bson::DocumentView> touching)
      : op_(&op),
        allowance_(op_, &op.services().memory),
        states_(op, std::move(database)),
        log_(states_.branches().graph(), states_.transaction(), states_.place(from).commit),
        first_(states_.branches().graph().first(states_.transaction())),
        proof_(states_.branches().graph().proof_of_first(states_.transaction())),
        filter_(parse_filter(filter, allowance_)),
        left_(limit) {
    if (touching) touching_.emplace(op, states_, *touching, allowance_);
  }
  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }
  bool next() override {
    if (left_-- == 0) return false;
    versions::Commit commit;
    for (bool found = false; !found;) {
      op_->check_interrupt();
      if (!log_.next()) return false;
      commit = log_.commit();
      if (commit.number == first_ && first_shown_) continue;
      if (commit.number == proof_) {
        first_shown_ = true;
        commit.parents.clear();
      }
      document_ = describe(states_.transaction(), states_.branches().graph(), commit);
      found = (filter_->empty() || filter_->matches(document_)) && (!touching_ || touching_->changed_by(*op_, states_, commit));
    }
    return true;
  }
  bson::DocumentView document() override { return document_; }

 private:
  OperationContext* op_;  // nullptr between batches
  Allowance allowance_;
  query::States states_;
  versions::Log log_;
  // A database's first `commit` makes two commits: one with the documents that it had, and its child with the hash trees. The log
  // shows them as one.
  const versions::CommitNumber first_;
  const std::optional<versions::CommitNumber> proof_;
  bool first_shown_ = false;
  const std::unique_ptr<query::Matcher> filter_;
  std::optional<Touching> touching_;
  int64_t left_;  // negative: no limit
  bson::Document document_;
};

class LogCommand : public Command {
 public:
  std::string_view name() const override { return "log"; }
  std::string_view help() const override {
    return "the commits of the branch, tag or commit that the database's name says, newest first\n"
           "{ log: 1, limit: <int>, filter: <over what comes out>, touching: { coll: <string>, _id: <any> or filter: <over "
           "documents "
           "before and after> }, cursor: { batchSize: <int> } }\n"
           "With touching: the commits that changed this document, or a document that matches.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"limit", "filter", "touching", "cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    const Arguments arguments(request);
    const int64_t limit = arguments.unsigned_integer("limit").value_or(0);
    auto source =
        std::make_unique<LogSource>(op, database, ref_of(request), limit == 0 ? -1 : limit,
                                    arguments.object("filter").value_or(bson::DocumentView()), arguments.object("touching"));
    reply_source(op, request, request.db + ".$cmd.log", std::move(source), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_log_command() {
  return std::make_unique<LogCommand>();
}

}  // namespace server
