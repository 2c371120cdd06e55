#include "replication/committer.h"

#include "base/clock.h"
#include "bson/builder.h"
#include "bson/diff.h"
#include "bson/json.h"
#include "replication/performer.h"

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

// Of this thread.
thread_local const LocalCommitter::MadeAgain* made_again = nullptr;

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

storage::Stored LocalCommitter::insert(storage::Transaction& transaction, storage::Collection& collection, bson::DocumentView document,
                                       const SessionWrite* session) {
  const std::string ns = collection.ns();
  if (!has_history(ns)) return {collection.insert(transaction, document).id, 0, {}};
  const Bytes uuid = collection.uuid_bytes();
  Entry entry = entry_of('i', ns, uuid, session);  // refused before anything is changed
  entry.o = document;
  return Performer(oplog_, transaction).insert(collection, entry);
}

storage::Stamp LocalCommitter::update(storage::Transaction& transaction, storage::Collection& collection, storage::RecordId record,
                                      bson::DocumentView before, bson::DocumentView after, UpdateForm form, const SessionWrite* session) {
  const std::string ns = collection.ns();
  if (!has_history(ns)) {
    collection.update(transaction, record, before, after);
    return 0;
  }
  const Bytes uuid = collection.uuid_bytes();
  Entry entry = entry_of('u', ns, uuid, session);
  const auto diff = form == UpdateForm::smallest ? small_diff(before, after) : std::nullopt;
  const bson::Document id = diff ? id_of(after) : bson::Document();
  if (diff) {
    entry.o = *diff;
    entry.o2 = id.view();
  } else {
    entry.o = after;
  }
  return Performer(oplog_, transaction).update(collection, record, before, after, entry);
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
  entry.o = id;
  return Performer(oplog_, transaction).remove(collection, record, before, entry);
}

void LocalCommitter::command(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) {
  if (!has_history(db)) return;
  const std::string ns = std::string(db) + ".$cmd";
  Entry entry = entry_of('c', ns, uuid, nullptr);
  entry.o = command;
  Performer(oplog_, transaction).append(entry);
}

void LocalCommitter::schema_changed(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView document) {
  if (made_again) return made_again->write(transaction, db, uuid, document);
  command(transaction, db, uuid, document);
}

LocalCommitter::MadeAgain::MadeAgain(LocalCommitter& committer, const LogRecord& record) : committer_(committer), record_(record) {
  made_again = this;
}
LocalCommitter::MadeAgain::~MadeAgain() { made_again = nullptr; }

// Found by what it says, not by its turn: after a conflict the change is made from its beginning.
void LocalCommitter::MadeAgain::write(storage::Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) const {
  if (!has_history(db)) return;
  const std::string ns = std::string(db) + ".$cmd";
  const Bytes none(16, '\0');
  for (const LogRecord::Item& item : record_.entries) {
    const Entry& entry = item.entry;
    if (entry.op != 'c' || entry.ns != ns || entry.uuid != (uuid.empty() ? BytesView(none) : uuid) || entry.o.bytes() != command.bytes()) continue;
    Performer(committer_.oplog_, transaction).append(entry, item.stamp);
    return;
  }
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "here it comes to another change: " + bson::to_json(command));
}

void LocalCommitter::MadeAgain::require_all() const {
  for (const LogRecord::Item& item : record_.entries) {
    if (committer_.oplog_.row(item.stamp)) continue;
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "here it changes nothing: " + bson::to_json(item.entry.o));
  }
}

}  // namespace replication
