// log: the commits that a state comes from, newest first.
#include "server/arguments.h"
#include "server/commands/branches.h"
#include "server/commands/list_cursor.h"
#include "server/operation.h"
#include "server/query/cursor_registry.h"
#include "server/write/target.h"
#include "storage/engine.h"

namespace server {
namespace {

// Reads as it is asked. Commits never change, so one snapshot serves all batches.
class LogSource : public query::CursorSource {
 public:
  LogSource(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database, const versions::Ref& from, int64_t limit)
      : op_(&op),
        database_(std::move(database)),
        transaction_(write::engine_of(op), storage::Transaction::Mode::read),
        log_(database_->branches().graph(), transaction_, database_->place(transaction_, from).commit),
        left_(limit) {}
  void begin(OperationContext& op) override { op_ = &op; }
  void end() override { op_ = nullptr; }
  bool next() override {
    op_->check_interrupt();
    if (left_-- == 0 || !log_.next()) return false;
    document_ = describe(transaction_, database_->branches().graph(), log_.commit());
    return true;
  }
  bson::DocumentView document() override { return document_; }

 private:
  OperationContext* op_;  // nullptr between batches
  std::shared_ptr<versions::BranchedDatabase> database_;
  storage::Transaction transaction_;
  versions::Log log_;
  int64_t left_;  // negative: no limit
  bson::Document document_;
};

class LogCommand : public Command {
 public:
  std::string_view name() const override { return "log"; }
  std::string_view help() const override {
    return "the commits of the branch, tag or commit that the database's name says, newest first\n{ log: 1, limit: <int>, cursor: { batchSize: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"limit", "cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    const int64_t limit = Arguments(request).unsigned_integer("limit").value_or(0);
    reply_source(op, request, request.db + ".$cmd.log", std::make_unique<LogSource>(op, database, ref_of(request), limit == 0 ? -1 : limit), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_log_command() { return std::make_unique<LogCommand>(); }

}  // namespace server
