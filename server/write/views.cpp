#include "server/write/views.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/expressions/now.h"
#include "server/query/stages/pipeline.h"
#include "server/query/views.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/namespaces.h"
#include "server/write/statements.h"
#include "server/write/target.h"
#include "server/write/view_graph.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using query::View;

namespace {

std::string views_of(const std::string& db) {
  return db + "." + std::string(query::views_collection);
}

void check_pipeline(OperationContext& op, const std::string& db, const View& view) {
  static constexpr std::array<std::string_view, 2> writers = {"$out", "$merge"};
  int place = 0;
  for (const bson::Element& stage : view.pipeline) {
    const std::string_view name = stage.is_object() ? stage.as_document().first().name : std::string_view();
    if (std::find(writers.begin(), writers.end(), name) != writers.end()) {
      throw OperationError(ErrorCode::option_not_supported_on_view,
                           "The aggregation stage " + std::string(name) + " in location " + std::to_string(place) +
                               " of the pipeline cannot be used in the view definition of " + db + "." + view.name +
                               " because it writes to disk");
    }
    if (name == "$changeStream")
      throw OperationError(ErrorCode::option_not_supported_on_view, "$changeStream cannot be used in a view definition");
    ++place;
  }
  query::PipelineContext context(query::command_time_ms(op), &op);
  context.db = db;
  context.collection = view.on;
  context.set_collator(query::view_collator(view, std::nullopt));
  const query::Pipeline parsed(view.pipeline, context);
}

void check(OperationContext& op, const std::string& db, const View& view) {
  if (view.on.empty()) throw OperationError(ErrorCode::bad_value, "'viewOn' cannot be empty");
  if (!valid_collection_name(view.on))
    throw OperationError(ErrorCode::invalid_namespace, "Invalid namespace specified '" + db + "." + view.on + "'");
  Held held(op.allowance().memory());
  const std::vector<View> others = query::all_views(op, db, held);
  const Readable own(db, view.name);
  const std::set<Readable> reads = reads_of(view, db);
  for (const View& other : others) {
    const bool related =
        other.name != view.name && (reads.contains(Readable(db, other.name)) || reads_of(other, db).contains(own));
    if (related && other.collation.bytes() != view.collation.bytes()) {
      throw OperationError(ErrorCode::option_not_supported_on_view,
                           "View " + db + "." + view.name + " has conflicting collation with view " + db + "." + other.name);
    }
  }
  check_view_graph(op, db, others, view);
  check_pipeline(op, db, view);
}

bson::Document definition(const std::string& db, const View& view) {
  bson::Builder out;
  out.append("_id", query::view_id(db + "." + view.name)).append("viewOn", view.on);
  out.append_array("pipeline", view.pipeline);
  if (!view.collation.empty()) out.append("collation", view.collation);
  return out.done();
}

bson::Document shown(const View& view) {
  bson::Builder out;
  out.append("viewOn", view.on).append_array("pipeline", view.pipeline);
  if (!view.collation.empty()) out.append("collation", view.collation);
  return out.done();
}

}  // namespace

void create_view(OperationContext& op, const std::string& db, const View& view) {
  const std::string ns = db + "." + view.name;
  check_writable(op, db + ".$");  // the database's ref is a branch
  if (store_of(op).catalog().find(ns)) {
    throw OperationError(ErrorCode::namespace_exists,
                         "namespace " + ns + " already exists, but is a collection rather than a view");
  }
  if (const auto there = query::find_view(op, ns)) {
    const bson::Document now = shown(*there);
    if (now.bytes() == shown(view).bytes()) return;
    throw OperationError(ErrorCode::namespace_exists,
                         "namespace " + ns + " already exists, but with different options: " + bson::to_shell(now));
  }
  check(op, db, view);
  const bson::Document document = definition(db, view);
  const Target target = Target::open_or_create(op, views_of(db));
  DocumentWriter writer(op, target, Validate::never);
  try {
    in_transaction(op, [&](storage::Transaction& transaction) { writer.insert(transaction, document); });
  } catch (const OperationError& error) {
    if (error.code() != ErrorCode::duplicate_key) throw;
    throw OperationError(ErrorCode::namespace_exists, "namespace " + ns + " already exists: another client has created the view");
  }
}

void change_view(OperationContext& op, const std::string& db, const View& view) {
  check(op, db, view);
  put_document(op, views_of(db), query::view_id(db + "." + view.name), definition(db, view));
}

bool drop_view(OperationContext& op, const std::string& ns) {
  return query::find_view(op, ns) && remove_document(op, views_of(std::string(database_of(ns))), query::view_id(ns));
}

void check_no_view_has(OperationContext& op, const std::string& ns) {
  if (query::find_view(op, ns)) {
    throw OperationError(ErrorCode::namespace_exists,
                         "namespace " + ns + " already exists, but is a view rather than a collection");
  }
}

}  // namespace server::write
