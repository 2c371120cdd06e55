// The upper waist: what a query reads and a write changes. Records plus the
// indexes over them, opened from the catalog by name.
#pragma once

#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "bson/document.h"
#include "dedup/content.h"
#include "storage/contents/record_store.h"
#include "storage/indexes/index.h"

namespace storage {

// How a collection's contents are deduplicated: the sub-document `dedup` of its options.
struct CollectionDedup {
  bool enabled = true;
  std::string profile;  // empty: the server's
  std::string key;      // the field that all versions of one thing have in common; empty: found by likeness alone
};
CollectionDedup read_dedup_options(bson::DocumentView options);

// The versions of what this document is a version of: documents with equal values in the key, across number types, belong
// together. dedup::no_lineage where there is no key or no value.
dedup::Lineage lineage_of(const CollectionDedup& options, bson::DocumentView document);

struct CollectionOptions {
  bson::Document document;  // as create gave them and listCollections shows them
  CollectionDedup dedup;    // read out of it
  bool capped = false;
  int64_t capped_bytes = 0;
  int64_t capped_records = 0;  // 0: no limit by count
};

struct Stored {
  RecordId id = 0;
  Stamp generation = 0;
  std::vector<bson::Document> pushed_out;  // capped: {_id} of those that went to make room, oldest first
};

struct Updated {
  RecordId record = 0;  // where the document is now: another record where somebody else goes on showing the old one
  Stamp generation = 0;
  Superseded before;  // for who refers to the old content by name
};

// Where a scan over records stands; forgets its transaction between batches.
class CollectionScan {
 public:
  virtual ~CollectionScan() = default;
  virtual bool next() = 0;
  virtual RecordId record() const = 0;
  virtual bson::DocumentView document() = 0;  // valid until the scan moves or is saved
  virtual void save() = 0;
  virtual void restore(Transaction& transaction) = 0;
  // On a fresh scan: begins at `id`, or behind it in the scan's direction. For readers that know where
  // they want to start; in the oplog a record's id is its stamp.
  virtual void seek(RecordId id) = 0;
  // What reading the documents took since the scan began or was restored.
  virtual ReadInfo read_info() const { return {}; }
};

// Thread-safe. Held by shared_ptr: one that was dropped stays usable until its
// last holder lets go, `dropped()` tells.
class Collection {
 public:
  virtual ~Collection() = default;

  virtual CollectionId id() const = 0;
  virtual std::string ns() const = 0;          // "shop.orders"; changes with a rename
  virtual std::string uuid_bytes() const = 0;  // 16 bytes
  virtual const CollectionOptions& options() const = 0;
  virtual bool dropped() const = 0;
  // Anything but a user's own writes changes it: the oplog.
  virtual bool read_only() const = 0;
  // As who is refused reads it: "a snapshot is read-only"; empty: there is nothing to say, or it isn't.
  virtual std::string_view read_only_because() const { return {}; }

  // Schema lock: every operation holds it shared while its transaction is
  // open; createIndexes, drop and rename take it exclusively.
  virtual std::shared_mutex& schema_mutex() = 0;

  // A snapshot of the list; _id first. Includes indexes that are still being built.
  virtual std::vector<std::shared_ptr<const Index>> indexes() const = 0;
  virtual std::shared_ptr<const Index> index(std::string_view name) const = 0;

  // The document has its _id (the write path adds it first). Throws
  // DuplicateKey (11000, MongoDB's message with index and key), 171 for parallel arrays …
  // After any error but WriteConflict what the call had begun is taken back, and the transaction can go on.
  // An insert that is made again (Transaction::set_next_stamp) pushes nothing out: the log says what went.
  virtual Stored insert(Transaction& transaction, bson::DocumentView document) = 0;
  virtual Updated update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) = 0;
  virtual Superseded remove(Transaction& transaction, RecordId id, bson::DocumentView before) = 0;

  virtual std::optional<bson::Document> find(Transaction& transaction, RecordId id, ReadInfo* info = nullptr) = 0;
  // The record that a document is now which was found as `id` before; nullopt: it is gone. The same, but where `moves()`.
  virtual std::optional<RecordId> current(Transaction&, RecordId id) { return id; }
  // Several views share the records, and a document that changes may become another record: who reads on in a later
  // transaction would miss documents, or meet them twice. Readers keep one transaction to their end.
  virtual bool moves() const { return false; }
  // By _id, through its index: the express path.
  virtual std::optional<RecordId> find_id(Transaction& transaction, const bson::ValueView& id) = 0;
  // What the write with this stamp made of a document, while a record has it: whichever view shows it, or none.
  virtual std::optional<Bytes> find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) {
    const auto record = find_id(transaction, id);
    return record ? records().find(transaction, *record, generation) : std::nullopt;
  }

  virtual std::unique_ptr<CollectionScan> scan(Transaction& transaction, Direction direction) = 0;
  virtual std::unique_ptr<IndexCursor> scan(Transaction& transaction, const Index& index, Direction direction) = 0;

  // The records themselves: for the dedup service and validate.
  virtual RecordStore& records() = 0;
  // What a view is a view of; nullptr where it stands for itself.
  virtual std::shared_ptr<Collection> home() const { return nullptr; }

  virtual int64_t record_count() const = 0;  // without a scan, as count({}) gives it
  virtual int64_t logical_bytes() const = 0;
  // The same of everything that is stored, whoever shows it.
  virtual int64_t stored_records() const { return record_count(); }
  virtual int64_t stored_bytes() const { return logical_bytes(); }
};

// What validate found. `errors` and `warnings` name record and index.
struct ValidateReport {
  bool valid = true;
  int64_t records = 0;
  int64_t records_said = 0;  // by the count that is kept
  int64_t invalid_documents = 0;
  int64_t corrupt_records = 0;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  struct IndexReport {
    std::string name;
    int64_t keys = 0;
    bool valid = true;
  };
  std::vector<IndexReport> indexes;
  struct IndexEntry {
    std::string index;
    RecordId record = 0;
    Bytes key;  // the key string
    // Empty for an extra entry: there is no document to take them from.
    bson::Document id;      // {_id: …}
    bson::Document values;  // under the index's field names
  };
  std::vector<IndexEntry> missing_entries, extra_entries;  // the first hundred of each
};

}  // namespace storage
