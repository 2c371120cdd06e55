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
  write::UpdateStatement statement;  // of a delete, its selection alone

  bool all() const { return statement.selection.all; }  // it means all documents that match, and not one
};

Query query_of(const write::Selection& selection) {
  Query query;
  query.filter = bson::Document(selection.filter);
  query.sort = bson::Document(selection.sort);
  query.hint = bson::Value(selection.hint);
  query.collation = selection.collation;
  query.let = bson::Document(selection.let);
  query.limit = selection.all ? 0 : 1;
  return query;
}

// Returns the one statement of an update or delete.
bson::DocumentView statement_of(const Request& request, const char* list) {
  const auto statements = request.documents(list);
  if (statements.size() != 1) {
    throw base::OperationError(base::ErrorCode::invalid_length, "explained write batches must be of size 1");
  }
  return statements.front();
}

std::optional<Write> parse_write(OperationContext& op, const Request& request, std::string_view command) {
  Write write;
  const Arguments arguments(std::string(command), request.body);
  query::StatementLets lets(op, arguments.object("let").value_or(bson::DocumentView()));
  if (command == "update") {
    write.statement = parse_update_statement(statement_of(request, "updates"), lets);
    write.query = query_of(write.statement.selection);
  } else if (command == "delete") {
    write.statement.selection = parse_delete_statement(statement_of(request, "deletes"), lets);
    write.query = query_of(write.statement.selection);
    write.removes = true;
  } else if (command == "findAndModify") {
    FindAndModifyStatement parsed = parse_find_and_modify(op, request);
    write.statement = std::move(parsed.statement);
    write.removes = parsed.removes;
    write.query = query_of(write.statement.selection);
    write.query.let = std::move(parsed.let);
  } else {
    return std::nullopt;
  }
  write.query.ns = request.ns();
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
            out.append("nWouldUpsert", write.statement.upsert && matched == 0 ? 1 : 0);
          }};
}

write::BucketSelection buckets_of(OperationContext& op, const query::SeriesOptions& series, const Write& write) {
  if (write.removes) return write::buckets_to_delete(op, write.query.ns, series, write.statement.selection);
  return write::buckets_to_update(op, write.query.ns, series, write.statement);
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
  while (verbosity != query::Verbosity::query_planner && (write.all() || measurements == 0) && reader.next()) {
    if (buckets.whole) {
      measurements += query::measurement_count(series, reader.document());
      continue;
    }
    ++unpacked;
    query::BucketReader bucket(series.time_field, series.meta_field, reader.document());
    while ((write.all() || measurements == 0) && bucket.next()) measurements += matcher->matches(bucket.measurement()) ? 1 : 0;
  }
  query::Executor::Top top = top_of(write, measurements);
  if (!buckets.whole) {
    bson::Builder details;
    details.append("opType", write.all() ? "deleteMany" : "deleteOne").append("bucketFilter", buckets.filter);
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
  auto write = parse_write(op, request, command);
  if (!write) return false;
  write->statement.selection.let = write->query.let;  // which lives as long
  const auto series = command == "findAndModify" ? std::nullopt : query::find_series(op, write->query.ns);
  if (series) {
    explain_on_series(op, *series, *write, verbosity, reply);
    return true;
  }
  query::require_no_view(op, write->query.ns);
  if (command == "update") write::check_update(op, write->query.ns, write->statement);
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
