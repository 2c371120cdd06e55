#include "replication/committer.h"

#include "base/clock.h"
#include "bson/builder.h"
#include "bson/diff.h"

namespace replication {
namespace {

// A diff that is no such saving is not worth having two ways to read a change.
constexpr size_t diff_share_max = 2;

// What belongs to this node alone has no history.
bool logged(std::string_view ns) { return ns.substr(0, ns.find('.')) != "local"; }

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

LocalCommitter::LocalCommitter(storage::Engine& engine, Oplog& oplog) : engine_(engine), oplog_(oplog) {
  engine_.catalog().set_schema_sink(this);
}

LocalCommitter::~LocalCommitter() { engine_.catalog().set_schema_sink(nullptr); }

void LocalCommitter::when_durable(std::function<void()> done) { engine_.when_durable(std::move(done)); }

namespace {

// The document stands in its collection: the entry names it. A capped collection's documents go without
// being asked for, so there the entry has it whole.
void append_document(Oplog& oplog, storage::Transaction& transaction, storage::Collection& collection, const std::string& ns, char op,
                     storage::RecordId record, storage::Stamp stamp, bson::DocumentView document) {
  const Bytes uuid = collection.uuid_bytes();
  Entry entry{.form = collection.options().capped ? Entry::Form::whole : Entry::Form::named,
              .op = op,
              .wall_ms = base::system_clock().wall_ms(),
              .uuid = uuid,
              .ns = ns,
              .collection = collection.id(),
              .record = record,
              .content_bytes = document.size(),
              .o = document,
              .o2 = std::nullopt};
  oplog.append(transaction, stamp, entry);
}

}  // namespace

storage::Stored LocalCommitter::insert(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document) {
  const storage::Stored stored = collection.insert(transaction, document);
  const std::string ns = collection.ns();
  if (logged(ns)) append_document(oplog_, transaction, collection, ns, 'i', stored.id, stored.generation, document);
  return stored;
}

storage::Stamp LocalCommitter::update(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                                      bson::DocumentView before, bson::DocumentView after, UpdateForm form) {
  const auto diff = form == UpdateForm::smallest ? small_diff(before, after) : std::nullopt;
  const storage::Updated updated = collection.update(transaction, record, before, after);
  const std::string ns = collection.ns();
  if (!logged(ns)) return updated.generation;
  oplog_.keep_content(transaction, updated.before);
  if (!diff) {
    append_document(oplog_, transaction, collection, ns, 'u', record, updated.generation, after);
    return updated.generation;
  }
  const Bytes uuid = collection.uuid_bytes();
  const bson::Document id = id_of(after);
  Entry entry;
  entry.op = 'u';
  entry.wall_ms = base::system_clock().wall_ms();
  entry.uuid = uuid;
  entry.ns = ns;
  entry.o = diff->view();
  entry.o2 = id.view();
  oplog_.append(transaction, updated.generation, entry);
  return updated.generation;
}

void LocalCommitter::remove(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                            bson::DocumentView before) {
  const std::string ns = collection.ns();
  const bson::Document id = id_of(before);  // `before` may be a view that the removal ends
  const storage::Superseded superseded = collection.remove(transaction, record, before);
  if (!logged(ns)) return;
  oplog_.keep_content(transaction, superseded);
  const Bytes uuid = collection.uuid_bytes();
  Entry entry;
  entry.op = 'd';
  entry.wall_ms = base::system_clock().wall_ms();
  entry.uuid = uuid;
  entry.ns = ns;
  entry.o = id.view();
  oplog_.append(transaction, transaction.next_stamp(), entry);
}

void LocalCommitter::command(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) {
  if (!logged(db)) return;
  const std::string ns = std::string(db) + ".$cmd";
  Entry entry;
  entry.op = 'c';
  entry.wall_ms = base::system_clock().wall_ms();
  entry.uuid = uuid;
  entry.ns = ns;
  entry.o = command;
  oplog_.append(transaction, transaction.next_stamp(), entry);
}

void LocalCommitter::schema_changed(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView document) {
  command(transaction, db, uuid, document);
}

}  // namespace replication
