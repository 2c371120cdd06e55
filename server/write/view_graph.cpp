#include "server/write/view_graph.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/query/views.h"
#include "versions/database/refs.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using query::View;

namespace {

using Names = std::set<Readable>;

// Returns the database that a stage reads; the pipeline within the stage reads its names, too.
std::string_view database_within(const bson::ValueView& from, std::string_view db) {
  const bson::Element of = from.is_object() ? from.as_document()["db"] : bson::Element();
  return of.is_string() && !of.as_string().empty() ? of.as_string() : db;
}

// Adds the name in "name", {coll: "name"} or {db, coll: "name"}.
void add_name(const bson::ValueView& from, std::string_view db, Names& names) {
  if (from.is_string()) names.emplace(db, from.as_string());
  if (!from.is_object()) return;
  const bson::Element name = from.as_document()["coll"];
  if (name.is_string()) names.emplace(database_within(from, db), name.as_string());
}

void add_reads(bson::DocumentView value, std::string_view db, Names& names) {
  for (const bson::Element& field : value) {
    std::string_view within = db;
    if (field.name == "$unionWith") {
      add_name(field, db, names);
      within = database_within(field, db);
    } else if (field.is_object() && (field.name == "$lookup" || field.name == "$graphLookup")) {
      const bson::Element from = field.as_document()["from"];
      add_name(from, db, names);
      within = database_within(from, db);
    }
    if (field.is_object() || field.is_array()) add_reads(field.as_document(), within, names);
  }
}

class Graph {
 public:
  Graph(OperationContext& op, const std::string& db, const std::vector<View>& views, const View& changed)
      : op_(op), changed_(db, changed.name) {
    for (const View& view : views) reads_[Readable(db, view.name)] = reads_of(view, db);
    reads_[changed_] = reads_of(changed, db);
  }

  void check() {
    below(changed_);
    const int depth = height(changed_) + above(changed_) - 1;
    if (depth > query::view_depth_max) refuse_depth();
  }

 private:
  // Returns nullopt if it is no view.
  const std::optional<Names>& reads(const Readable& from) {
    if (const auto known = reads_.find(from); known != reads_.end()) return known->second;
    op_.check_interrupt();
    std::optional<Names> found;
    if (from.db != changed_.db) {
      if (const auto view = query::find_view(op_, from.db + "." + from.name)) found = reads_of(*view, from.db);
    }
    return reads_.emplace(from, std::move(found)).first->second;
  }

  std::string shown(const Readable& one) const { return one.db == changed_.db ? one.name : one.db + "." + one.name; }

  [[noreturn]] static void refuse_depth() {
    throw OperationError(ErrorCode::view_depth_limit_exceeded,
                         "View depth limit exceeded; maximum depth is " + std::to_string(query::view_depth_max));
  }

  // Looks for a way back to the changed view; `way_` leads to `from`. No read goes deeper than the limit.
  void below(const Readable& from) {
    if (!way_.empty() && from == changed_) {
      std::string text = "View cycle detected: ";
      for (const Readable* one : way_) text += shown(*one) + " => ";
      throw OperationError(ErrorCode::graph_contains_cycle, text + shown(from));
    }
    if (!way_.empty() && !seen_.insert(from).second) return;
    const auto& next = reads(from);
    if (!next) return;
    if (way_.size() > way_max) refuse_depth();
    way_.push_back(&from);
    for (const Readable& one : *next) below(one);
    way_.pop_back();
  }

  // Returns how many views stand on one another, from this one down; there is no cycle.
  int height(const Readable& from) {
    const auto& next = reads(from);
    if (!next) return 0;
    if (const auto known = heights_.find(from); known != heights_.end()) return known->second;
    heights_[from] = 1;  // cycles among other views end here
    int highest = 0;
    for (const Readable& one : *next) highest = std::max(highest, height(one));
    return heights_[from] = highest + 1;
  }

  // Returns the same from this one up, among the views that are known.
  int above(const Readable& from) {
    if (const auto known = above_.find(from); known != above_.end()) return known->second;
    above_[from] = 1;
    int highest = 0;
    for (const auto& [reader, next] : reads_) {
      if (next && next->contains(from)) highest = std::max(highest, above(reader));
    }
    return above_[from] = highest + 1;
  }

  // The search goes deeper than views may be, so that a cycle is reported as a cycle and not as too deep.
  static constexpr size_t way_max = 1000;

  OperationContext& op_;
  const Readable changed_;
  std::vector<const Readable*> way_;
  std::map<Readable, std::optional<Names>> reads_;
  std::set<Readable> seen_;
  std::map<Readable, int> heights_, above_;
};

}  // namespace

Readable::Readable(std::string_view of_database, std::string_view named) : db(versions::usual_name(of_database)), name(named) {}

std::set<Readable> reads_of(const View& view, std::string_view db) {
  Names names;
  names.emplace(db, view.on);
  add_reads(view.pipeline, db, names);
  return names;
}

void check_view_graph(OperationContext& op, const std::string& db, const std::vector<View>& views, const View& changed) {
  Graph(op, db, views, changed).check();
}

}  // namespace server::write
