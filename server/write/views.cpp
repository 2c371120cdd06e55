#include "server/write/views.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

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

using Names = std::set<std::string, std::less<>>;

// Adds the name in "name", {coll: "name"} or {db, coll: "name"}, unless it is another database's.
void add_name(const bson::ValueView& from, std::string_view db, Names& names) {
  if (from.is_string()) names.emplace(from.as_string());
  if (!from.is_object()) return;
  const bson::Element of = from.as_document()["db"], name = from.as_document()["coll"];
  const bool own = !of.exists() || (of.is_string() && of.as_string() == db);
  if (own && name.is_string()) names.emplace(name.as_string());
}

// Adds each collection or view of the database that the pipeline reads by its name, at any depth.
void add_reads(bson::DocumentView value, std::string_view db, Names& names) {
  for (const bson::Element& field : value) {
    if (field.name == "$unionWith") add_name(field, db, names);
    if (field.is_object() && (field.name == "$lookup" || field.name == "$graphLookup"))
      add_name(field.as_document()["from"], db, names);
    if (field.is_object() || field.is_array()) add_reads(field.as_document(), db, names);
  }
}

// Returns what the view of that database reads there.
Names reads_of(const View& view, std::string_view db) {
  Names names{view.on};
  add_reads(view.pipeline, db, names);
  return names;
}

// The database's views as a graph: a view leads to what it reads.
class Graph {
 public:
  Graph(const std::string& db, const std::vector<View>& views, const View& changed) : changed_(changed.name) {
    for (const View& view : views) reads_[view.name] = reads_of(view, db);
    reads_[changed.name] = reads_of(changed, db);
  }

  void check() {
    below(changed_, {});
    const int depth = height(changed_) + above(changed_) - 1;
    if (depth > query::view_depth_max) {
      throw OperationError(ErrorCode::view_depth_limit_exceeded,
                           "View depth limit exceeded; maximum depth is " + std::to_string(query::view_depth_max));
    }
  }

 private:
  // Looks for a way back to the changed view; `way` leads to `name`.
  void below(const std::string& name, std::vector<std::string> way) {
    way.push_back(name);
    if (way.size() > 1 && name == changed_) {
      std::string text = "View cycle detected: ";
      for (const std::string& one : way) text += (&one == &way.front() ? "" : " => ") + one;
      throw OperationError(ErrorCode::graph_contains_cycle, text);
    }
    if (way.size() > 1 && !seen_.insert(name).second) return;
    const auto found = reads_.find(name);
    if (found == reads_.end()) return;
    for (const std::string& next : found->second) below(next, way);
  }

  // How many views stand on one another, from this one down; there is no cycle.
  int height(const std::string& name) {
    const auto found = reads_.find(name);
    if (found == reads_.end()) return 0;
    if (const auto known = heights_.find(name); known != heights_.end()) return known->second;
    heights_[name] = 1;  // cycles among other views end here
    int highest = 0;
    for (const std::string& next : found->second) highest = std::max(highest, height(next));
    return heights_[name] = highest + 1;
  }

  // The same, from this one up.
  int above(const std::string& name) {
    if (const auto known = above_.find(name); known != above_.end()) return known->second;
    above_[name] = 1;
    int highest = 0;
    for (const auto& [reader, reads] : reads_) {
      if (reads.contains(name)) highest = std::max(highest, above(reader));
    }
    return above_[name] = highest + 1;
  }

  const std::string changed_;
  std::map<std::string, Names> reads_;
  std::set<std::string> seen_;
  std::map<std::string, int> heights_, above_;
};

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
  const std::vector<View> others = query::all_views(op, db);
  const Names reads = reads_of(view, db);
  for (const View& other : others) {
    const bool related = other.name != view.name && (reads.contains(other.name) || reads_of(other, db).contains(view.name));
    if (related && other.collation.bytes() != view.collation.bytes()) {
      throw OperationError(ErrorCode::option_not_supported_on_view,
                           "View " + db + "." + view.name + " has conflicting collation with view " + db + "." + other.name);
    }
  }
  Graph(db, others, view).check();
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
  if (!query::find_view(op, ns)) return false;
  bson::Builder filter;
  filter.append("_id", query::view_id(ns));
  const bson::Document same = filter.done();
  Selection selection;
  selection.filter = same;
  return run_delete(op, views_of(std::string(database_of(ns))), selection).deleted > 0;
}

void check_no_view_has(OperationContext& op, const std::string& ns) {
  if (query::find_view(op, ns)) {
    throw OperationError(ErrorCode::namespace_exists,
                         "namespace " + ns + " already exists, but is a view rather than a collection");
  }
}

}  // namespace server::write
