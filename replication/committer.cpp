#include "replication/committer.h"

#include "base/clock.h"
#include "bson/builder.h"
#include "bson/diff.h"

namespace replication {
namespace {

// A diff that is no such saving is not worth having two ways to read a change.
constexpr size_t diff_share_max = 2;

bson::Document id_of(bson::DocumentView document) {
  bson::Builder out;
  out.append("_id", static_cast<bson::ValueView>(document.find("_id")));
  return out.done();
}

// {$v: 2, diff: {…}}, or nothing where the whole document serves better.
std::optional<bson::Document> small_diff(bson::DocumentView before, bson::DocumentView after) {
  const auto diff = bson::diff::compute(before, after);
  if (!diff || diff->size() > after.size() / diff_share_max) return std::nullopt;
  bson::Builder out;
  out.append("$v", 2).append("diff", *diff);
  return out.done();
}

}  // namespace

bool has_history(std::string_view ns) { return ns.substr(0, ns.find('.')) != "local"; }

LocalCommitter::LocalCommitter(storage::Engine& engine, Oplog& oplog) : engine_(engine), oplog_(oplog) {
  engine_.catalog().set_schema_sink(this);
}

LocalCommitter::~LocalCommitter() { engine_.catalog().set_schema_sink(nullptr); }

void LocalCommitter::when_durable(std::function<void()> done) { engine_.when_durable(std::move(done)); }

Entry LocalCommitter::entry_of(char op, std::string_view ns, BytesView uuid, const SessionWrite* session) const {
  Entry entry;
  entry.op = op;
  entry.wall_ms = base::system_clock().wall_ms();
  entry.uuid = uuid;
  entry.ns = ns;
  if (term_) entry.term = term_();
  if (session) entry.session = *session;
  return entry;
}

// The document stands in its collection: the entry names it. A capped collection's documents go without
// being asked for, so there the entry has it whole.
void LocalCommitter::append_document(storage::Transaction& transaction, storage::Collection& collection, Entry entry, storage::RecordId record,
                                     storage::Stamp stamp, bson::DocumentView document) {
  entry.form = collection.options().capped ? Entry::Form::whole : Entry::Form::named;
  entry.collection = collection.id();
  entry.record = record;
  entry.content_bytes = document.size();
  entry.o = document;
  oplog_.append(transaction, stamp, entry);
}

storage::Stored LocalCommitter::insert(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document,
                                       const SessionWrite* session) {
  const std::string ns = collection.ns();
  if (!has_history(ns)) return collection.insert(transaction, document);
  const Bytes uuid = collection.uuid_bytes();
  const Entry entry = entry_of('i', ns, uuid, session);  // refused before anything is changed
  const storage::Stored stored = collection.insert(transaction, document);
  append_document(transaction, collection, entry, stored.id, stored.generation, document);
  return stored;
}

storage::Stamp LocalCommitter::update(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                                      bson::DocumentView before, bson::DocumentView after, UpdateForm form, const SessionWrite* session) {
  const std::string ns = collection.ns();
  if (!has_history(ns)) return collection.update(transaction, record, before, after).generation;
  const Bytes uuid = collection.uuid_bytes();
  Entry entry = entry_of('u', ns, uuid, session);
  const auto diff = form == UpdateForm::smallest ? small_diff(before, after) : std::nullopt;
  const storage::Updated updated = collection.update(transaction, record, before, after);
  oplog_.keep_content(transaction, updated.before);
  if (!diff) {
    append_document(transaction, collection, entry, record, updated.generation, after);
    return updated.generation;
  }
  const bson::Document id = id_of(after);
  entry.o = diff->view();
  entry.o2 = id.view();
  oplog_.append(transaction, updated.generation, entry);
  return updated.generation;
}

storage::Stamp LocalCommitter::remove(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                                      bson::DocumentView before, const SessionWrite* session) {
  const std::string ns = collection.ns();
  if (!has_history(ns)) {
    collection.remove(transaction, record, before);
    return 0;
  }
  const Bytes uuid = collection.uuid_bytes();
  Entry entry = entry_of('d', ns, uuid, session);
  const bson::Document id = id_of(before);  // `before` may be a view that the removal ends
  const storage::Superseded superseded = collection.remove(transaction, record, before);
  oplog_.keep_content(transaction, superseded);
  entry.o = id.view();
  const storage::Stamp stamp = transaction.next_stamp();
  oplog_.append(transaction, stamp, entry);
  return stamp;
}

void LocalCommitter::command(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) {
  if (!has_history(db)) return;
  const std::string ns = std::string(db) + ".$cmd";
  Entry entry = entry_of('c', ns, uuid, nullptr);
  entry.o = command;
  oplog_.append(transaction, transaction.next_stamp(), entry);
}

void LocalCommitter::schema_changed(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView document) {
  command(transaction, db, uuid, document);
}

}  // namespace replication
