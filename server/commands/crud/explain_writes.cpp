#include "server/commands/crud/explain_writes.h"

#include "base/error.h"
#include "server/commands/crud/write_command.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/find_request.h"
#include "server/query/fitting_int.h"
#include "server/query/match/node.h"
#include "server/query/matcher.h"
#include "server/query/reader.h"
#include "server/query/series/bucket.h"
#include "server/query/views.h"
#include "server/write/measurements.h"
#include "storage/store.h"

namespace server {
namespace {

using query::Query;

struct Write {
  Query query;
  bool removes = false;
  bool upsert = false;
  bool all = false;        // it means all documents that match, and not one
  bson::ValueView update;  // of the command `update`
};

Query selection(OperationContext& op, const Arguments& arguments, std::string_view filter) {
  Query query;
  query.filter = bson::Document(arguments.object(filter).value_or(bson::DocumentView()));
  query.hint = query::checked_hint(arguments.any("hint"));
  query.collation = bson::parse_collation(arguments.any("collation"));
  if (const auto let = arguments.object("let")) query.let = query::constant_let(op, *let, query.collation);
  return query;
}

// Returns the one statement of an update or delete.
Arguments statement_of(const Request& request, const char* list) {
  const auto statements = request.documents(list);
  if (statements.size() != 1) {
    throw base::OperationError(base::ErrorCode::invalid_length, "explained write batches must be of size 1");
  }
  return Arguments(request.command + "." + list, statements.front());
}

std::optional<Write> parse_write(OperationContext& op, const Request& request, std::string_view command) {
  Write write;
  if (command == "update") {
    const Arguments statement = statement_of(request, "updates");
    check_update_fields(statement);
    write.query = selection(op, statement, "q");
    write.upsert = statement.boolean("upsert").value_or(false);
    write.all = statement.boolean("multi").value_or(false);
    write.query.limit = write.all ? 0 : 1;
    write.update = statement.any("u");
  } else if (command == "delete") {
    const Arguments statement = statement_of(request, "deletes");
    check_delete_fields(statement);
    write.query = selection(op, statement, "q");
    write.query.limit = statement.integer("limit").value_or(0);
    write.all = write.query.limit == 0;
    write.removes = true;
  } else if (command == "findAndModify") {
    const Arguments arguments("findAndModify", request.body);
    write.query = selection(op, arguments, "query");
    write.query.sort = bson::Document(arguments.object("sort").value_or(bson::DocumentView()));
    write.query.limit = 1;
    write.removes = arguments.loose_boolean("remove").value_or(false);
    write.upsert = arguments.loose_boolean("upsert").value_or(false);
  } else {
    return std::nullopt;
  }
  write.query.ns = request.ns();
  if (write.upsert && !write.removes) {
    write::check_upsert_filter(op, write.query.filter, query::collator_for(op, write.query.ns, write.query.collation));
  }
  write.query.explained = true;
  write.query.allow_disk_use = true;
  return write;
}

query::Executor::Top top_of(const Write& write, int64_t matched) {
  return {write.removes ? "DELETE" : "UPDATE", [&write, matched](bson::Builder& out) {
            if (write.removes) {
              out.append("nWouldDelete", query::fitting_int(matched));
              return;
            }
            out.append("nMatched", query::fitting_int(matched)).append("nWouldModify", query::fitting_int(matched));
            out.append("nWouldUpsert", write.upsert && matched == 0 ? 1 : 0);
          }};
}

write::BucketSelection buckets_of(OperationContext& op, const query::SeriesOptions& series, const Write& write) {
  write::UpdateStatement statement;
  statement.selection.filter = write.query.filter;
  statement.selection.hint = write.query.hint.view();
  statement.selection.collation = write.query.collation;
  statement.selection.all = write.all;
  if (write.removes) return write::buckets_to_delete(op, write.query.ns, series, statement.selection);
  statement.update = write.update;
  statement.upsert = write.upsert;
  return write::buckets_to_update(op, write.query.ns, series, statement);
}

// A write of a time series finds buckets. Those that it doesn't mean as a whole are unpacked, by a stage of its own.
void explain_on_series(OperationContext& op, const query::SeriesOptions& series, const Write& write, query::Verbosity verbosity,
                       bson::Builder& reply) {
  const write::BucketSelection buckets = buckets_of(op, series, write);
  Query query = write.query;
  query.ns = buckets.ns;
  query.filter = buckets.filter;
  query.hint = buckets.hint;
  query.collation = buckets.collator;
  query.limit = 0;
  const auto matcher = query::Matcher::parse(write.query.filter, query::filter_context(op, query.let, buckets.collator));
  query::Reader reader(op, op.services().store->catalog().open(buckets.ns), buckets.ns, query);
  int64_t unpacked = 0, measurements = 0;
  while (verbosity != query::Verbosity::query_planner && (write.all || measurements == 0) && reader.next()) {
    if (buckets.whole) {
      measurements += query::measurement_count(series, reader.document());
      continue;
    }
    ++unpacked;
    query::BucketReader bucket(series.time_field, series.meta_field, reader.document());
    while ((write.all || measurements == 0) && bucket.next()) measurements += matcher->matches(bucket.measurement()) ? 1 : 0;
  }
  query::Executor::Top top = top_of(write, measurements);
  if (!buckets.whole) {
    bson::Builder details;
    details.append("opType", write.all ? "deleteMany" : "deleteOne").append("bucketFilter", buckets.filter);
    {
      auto residual = details.object("residualFilter");
      matcher->root().append(residual);
    }
    top = {.stage = "TS_MODIFY",
           .figures =
               [unpacked, measurements](bson::Builder& out) {
                 out.append("nBucketsUnpacked", query::fitting_int(unpacked))
                     .append("nMeasurementsDeleted", query::fitting_int(measurements));
               },
           .details = details.done()};
  }
  reply.append("explainVersion", "1");
  reader.executor().explain(reply, verbosity, &top);
}

}  // namespace

bool explain_write(OperationContext& op, const Request& request, std::string_view command, query::Verbosity verbosity,
                   bson::Builder& reply) {
  const auto write = parse_write(op, request, command);
  if (!write) return false;
  const auto series = command == "findAndModify" ? std::nullopt : query::find_series(op, write->query.ns);
  if (series) {
    explain_on_series(op, *series, *write, verbosity, reply);
    return true;
  }
  query::require_no_view(op, write->query.ns);
  query::Reader reader(op, op.services().store->catalog().open(write->query.ns), write->query.ns, write->query);
  int64_t matched = 0;
  for (; verbosity != query::Verbosity::query_planner && reader.next(); ++matched)
    (void)reader.document();  // decoding is counted
  const query::Executor::Top top = top_of(*write, matched);
  reply.append("explainVersion", "1");
  reader.executor().explain(reply, verbosity, &top);
  return true;
}

}  // namespace server
