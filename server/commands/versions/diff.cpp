// diff returns the documents that two states of a database show differently.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/arguments.h"
#include "server/query/branches/differences.h"
#include "server/query/cursor_registry.h"

namespace server {
namespace {

class DiffSource : public query::CursorSource {
 public:
  DiffSource(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database, const query::Differences::What& what,
             bson::DocumentView filter)
      : filter_(query::Matcher::parse(filter)), differences_(op, std::move(database), what) {}

  void begin(OperationContext& op) override { differences_.begin(op); }
  void end() override { differences_.end(); }
  bool next() override {
    while (differences_.next()) {
      if (filter_->empty() || filter_->matches(document())) return true;
    }
    return false;
  }
  bson::DocumentView document() override { return differences_.document(); }

 private:
  const std::unique_ptr<query::Matcher> filter_;
  query::Differences differences_;
};

class DiffCommand : public Command {
 public:
  std::string_view name() const override { return "diff"; }
  std::string_view help() const override {
    return "the documents that two states show differently: {collection, _id, change: insert | update | delete, before, after}\n"
           "{ diff: 1, from: <branch, tag or commit; default the last commit of what the database's name says>, to: <likewise; "
           "default that, with what is not committed>,\n"
           "  collection: <string>, filter: <over what comes out>, cursor: { batchSize: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"from", "to", "collection", "filter", "cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    query::Differences::What what = query::Differences::between(arguments, request.db);
    if (const auto collection = arguments.string("collection")) what.collection = std::string(*collection);
    const auto filter = arguments.object("filter").value_or(bson::DocumentView());
    reply_source(op, request, request.db + ".$cmd.diff", std::make_unique<DiffSource>(op, branched(op, request), what, filter),
                 reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_diff_command() {
  return std::make_unique<DiffCommand>();
}

}  // namespace server
