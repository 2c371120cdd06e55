// blame returns the commit that each field of a document came with.
#include <map>

#include "server/commands/shared/branches.h"
#include "server/commands/shared/id_argument.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/query/branches/document_fields.h"

namespace server {
namespace {

using query::DocumentFields;
using versions::CommitNumber;

class Blame {
 public:
  Blame(OperationContext& op, const query::States& states, const query::Versioned& collection, base::Bytes key)
      : op_(op),
        states_(states),
        collection_(collection),
        key_(std::move(key)),
        first_(graph().first(states.transaction())),
        proof_(graph().proof_of_first(states.transaction())) {}

  // Empty if the place shows no such document.
  std::vector<bson::Document> of(const versions::Place& place) {
    const storage::RecordId record = collection_.store().find(transaction(), states_.view(*collection_.shared, place), key_);
    if (record == 0) return {};
    fields_ = fields_of(record);
    came_with_.resize(fields_.size());
    std::vector<size_t> all(fields_.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    pass(all, record, place.commit);  // what the last commit doesn't have isn't committed
    // Parents mostly have lower numbers than their children, so each commit is mostly met once.
    while (!open_.empty()) {
      op_.check_interrupt();
      const auto newest = std::prev(open_.end());
      const CommitNumber at = newest->first;
      const std::vector<size_t> fields = std::move(newest->second);
      open_.erase(newest);
      follow(at, fields);
    }
    std::vector<bson::Document> shown;
    for (size_t i = 0; i < fields_.size(); ++i) shown.push_back(show(fields_.path(i), came_with_[i], place));
    return shown;
  }

 private:
  storage::Transaction& transaction() const { return states_.transaction(); }
  const versions::VersionGraph& graph() const { return states_.branches().graph(); }

  // Some of the document's fields are as this commit shows them. Those that a parent has with the same value came with the parent
  // or earlier, the others with this one.
  void follow(CommitNumber at, std::vector<size_t> fields) {
    const auto commit = graph().commit(transaction(), at);
    const storage::RecordId record = record_in(*commit);
    for (const CommitNumber parent : commit->parents) fields = pass(fields, record, parent);
    for (const size_t field : fields) came_with_[field] = at;
  }

  // Gives the commit those of the fields that it shows with the same value. Returns the others. `record` is where they were seen.
  std::vector<size_t> pass(const std::vector<size_t>& fields, storage::RecordId record, CommitNumber to) {
    const storage::RecordId there = record_in(*graph().commit(transaction(), to));
    std::vector<size_t> left, passed;
    if (there == record) {
      passed = fields;
    } else if (there == 0) {
      left = fields;
    } else {
      const DocumentFields others = fields_of(there);
      for (const size_t field : fields) (others.has(fields_.path(field), fields_.value(field)) ? passed : left).push_back(field);
    }
    if (!passed.empty()) {
      std::vector<size_t>& open = open_[to];
      open.insert(open.end(), passed.begin(), passed.end());
    }
    return left;
  }

  storage::RecordId record_in(const versions::Commit& commit) const {
    const versions::CollectionState* state = commit.state_of(collection_.collection->id());
    if (!state || state->state == 0) return 0;
    return collection_.store().find(transaction(), versions::View{.state = state->state}, key_);
  }
  DocumentFields fields_of(storage::RecordId record) const {
    return DocumentFields(collection_.store().content(transaction(), record).value_or(base::Bytes()));
  }

  bson::Document show(const std::string& path, std::optional<CommitNumber> from, const versions::Place& place) const {
    bson::Builder out;
    out.append("path", path);
    if (!from) {
      out.append("branch", place.branch->name);
    } else {
      // The first commit, and its child that proves it, are one commit for users.
      versions::Commit commit = *graph().commit(transaction(), *from == first_ ? proof_.value_or(first_) : *from);
      if (*from == first_) commit.parents.clear();
      out.append_all(query::describe(transaction(), graph(), commit).view());
    }
    return out.done();
  }

  OperationContext& op_;
  const query::States& states_;
  const query::Versioned& collection_;
  const base::Bytes key_;
  const CommitNumber first_;
  const std::optional<CommitNumber> proof_;
  DocumentFields fields_;
  std::vector<std::optional<CommitNumber>> came_with_;  // by field; nullopt: none, it isn't committed
  std::map<CommitNumber, std::vector<size_t>> open_;    // fields whose origin is this commit or one before it
};

class BlameCommand : public Command {
 public:
  std::string_view name() const override { return "blame"; }
  std::string_view help() const override {
    return "the commit that each field of a document came with: {path, commit, parents, time, message, author}, or {path, "
           "branch} "
           "if it isn't committed\n"
           "{ blame: <collection>, _id: <any>, cursor: { batchSize: <int> } }\n"
           "An array is one field. What a merge took from a side came with that side's commit.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"_id", "id", "cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::string_view name = arguments.required_string("blame");
    const query::States states(op, branched(op, request));
    const versions::Place place = states.place(ref_of(request));
    std::vector<bson::Document> shown;
    if (const query::Versioned collection(op, states, name); collection)
      shown = Blame(op, states, collection, query::key_of_id(id_argument(arguments))).of(place);
    else
      (void)id_argument(arguments);
    reply_list(op, request, request.db + ".$cmd.blame", std::move(shown), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_blame_command() {
  return std::make_unique<BlameCommand>();
}

}  // namespace server
