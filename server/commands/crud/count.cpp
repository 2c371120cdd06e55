// count returns how many documents match.
#include <algorithm>

#include "base/error.h"
#include "server/commands/crud/explainable.h"
#include "server/commands/crud/view_query.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/find_request.h"
#include "server/query/fitting_int.h"
#include "server/query/plan_notes.h"
#include "server/query/reader.h"
#include "storage/store.h"

namespace server {
namespace {

query::Query parse_count(const Request& request) {
  const Arguments arguments("count", request.body);
  query::Query query;
  query.ns = request.ns();
  query.filter = bson::Document(arguments.object("query").value_or(bson::DocumentView()));
  query.hint = query::checked_hint(arguments.any("hint"));
  query.skip = arguments.unsigned_integer("skip").value_or(0);
  const int64_t limit = arguments.integer("limit").value_or(0);
  // a negative limit is the old shell's single batch
  query.limit = limit < 0 ? (limit == INT64_MIN ? INT64_MAX : -limit) : limit;
  query.count_only = true;
  query.collation = bson::parse_collation(arguments.any("collation"));
  return query;
}

int64_t limited(int64_t count, const query::Query& query) {
  count = std::max<int64_t>(0, count - query.skip);
  return query.limit == 0 ? count : std::min(count, query.limit);
}

bson::Document count_stage() {
  bson::Builder stage;
  stage.append("$count", "n");
  return stage.done();
}

class Count : public Command, public Explainable {
 public:
  std::string_view name() const override { return "count"; }
  std::string_view help() const override { return "count objects in collection"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"query",     "limit",  "skip",         "hint",
                                                 "collation", "fields", "queryOptions", "collectionUUID"};
    return names;
  }
  bool takes_collection() const override { return true; }
  bool takes_read_concern() const override { return true; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const query::Query query = parse_count(request);
    check_collection_uuid(op, request.body.find("collectionUUID"), query.ns);
    auto collection = op.services().store->catalog().open(query.ns);
    if (is_view(op, query.ns, collection.get())) {
      ViewDocuments counted(op, query, count_stage());
      reply.append("n", query::fitting_int(counted.next() ? counted.document()["n"].to_int64() : 0));
      return;
    }
    const int64_t count = !collection                                    ? 0
                          : query.filter.empty() && !query.hint.exists() ? limited(collection->record_count(), query)
                                                                         : scan(op, collection, query);
    reply.append("n", query::fitting_int(count));
  }

  void explain(OperationContext& op, const Request& request, query::Verbosity verbosity, bson::Builder& reply) override {
    query::Query query = parse_count(request);
    query.explained = true;
    auto collection = op.services().store->catalog().open(query.ns);
    if (is_view(op, query.ns, collection.get())) return ViewDocuments(op, query, count_stage()).explain(verbosity, reply);
    const bool by_count = collection && query.filter.empty() && !query.hint.exists();
    // A count that the collection keeps anyway needs no scan.
    query::Reader reader(op, by_count ? nullptr : collection, query.ns, query);
    int64_t count = by_count ? limited(collection->record_count(), query) : 0;
    while (verbosity != query::Verbosity::query_planner && reader.next()) ++count;
    reply.append("explainVersion", "1");
    const query::Executor::Top top{
        by_count ? "RECORD_STORE_FAST_COUNT" : "COUNT",
        [&](bson::Builder& out) {
          out.append("nCounted", query::fitting_int(count)).append("nSkipped", query::fitting_int(query.skip));
        },
        by_count};
    reader.executor().explain(reply, verbosity, &top);
  }

 private:
  static int64_t scan(OperationContext& op, const std::shared_ptr<storage::Collection>& collection, const query::Query& query) {
    query::Reader reader(op, collection, query.ns, query);
    query::note_plan(op, reader.executor());
    int64_t count = 0;
    while (reader.next()) ++count;
    const query::ExecutionStats stats = reader.executor().stats();
    op.counts.keys_examined = stats.keys_examined;
    op.counts.docs_examined = stats.docs_examined;
    query::note_execution(op, reader.executor());
    return count;
  }
};

}  // namespace

std::unique_ptr<Command> make_count_command() {
  return std::make_unique<Count>();
}

}  // namespace server
