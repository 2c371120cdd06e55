// Collection is the upper waist: queries read it and writes change it. It has records and the indexes over them; the catalog
// opens it by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/interruptible_mutex.h"
#include "bson/collator.h"
#include "bson/document.h"
#include "dedup/content.h"
#include "storage/contents/record_store.h"
#include "storage/indexes/index.h"

namespace storage {

// CollectionDedup says how a collection's contents are deduplicated; it is the sub-document `dedup` of the collection's
// options.
struct CollectionDedup {
  bool enabled = true;
  std::string profile;  // empty: the server's profile applies
  std::string key;      // the field that all versions of one thing have in common; empty: only likeness finds them
};
CollectionDedup read_dedup_options(bson::DocumentView options);

// Returns the lineage of a document: documents with equal values in the key, across number types, are versions of one thing.
// Returns dedup::no_lineage when there is no key or no value.
dedup::Lineage lineage_of(const CollectionDedup& options, bson::DocumentView document);

struct CollectionOptions {
  bson::Document document;     // as `create` received them and listCollections shows them
  CollectionDedup dedup;       // parsed from `document`, and so are the next two
  bool pre_images = false;     // changeStreamPreAndPostImages: {enabled: true}
  bson::CollatorPtr collator;  // the default of its operations and indexes; nullptr: strings are compared as bytes
  bool capped = false;
  int64_t capped_bytes = 0;
  int64_t capped_records = 0;  // 0: no limit by count
};

// Parses what `options.document` says.
void read_option_document(CollectionOptions& options);

struct PushedOut {
  RecordId record = 0;
  bson::Document document;
};

struct Stored {
  RecordId id = 0;
  Stamp generation = 0;
  std::vector<PushedOut> pushed_out;  // capped: the documents that were removed to make room, oldest first
};

struct Updated {
  // The record that the document is in now: it is another one when another view goes on showing the old record.
  RecordId record = 0;
  Stamp generation = 0;
  Superseded before;  // for callers that refer to the old content by name
};

// CollectionScan steps over records; it keeps its position, but not its transaction, between batches.
class CollectionScan {
 public:
  virtual ~CollectionScan() = default;
  virtual bool next() = 0;
  virtual RecordId record() const = 0;
  virtual bson::DocumentView document() = 0;  // valid until the scan moves or is saved
  virtual void save() = 0;
  virtual void restore(Transaction& transaction) = 0;
  // Makes a fresh scan begin at `id`, or behind it in the scan's direction, for readers that know where they want to start. In
  // the oplog a record's id is its timestamp.
  virtual void seek(RecordId id) = 0;
  // Returns what reading the documents cost since the scan began or was restored.
  virtual ReadInfo read_info() const { return {}; }
};

// Documents are what a collection shows, and the writes to it. Thread-safe.
class Documents {
 public:
  virtual ~Documents() = default;

  // The document has its _id, which the write path adds first. Throws DuplicateKey (11000, MongoDB's message with index and
  // key), 171 for parallel arrays … After any error but WriteConflict the call has undone what it began, and the transaction
  // can go on. An insert that is replayed (Transaction::set_next_stamp) removes no documents to make room, since the log says
  // which went.
  virtual Stored insert(Transaction& transaction, bson::DocumentView document) = 0;
  virtual Updated update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) = 0;
  virtual Superseded remove(Transaction& transaction, RecordId id, bson::DocumentView before) = 0;

  // Returns the record that now holds the document that was found as `id` before; nullopt: the document is gone. The result
  // differs from `id` only when `moves()`.
  virtual std::optional<RecordId> current(Transaction&, RecordId id) { return id; }
  // Returns true when several views share the records, so that a document may get another record when it changes. A reader that
  // went on in a later transaction would miss documents or meet them twice, so readers keep one transaction to their end.
  virtual bool moves() const { return false; }
  // Finds a record by _id, through the _id index: the express path.
  virtual std::optional<RecordId> find_id(Transaction& transaction, const bson::ValueView& id) = 0;
  // Returns the content that the write with this timestamp gave a document, while a record has it, whether or not a view shows
  // it.
  virtual std::optional<Bytes> find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) = 0;

  virtual std::unique_ptr<CollectionScan> scan(Transaction& transaction, Direction direction) = 0;
  virtual std::unique_ptr<IndexCursor> scan(Transaction& transaction, const Index& index, Direction direction) = 0;

  virtual int64_t record_count() const = 0;  // needs no scan; count({}) returns it
  virtual int64_t logical_bytes() const = 0;
};

// Collections are thread-safe. Holders have a shared_ptr: a dropped collection stays usable until its last holder lets go, and
// `dropped()` says that it was dropped.
class Collection : public Documents {
 public:
  virtual CollectionId id() const = 0;
  virtual std::string ns() const = 0;          // "shop.orders"; changes with a rename
  virtual std::string uuid_bytes() const = 0;  // 16 bytes
  virtual const CollectionOptions& options() const = 0;
  virtual bool dropped() const = 0;
  // Returns true when clients can't write to the collection and the server alone changes it, as it does the oplog.
  virtual bool read_only() const = 0;
  // Returns the reason that a refused writer reads: "a snapshot is read-only". The result is empty when there is no special
  // reason or the collection isn't read-only.
  virtual std::string_view read_only_because() const { return {}; }

  // Returns the schema lock. Every operation holds it shared while its transaction is open; createIndexes, drop and rename take
  // it exclusively.
  virtual base::InterruptibleMutex& schema_mutex() = 0;

  // Returns a timestamp from which on the indexes are as they are now. A transaction that can't see everything up to it
  // (Transaction::visible_below) may miss entries in them.
  virtual Stamp indexes_since() const { return 0; }
  // Returns a snapshot of the list, with _id first. It includes indexes that are still being built.
  virtual std::vector<std::shared_ptr<const Index>> indexes() const = 0;
  virtual std::shared_ptr<const Index> index(std::string_view name) const = 0;

  virtual std::optional<bson::Document> find(Transaction& transaction, RecordId id, ReadInfo* info = nullptr) = 0;
  std::optional<Bytes> find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) override {
    const auto record = find_id(transaction, id);
    return record ? records().find(transaction, *record, generation) : std::nullopt;
  }

  // Returns the records themselves, for the dedup service and validate.
  virtual RecordStore& records() = 0;
  // Returns the collection that this one is a view of; nullptr: it is no view.
  virtual std::shared_ptr<Collection> home() const { return nullptr; }

  // Both calls count everything that is stored, whichever view shows it.
  virtual int64_t stored_records() const { return record_count(); }
  virtual int64_t stored_bytes() const { return logical_bytes(); }
};

// ValidateReport is the result of validate. `errors` and `warnings` name the record and the index.
struct ValidateReport {
  bool valid = true;
  int64_t records = 0;
  int64_t records_counted = 0;  // the stored count of records
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
    // These are empty for an extra entry, since there is no document to take them from.
    bson::Document id;      // {_id: …}
    bson::Document values;  // under the index's field names
  };
  std::vector<IndexEntry> missing_entries, extra_entries;  // the first hundred of each
};

}  // namespace storage
