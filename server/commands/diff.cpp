// diff: the documents that two states of a database show differently.
#include <unordered_map>

#include "server/arguments.h"
#include "server/commands/branches.h"
#include "server/commands/list_cursor.h"
#include "server/operation.h"
#include "server/query/cursor_registry.h"
#include "server/query/matcher.h"
#include "server/services.h"
#include "server/write/target.h"
#include "storage/engine.h"
#include "storage/names.h"

namespace server {
namespace {

// One collection after the other: what the first state shows alone is known by key, then what the second shows alone is walked.
class DiffSource : public query::CursorSource {
 public:
  struct What {
    versions::Ref from, to;
    bool from_last_commit = false;  // of the branch `to`
    std::optional<std::string> collection;
    bson::Document filter;
  };

  DiffSource(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database, const What& what)
      : op_(&op),
        database_(std::move(database)),
        transaction_(write::engine_of(op), storage::Transaction::Mode::read),
        filter_(query::Matcher::parse(what.filter)) {
    to_ = database_->place(transaction_, what.to);
    from_ = what.from_last_commit ? to_ : database_->place(transaction_, what.from);
    if (what.from_last_commit) from_.branch.reset();
    for (auto& one : op.services().engine->catalog().collections(database_->name())) {
      if (!what.collection || one->ns() == database_->name() + "." + *what.collection) collections_.push_back(std::move(one));
    }
  }

  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }
  bool next() override {
    while (step()) {
      op_->check_interrupt();
      if (filter_->empty() || filter_->matches(document_)) return true;
    }
    return false;
  }
  bson::DocumentView document() override { return document_; }

 private:
  bool step() {
    for (;;) {
      if (added_ && added_->next()) return show_added(), true;
      added_.reset();
      if (!gone_.empty()) return show_gone(), true;
      if (at_ == collections_.size()) return false;
      open(*collections_[at_++]);
    }
  }

  void open(storage::Collection& collection) {
    name_ = storage::collection_of(collection.ns());
    auto compared = database_->diff(transaction_, from_, to_, collection.id());
    if (!compared) return;
    store_ = &compared->store;
    const auto removed = store_->scan_set(transaction_, std::move(compared->difference.only_a));
    while (removed->next()) {
      op_->check_interrupt();
      gone_.emplace(versions::key_of(removed->content()), removed->record());
    }
    added_ = store_->scan_set(transaction_, std::move(compared->difference.only_b));
  }

  void show_added() {
    const bson::DocumentView after(added_->content());
    const auto before = gone_.find(versions::key_of(added_->content()));
    if (before == gone_.end()) return show("insert", std::nullopt, after);
    const auto content = store_->content(transaction_, before->second);
    gone_.erase(before);
    show("update", content ? std::optional(bson::DocumentView(*content)) : std::nullopt, after);
  }

  void show_gone() {
    const auto content = store_->content(transaction_, gone_.begin()->second);
    gone_.erase(gone_.begin());
    show("delete", content ? std::optional(bson::DocumentView(*content)) : std::nullopt, std::nullopt);
  }

  void show(std::string_view change, std::optional<bson::DocumentView> before, std::optional<bson::DocumentView> after) {
    bson::Builder out;
    out.append("collection", name_).append("_id", static_cast<bson::ValueView>((after ? *after : before.value_or(bson::DocumentView())).find("_id")));
    out.append("change", change);
    if (before) out.append("before", *before);
    if (after) out.append("after", *after);
    document_ = out.done();
  }

  OperationContext* op_;  // nullptr between batches
  const std::shared_ptr<versions::BranchedDatabase> database_;
  storage::Transaction transaction_;
  const std::unique_ptr<query::Matcher> filter_;
  versions::Place from_, to_;
  std::vector<std::shared_ptr<storage::Collection>> collections_;
  size_t at_ = 0;
  std::string name_;
  versions::BranchStore* store_ = nullptr;
  std::unordered_map<base::Bytes, storage::RecordId> gone_;
  std::unique_ptr<versions::Scan> added_;
  bson::Document document_;
};

class DiffCommand : public Command {
 public:
  std::string_view name() const override { return "diff"; }
  std::string_view help() const override {
    return "the documents that two states show differently: {collection, _id, change: insert | update | delete, before, after}\n"
           "{ diff: 1, from: <branch, tag or commit; default the last commit of what the database's name says>, to: <likewise; default that, with what is not committed>,\n"
           "  collection: <string>, filter: <over what comes out>, cursor: { batchSize: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"from", "to", "collection", "filter", "cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto from = arguments.string("from"), to = arguments.string("to"), collection = arguments.string("collection");
    DiffSource::What what;
    what.to = to ? ref_of(*to) : ref_of(request);
    what.from_last_commit = !from;
    if (from) what.from = ref_of(*from);
    if (collection) what.collection = std::string(*collection);
    what.filter = bson::Document(arguments.object("filter").value_or(bson::DocumentView()));
    reply_source(op, request, request.db + ".$cmd.diff", std::make_unique<DiffSource>(op, branched(op, request), what), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_diff_command() { return std::make_unique<DiffCommand>(); }

}  // namespace server
