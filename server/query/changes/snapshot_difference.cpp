#include "server/query/changes/snapshot_difference.h"

#include <map>

#include "base/clock.h"
#include "base/error.h"
#include "bson/compare.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/cursor_registry.h"
#include "storage/collections/catalog.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "versions/database/refs.h"

namespace server::query {

namespace {

constexpr uint8_t uuid_subtype = 4;

bool is_system(std::string_view collection) {
  return collection.starts_with("system.");
}

}  // namespace

SnapshotDifference::SnapshotDifference(OperationContext& op, std::string db, const std::string& collection, uint64_t snapshot,
                                       const EventOptions& options)
    : db_(std::move(db)), options_(options), wall_ms_(op.services().clock.wall_ms()) {
  storage::Store& store = *op.services().store;
  const auto present = op.services().cursors->snapshots.newest(store, wall_ms_);
  moment_ = present->stamp;
  const std::string then = versions::name_in_snapshot(db_, snapshot);
  std::map<std::string, Sides> sides;
  const auto add = [&](const std::string& in, std::shared_ptr<storage::Collection> Sides::*side) {
    for (const auto& one : store.catalog().found(in)) {
      const std::string name(storage::collection_of(one->ns()));
      if ((!collection.empty() && name != collection) || (is_system(name) && !options_.system)) continue;
      sides[name].name = name;
      sides[name].*side = store.catalog().open(in + "." + name);
    }
  };
  add(db_, &Sides::now);
  try {
    add(then, &Sides::then);
  } catch (const base::OperationError& error) {
    if (error.code() != base::ErrorCode::namespace_not_found) throw;  // the branch wasn't there then
  }
  for (auto& [name, one] : sides) collections_.push_back(std::move(one));
  transaction_ = std::make_unique<storage::Transaction>(store, *present);
}

// Goes on with the next scan: of a collection now, then of the same as the snapshot shows it.
bool SnapshotDifference::open_next() {
  while (at_ < collections_.size()) {
    const Sides& sides = collections_[at_];
    const auto& scanned = removed_ ? sides.then : sides.now;
    if (!scanned) {
      scan_.reset();
    } else if (!scan_) {
      scan_ = scanned->scan(*transaction_, storage::Direction::forward);
      return true;
    } else {
      scan_.reset();
    }
    at_ += removed_ ? 1 : 0;
    removed_ = !removed_;
  }
  return false;
}

std::optional<bson::Document> SnapshotDifference::find(storage::Collection* in, const bson::ValueView& id) {
  if (!in) return std::nullopt;
  const auto record = in->find_id(*transaction_, id);
  auto document = record ? in->find(*transaction_, *record) : std::nullopt;
  // A collation may take two _ids for one; they are two documents all the same.
  return document && bson::equal(document->view()["_id"], id) ? std::move(document) : std::nullopt;
}

ChangeEvent SnapshotDifference::event(std::string_view type, bson::DocumentView document) {
  const Sides& sides = collections_[at_];
  ChangeEvent out;
  out.token.time = moment_;
  out.token.kind = ResumeToken::Kind::difference;
  out.token.index = events_++;
  out.token.collection = (sides.now ? sides.now : sides.then)->uuid_bytes();
  bson::Builder builder;
  builder.append("_id", out.token.document()).append("operationType", type);
  builder.append("clusterTime", replication::timestamp_of(moment_));
  if (options_.expanded) builder.append("collectionUUID", bson::Binary{uuid_subtype, out.token.collection});
  builder.append("wallTime", bson::Date{wall_ms_});
  if (type != "delete") builder.append("fullDocument", document);
  {
    bson::Builder place = builder.object("ns");
    place.append("db", db_).append("coll", sides.name);
  }
  {
    bson::Builder key = builder.object("documentKey");
    key.append_element(document["_id"]);
  }
  out.document = std::make_shared<const bson::Document>(builder.done());
  return out;
}

std::optional<ChangeEvent> SnapshotDifference::next(OperationContext& op) {
  if (!scan_ && !open_next()) return std::nullopt;
  for (;;) {
    op.check_interrupt();
    while (!scan_->next()) {
      if (!open_next()) return std::nullopt;
    }
    const Sides& sides = collections_[at_];
    const bson::DocumentView document = scan_->document();
    const auto other = find((removed_ ? sides.now : sides.then).get(), document["_id"]);
    if (removed_) {
      if (!other) return event("delete", document);
    } else if (!other) {
      return event("insert", document);
    } else if (other->view().bytes() != document.bytes()) {
      return event("replace", document);
    }
  }
}

}  // namespace server::query
