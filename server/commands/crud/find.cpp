// find returns a first batch of documents that match, and a cursor for the rest.
#include "base/error.h"
#include "server/commands/crud/explainable.h"
#include "server/commands/crud/view_query.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/cursor_registry.h"
#include "server/query/find_request.h"
#include "server/query/plan_notes.h"
#include "server/query/reader.h"
#include "storage/store.h"

namespace server {
namespace {

class FindSource : public query::CursorSource {
 public:
  FindSource(OperationContext& op, std::shared_ptr<storage::Collection> collection, const std::string& ns,
             const query::Query& query)
      : reader_(op, std::move(collection), ns, query) {}
  void begin(OperationContext& op) override { reader_.begin(op); }
  void end() override { reader_.end(); }
  bool next() override { return reader_.next(); }
  bson::DocumentView document() override { return reader_.document(); }
  bool exhausted() const override { return !reader_.executor().tailable() && reader_.executor().exhausted(); }
  std::optional<Examined> examined() const override {
    const query::ExecutionStats stats = reader_.executor().stats();
    return Examined{stats.keys_examined, stats.docs_examined};
  }
  void note_execution(OperationContext& op) const override { query::note_execution(op, reader_.executor()); }
  const query::Executor& executor() const { return reader_.executor(); }

 private:
  query::Reader reader_;
};

class Find : public Command, public Explainable {
 public:
  std::string_view name() const override { return "find"; }
  std::string_view help() const override { return "query for documents"; }
  std::string_view parser_name() const override { return "FindCommandRequest"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"filter",
                                                 "projection",
                                                 "sort",
                                                 "hint",
                                                 "collation",
                                                 "skip",
                                                 "limit",
                                                 "batchSize",
                                                 "singleBatch",
                                                 "allowDiskUse",
                                                 "min",
                                                 "max",
                                                 "returnKey",
                                                 "showRecordId",
                                                 "tailable",
                                                 "oplogReplay",
                                                 "noCursorTimeout",
                                                 "awaitData",
                                                 "allowPartialResults",
                                                 "let",
                                                 "term",
                                                 "readOnce",
                                                 "collectionUUID"};
    return names;
  }
  bool takes_collection() const override { return true; }
  OpKind kind() const override { return OpKind::query; }
  bool takes_snapshot() const override { return true; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const query::FindRequest find = query::parse_find(op, request);
    check_collection_uuid(op, request.body.find("collectionUUID"), find.query.ns);
    auto collection = query::open_collection(op, find.query.ns);
    if (is_view(op, find.query.ns, collection.get())) return find_on_view(op, request, find, reply);
    if (find.tailable && collection && !collection->options().capped) {
      throw base::OperationError(base::ErrorCode::bad_value, "error processing query: ns=" + find.query.ns +
                                                                 " tailable cursor requested on non capped collection");
    }
    auto source = std::make_unique<FindSource>(op, collection, find.query.ns, find.query);
    const query::Executor& executor = source->executor();
    auto cursor = std::make_unique<query::Cursor>();
    cursor->ns = find.query.ns;
    cursor->plan_summary = executor.summary();
    cursor->command = std::make_shared<const bson::Document>(request.body);
    if (op.lsid.is_object()) cursor->lsid = bson::Document(op.lsid.as_document());
    cursor->tailable = find.tailable && collection && collection->record_count() > 0;
    cursor->await_data = find.await_data;
    cursor->no_timeout = find.no_timeout;
    query::note_plan(op, executor);
    cursor->source = std::move(source);
    // A tailable cursor that finds no collection, or an empty one, is dead from the start: clients ask again.
    const bool dead = find.tailable && !cursor->tailable;
    query::reply_first_batch(op, *op.services().cursors, std::move(cursor), find.batch_size, find.single_batch || dead, reply,
                             "Executor error during find command");
  }

  void explain(OperationContext& op, const Request& request, query::Verbosity verbosity, bson::Builder& reply) override {
    query::FindRequest find = query::parse_find(op, request);
    if (is_view(op, find.query.ns, op.services().store->catalog().open(find.query.ns).get()))
      return explain_find_on_view(op, request, find, verbosity, reply);
    find.query.explained = true;
    find.query.tailable = false;
    query::Reader reader(op, op.services().store->catalog().open(find.query.ns), find.query.ns, find.query);
    while (verbosity != query::Verbosity::query_planner && reader.next()) (void)reader.document();  // decoding is counted
    reply.append("explainVersion", "1");
    reader.executor().explain(reply, verbosity);
  }
};

}  // namespace

std::unique_ptr<Command> make_find_command() {
  return std::make_unique<Find>();
}

}  // namespace server
