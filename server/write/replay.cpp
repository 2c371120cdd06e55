#include "server/write/replay.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/diff.h"
#include "bson/json.h"
#include "server/core/operation.h"
#include "server/query/views.h"
#include "server/write/batch.h"
#include "server/write/change.h"
#include "server/write/document_writer.h"
#include "server/write/namespaces.h"
#include "server/write/statements.h"
#include "server/write/storable.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/indexes/duplicate_key.h"
#include "storage/store.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr int64_t diff_version = 2;

bson::Document id_filter(bson::DocumentView document) {
  bson::Builder filter;
  filter.append_element(document.find("_id"));
  return filter.done();
}

// A log holds documents that were stored, but it may come from anybody. Empty timestamps stay, because they were stored so.
bson::Document checked(bson::DocumentView document) {
  auto repaired = make_storable(document, std::nullopt);
  return repaired ? std::move(*repaired) : bson::Document(document);
}

Effect put(storage::Transaction& transaction, DocumentWriter& writer, const Match& match, bson::DocumentView after,
           const replication::UpdateForm& form = replication::UpdateForm::smallest) {
  Effect effect;
  effect.modified = after.bytes() != match.document.bytes();
  if (effect.modified) writer.update(transaction, match.record, match.document, after, form);
  return effect;
}

bool replace(OperationContext& op, const LoggedChange& change, const Selection& same) {
  return change_matching(op, change.ns, same, [&](storage::Transaction& transaction, DocumentWriter& writer, const Match& match) {
           return put(transaction, writer, match, change.o, replication::UpdateForm::replacement);
         }).matched > 0;
}

void insert_new(OperationContext& op, const LoggedChange& change) {
  const Target target = Target::open_or_create(op, change.ns);
  DocumentWriter writer(op, target);
  in_transaction(op, [&](storage::Transaction& transaction) { writer.insert(transaction, change.o); });
}

void insert(OperationContext& op, const LoggedChange& change) {
  const bson::Document document = checked(change.o);
  LoggedChange whole = change;
  whole.o = document;
  const bson::Document filter = id_filter(change.o);
  Selection same;
  same.filter = filter;
  for (bool lost_race = false;; lost_race = true) {
    if (replace(op, whole, same)) return;
    try {
      return insert_new(op, whole);
    } catch (const storage::DuplicateKey& error) {
      // Another client inserted this _id first. If it is another unique index, the insert can never succeed.
      if (!error.pattern().view().has("_id") || lost_race) throw;
      op.check_interrupt();
    }
  }
}

void apply_diff(OperationContext& op, const LoggedChange& change, const Selection& same) {
  const bson::DocumentView diff = change.o["diff"].as_document();
  change_matching(op, change.ns, same, [&](storage::Transaction& transaction, DocumentWriter& writer, const Match& match) {
    const bson::Document after = bson::diff::apply(match.document, diff).or_throw();
    if (!bson::equal(match.document["_id"], after["_id"])) {
      throw OperationError(ErrorCode::immutable_field,
                           "After applying the update, the (immutable) field '_id' was found to have been altered");
    }
    return put(transaction, writer, match, checked(after));
  });
}

void update(OperationContext& op, const LoggedChange& change) {
  const bson::Document filter = id_filter(change.o2);
  Selection same;
  same.filter = filter;
  if (change.o["$v"].is_number()) return apply_diff(op, change, same);
  UpdateStatement statement;
  statement.selection = same;
  statement.update = bson::ValueView(bson::Type::object, change.o.bytes());
  statement.upsert = change.upsert;
  statement.keep_empty_timestamps = true;
  run_update(op, change.ns, statement);
}

void need_id(bson::DocumentView document, const char* what) {
  if (document.has("_id")) return;
  throw OperationError(ErrorCode::no_such_key,
                       std::string("Failed to apply ") + what + " due to missing _id: " + bson::to_shell(document));
}

void check_update(const LoggedChange& change) {
  need_id(change.o2, "update");
  check_id(change.o2["_id"]);
  const bson::Element version = change.o["$v"];
  if (!version.exists()) return;
  if (version.is_number() && version.to_int64() == diff_version && change.o["diff"].is_object()) return;
  throw OperationError(ErrorCode::bad_value,
                       "an update of a log is a replacement, modifiers or {$v: 2, diff: {...}}, got " + bson::to_shell(change.o));
}

}  // namespace

void check_replayable(OperationContext& op, const LoggedChange& change) {
  // Clients write no definitions of views, but a log has them.
  const bool defines_view = collection_of(change.ns) == query::views_collection;
  if (!defines_view) check_writable(change.ns);
  if (defines_view && change.op == 'i') query::parse_view(change.o);
  if (change.op == 'i') need_id(change.o, "insert");
  if (change.op == 'd') need_id(change.o, "delete");
  if (change.op == 'u') check_update(change);
  if (store_of(op).catalog().find(change.ns)) return;
  check_writable(op, change.ns);
  if (change.op == 'd') return;
  throw OperationError(ErrorCode::namespace_not_found,
                       "cannot apply insert or update operation on a non-existent namespace " + change.ns);
}

void replay(OperationContext& op, const LoggedChange& change) {
  if (change.op == 'i') return insert(op, change);
  if (change.op == 'u') return update(op, change);
  const bson::Document filter = id_filter(change.o);
  Selection same;
  same.filter = filter;
  run_delete(op, change.ns, same);
}

}  // namespace server::write
