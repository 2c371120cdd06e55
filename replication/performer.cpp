#include "replication/performer.h"

#include "bson/builder.h"

namespace replication {

using storage::Stamp;

namespace {

// `before` may be a view that the change ends. What a change says that it has superseded is no image: it is nothing where another
// branch or a commit goes on showing the record.
bson::Document image_of(const storage::Collection& collection, bson::DocumentView before) {
  return collection.options().pre_images ? bson::Document(before) : bson::Document();
}

}  // namespace

void Performer::write(Entry& entry, Stamp stamp, Stamp given) {
  if (given == 0) entry.behind_first = stamp - transaction_.first_stamp();
  oplog_.append(transaction_, stamp, entry);
}

// The document stands in its collection: the entry names it. A capped collection's documents go without
// being asked for, so there the entry has it whole.
void Performer::write_document(storage::Collection& collection, Entry& entry, storage::RecordId record, Stamp stamp,
                               Stamp given) {
  entry.form = collection.options().capped ? Entry::Form::whole : Entry::Form::named;
  entry.collection = collection.id();
  entry.record = record;
  entry.content_bytes = entry.o.size();
  write(entry, stamp, given);
}

storage::Stored Performer::insert(storage::Collection& collection, Entry entry, Stamp given) {
  transaction_.set_next_stamp(given);
  storage::Stored stored = collection.insert(transaction_, entry.o);
  write_document(collection, entry, stored.id, stored.generation, given);
  for (const storage::PushedOut& pushed_out : stored.pushed_out) {
    bson::Builder id;
    id.append("_id", static_cast<bson::ValueView>(pushed_out.document.view().find("_id")));
    const bson::Document removed = id.done();
    Entry gone;
    gone.op = 'd';
    gone.wall_ms = entry.wall_ms;
    gone.uuid = entry.uuid;
    gone.term = entry.term;
    gone.ns = entry.ns;
    gone.o = removed;
    const Stamp stamp = append(gone);
    if (collection.options().pre_images) {
      oplog_.pre_images().keep(transaction_, collection.id(), pushed_out.record, stamp, pushed_out.document, nullptr, false);
    }
  }
  return stored;
}

Stamp Performer::update(storage::Collection& collection, storage::RecordId record, bson::DocumentView before,
                        bson::DocumentView after, Entry entry, Stamp given) {
  transaction_.set_next_stamp(given);
  const bson::Document image = image_of(collection, before);
  const storage::Updated updated = collection.update(transaction_, record, before, after);
  if (!image.empty()) {
    oplog_.pre_images().keep(transaction_, collection.id(), record, updated.generation, image, &after, updated.record != record);
  }
  oplog_.keep_content(transaction_, collection.id(), record, updated.before);
  if (entry.o2) {
    write(entry, updated.generation, given);
  } else {
    write_document(collection, entry, updated.record, updated.generation, given);
  }
  return updated.generation;
}

Stamp Performer::remove(storage::Collection& collection, storage::RecordId record, bson::DocumentView before, Entry entry,
                        Stamp given) {
  transaction_.set_next_stamp(given);
  const Stamp stamp = transaction_.next_stamp();
  transaction_.set_next_stamp(stamp);  // on a branch it marks what is removed
  const bson::Document image = image_of(collection, before);
  const storage::Superseded superseded = collection.remove(transaction_, record, before);
  transaction_.set_next_stamp(0);
  if (!image.empty()) oplog_.pre_images().keep(transaction_, collection.id(), record, stamp, image, nullptr, false);
  oplog_.keep_content(transaction_, collection.id(), record, superseded);
  write(entry, stamp, given);
  return stamp;
}

Stamp Performer::append(Entry entry, Stamp given) {
  transaction_.set_next_stamp(given);
  const Stamp stamp = transaction_.next_stamp();
  write(entry, stamp, given);
  return stamp;
}

}  // namespace replication
