#include "replication/committer.h"

#include <algorithm>

#include "bson/builder.h"
#include "bson/diff.h"
#include "replication/performer.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace replication {
namespace {

// A larger diff goes as its outline beside the content, which may travel as a delta, and of which the log keeps no second copy
// while the record has it. Where the outline would hardly be smaller, the diff itself is simpler to read.
constexpr size_t diff_share_max = 2, diff_bytes_simple = 64;

bson::Document id_of(bson::DocumentView document) {
  bson::Builder out;
  out.append("_id", static_cast<bson::ValueView>(document.find("_id")));
  return out.done();
}

// A description says what an update by operators did, by a diff or by an outline; it has neither if no diff can say it.
struct Description {
  std::optional<bson::Document> diff;  // {$v: 2, diff: {…}}
  std::optional<bson::Document> outline;
};

Description describe(bson::DocumentView before, bson::DocumentView after, const UpdateForm& form) {
  const auto diff = bson::diff::compute(before, after, form.whole ? &*form.whole : nullptr);
  if (!diff) return {};
  bson::Document outline;
  if (diff->size() > after.size() / diff_share_max) {
    outline = bson::diff::outline(*diff);
    if (diff->size() > outline.size() + diff_bytes_simple) return {std::nullopt, std::move(outline)};
  }
  bson::Builder out;
  out.append("$v", 2).append("diff", *diff);
  return {out.done(), std::nullopt};
}

// Makes `entry` an update; what it gets views of lives in `description` and `id`.
void fill_in_update(Entry& entry, const Description& description, const bson::Document& id, bson::DocumentView after) {
  entry.o = description.diff ? description.diff->view() : after;
  if (description.diff) entry.o2 = id.view();
  if (description.outline) entry.outline = description.outline->view();
}

}  // namespace

bool has_history(std::string_view ns) {
  return !storage::is_own(ns);
}

LocalCommitter::LocalCommitter(storage::Store& store, Oplog& oplog, base::Clock& clock)
    : store_(store), oplog_(oplog), clock_(clock) {
  store_.catalog().set_schema_sink(this);
}

LocalCommitter::~LocalCommitter() {
  store_.catalog().set_schema_sink(nullptr);
}

void LocalCommitter::when_durable(std::function<void()> done) {
  store_.engine().when_durable(std::move(done));
}

Entry LocalCommitter::entry_of(char op, std::string_view ns, BytesView uuid, const SessionWrite* session) const {
  Entry entry;
  entry.op = op;
  entry.wall_ms = clock_.wall_ms();
  entry.uuid = uuid;
  entry.ns = ns;
  if (term_) entry.term = term_();
  if (session) {
    entry.in_transaction = session->part != SessionWrite::Part::statement;
    if (session->part != SessionWrite::Part::transaction) entry.session = *session;
  }
  return entry;
}

storage::Stored LocalCommitter::insert(storage::Transaction& transaction, storage::Collection& collection,
                                       bson::DocumentView document, const SessionWrite* session) {
  const std::string ns = collection.ns();
  if (!has_history(ns)) return {collection.insert(transaction, document).id, 0, {}};
  const Bytes uuid = collection.uuid_bytes();
  Entry entry = entry_of('i', ns, uuid, session);  // refused before anything is changed
  entry.o = document;
  return Performer(oplog_, transaction).insert(collection, entry);
}

storage::Stamp LocalCommitter::update(storage::Transaction& transaction, storage::Collection& collection,
                                      storage::RecordId record, bson::DocumentView before, bson::DocumentView after,
                                      const UpdateForm& form, const SessionWrite* session) {
  const std::string ns = collection.ns();
  if (!has_history(ns)) {
    collection.update(transaction, record, before, after);
    return 0;
  }
  const Bytes uuid = collection.uuid_bytes();
  Entry entry = entry_of('u', ns, uuid, session);
  const Description description = form.is_replacement ? Description() : describe(before, after, form);
  const bson::Document id = description.diff ? id_of(after) : bson::Document();
  fill_in_update(entry, description, id, after);
  return Performer(oplog_, transaction).update(collection, record, before, after, entry);
}

storage::Stamp LocalCommitter::remove(storage::Transaction& transaction, storage::Collection& collection,
                                      storage::RecordId record, bson::DocumentView before, const SessionWrite* session) {
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

void LocalCommitter::schema_changed(storage::Transaction& transaction, std::string_view db, BytesView uuid,
                                    bson::DocumentView command, bson::DocumentView before) {
  if (const storage::ReplayedChange* replayed = transaction.replayed()) return replayed->append(transaction, db, uuid, command);
  if (!has_history(db)) return;
  // Readers of the log, other members among them, take no larger ones.
  if (std::max(command.size(), before.size()) > entry_document_bytes_max)
    throw base::OperationError(base::ErrorCode::bson_object_too_large, "the change is too large for an entry of the log");
  if (schema_watch_) transaction.after_commit(schema_watch_(db, command));
  const std::string ns = std::string(db) + ".$cmd";
  Entry entry = entry_of('c', ns, uuid, nullptr);
  entry.o = command;
  if (!before.empty()) entry.o2 = before;
  Performer(oplog_, transaction).append(entry);
}

void LocalCommitter::branches_changed(storage::Transaction& transaction, std::string_view db, bson::DocumentView command) {
  schema_changed(transaction, db, {}, command, {});
}

// The entry has its content: what changed the document made the record too, and it may be older than the entry.
storage::Stamp LocalCommitter::document_changed(storage::Transaction& transaction, std::string_view ns, BytesView uuid,
                                                const bson::DocumentView* before, const bson::DocumentView* after) {
  Entry entry = entry_of(!after ? 'd' : before ? 'u' : 'i', ns, uuid, nullptr);
  if (before && after) {
    const Description description = describe(*before, *after, UpdateForm::smallest);
    const bson::Document id = id_of(*after);
    fill_in_update(entry, description, id, *after);
    return Performer(oplog_, transaction).append(entry);
  }
  const bson::Document id = after ? bson::Document() : id_of(*before);
  entry.o = after ? *after : id.view();
  return Performer(oplog_, transaction).append(entry);
}

// No content is given for after the change: the document that takes the place is another record's, if there is one.
void LocalCommitter::document_replaced(storage::Transaction& transaction, storage::CollectionId collection,
                                       storage::RecordId record, storage::Stamp stamp, bson::DocumentView before) {
  const auto changed = store_.catalog().open(collection);
  if (!changed || !changed->options().pre_images) return;
  oplog_.pre_images().keep(transaction, collection, record, stamp, before, nullptr, true);
}

void LocalCommitter::content_lost(storage::Transaction& transaction, storage::CollectionId collection, storage::RecordId record,
                                  const storage::Superseded& content) {
  oplog_.keep_content(transaction, collection, record, content);
}

}  // namespace replication
