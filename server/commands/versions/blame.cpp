// blame returns the commit that each field of a document came with.
//
// The origins of all fields are found at once. Their documents, each of which has its path and what its commit says, may be more
// than fits into memory, so they are made one after another, as the client asks for them.
#include <map>
#include <numeric>

#include "server/commands/shared/branches.h"
#include "server/commands/shared/id_argument.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/branches/document_fields.h"
#include "server/query/cursor_registry.h"

namespace server {
namespace {

using versions::CommitNumber;

class BlameSource : public query::CursorSource {
 public:
  // It has no documents if the state shows none of the key.
  BlameSource(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database, const versions::Ref& ref,
              std::string_view collection, base::Bytes key)
      : op_(&op),
        allowance_(op_, &op.services().memory),
        states_(op, std::move(database)),
        place_(states_.place(ref)),
        collection_(op, states_, collection),
        key_(std::move(key)),
        first_(graph().first(transaction())),
        proof_(graph().proof_of_first(transaction())) {
    if (collection_) find_origins();
  }

  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }
  bool next() override {
    shown_ = bson::Document();
    shown_held_.set(0);
    op_->check_interrupt();
    if (next_ == came_with_.size()) return false;
    show(fields_->path(next_), came_with_[next_]);
    ++next_;
    return true;
  }
  bson::DocumentView document() override { return shown_; }
  bool exhausted() const override { return next_ == came_with_.size(); }

 private:
  storage::Transaction& transaction() const { return states_.transaction(); }
  const versions::VersionGraph& graph() const { return states_.branches().graph(); }

  void find_origins() {
    const storage::RecordId record = collection_.store().find(transaction(), states_.view(*collection_.shared, place_), key_);
    if (record == 0) return;
    fields_.emplace(content(record), allowance_);
    const size_t count = fields_->size();
    // A field is in one of the lists at a time, and in two or three more while it is passed on.
    constexpr size_t passing_bytes = 8 * sizeof(size_t);
    origins_held_.set(count * (sizeof(came_with_[0]) + passing_bytes));
    came_with_.resize(count);
    std::vector<size_t> all(count);
    std::iota(all.begin(), all.end(), size_t{0});
    pass(all, record, place_.commit);  // what the last commit doesn't have isn't committed
    // Parents mostly have lower numbers than their children, so each commit is mostly met once.
    while (!open_.empty()) {
      op_->check_interrupt();
      const auto newest = std::prev(open_.end());
      const CommitNumber at = newest->first;
      std::vector<size_t> fields = std::move(newest->second);
      open_.erase(newest);
      follow(at, std::move(fields));
    }
    origins_held_.set(count * sizeof(came_with_[0]));
  }

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
    allowance_.work_on(fields.size() * sizeof(size_t));
    const storage::RecordId there = record_in(*graph().commit(transaction(), to));
    std::vector<size_t> left, passed;
    if (there == record) {
      passed = fields;
    } else if (there == 0) {
      left = fields;
    } else {
      const bson::Document other = content(there);
      Held held(allowance_.memory());
      held.set(other.size());
      const std::vector<bool> same = fields_->same_in(other);
      for (const size_t field : fields) (same[field] ? passed : left).push_back(field);
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
  bson::Document content(storage::RecordId record) const {
    auto content = collection_.store().content(transaction(), record);
    return content ? bson::Document(*std::move(content)) : bson::Document();
  }

  void show(const std::string& path, std::optional<CommitNumber> from) {
    bson::Builder out;
    out.append("path", path);
    if (!from) {
      out.append("branch", place_.branch->name);
    } else {
      // The first commit, and its child that proves it, are one commit for users.
      versions::Commit commit = *graph().commit(transaction(), *from == first_ ? proof_.value_or(first_) : *from);
      if (*from == first_) commit.parents.clear();
      out.append_all(query::describe(transaction(), graph(), commit).view());
    }
    shown_held_.set(out.size());
    shown_ = out.done();
  }

  OperationContext* op_;  // nullptr between batches
  Allowance allowance_;
  const query::States states_;
  const versions::Place place_;
  const query::Versioned collection_;
  const base::Bytes key_;
  const CommitNumber first_;
  const std::optional<CommitNumber> proof_;
  std::optional<query::DocumentFields> fields_;
  Held origins_held_{allowance_.memory()}, shown_held_{allowance_.memory()};  // came_with_ and open_, shown_
  std::vector<std::optional<CommitNumber>> came_with_;                        // by field; nullopt: none, it isn't committed
  std::map<CommitNumber, std::vector<size_t>> open_;  // fields whose origin is this commit or one before it
  size_t next_ = 0;                                   // the field to show
  bson::Document shown_;
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
    const auto database = branched(op, request);
    auto source = std::make_unique<BlameSource>(op, database, ref_of(request), name, query::key_of_id(id_argument(arguments)));
    reply_source(op, request, request.db + ".$cmd.blame", std::move(source), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_blame_command() {
  return std::make_unique<BlameCommand>();
}

}  // namespace server
