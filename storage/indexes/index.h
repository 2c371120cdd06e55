// An index: key strings of some fields, in order, each leading to a record.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "storage/engine/table.h"

namespace storage {

// Decides whether a document belongs into a partial index. Declared here,
// implemented by the query language above.
class DocumentPredicate {
 public:
  virtual ~DocumentPredicate() = default;
  virtual bool matches(bson::DocumentView document) const = 0;
};
// Compiles a partialFilterExpression; throws OperationError for what it refuses.
using PredicateCompiler = std::function<std::shared_ptr<const DocumentPredicate>(bson::DocumentView expression)>;

struct IndexField {
  std::string path;
  bool descending = false;
};

// As createIndexes gave it, checked and with its defaults.
struct IndexSpec {
  std::string name;
  bson::Document key;  // {a: 1, "b.c": -1}
  std::vector<IndexField> fields;
  bool unique = false;
  bool sparse = false;
  bool hidden = false;
  std::optional<int64_t> expire_after_seconds;
  bson::Document partial_filter;  // empty: none
  bson::Document document;        // the whole specification, as listIndexes shows it
};

// Parses and checks a specification in createIndexes' form ({key, name, …}).
// Throws what MongoDB answers for a bad one (CannotCreateIndex, 67; BadValue …).
IndexSpec parse_index_spec(bson::DocumentView spec);

// One end of a range over key strings, `inclusive` in the sense of values.
struct KeyBound {
  Bytes key;  // empty: the end of the index
};

// A range of key strings: from <= key < to, bytes compared. Built by the planner with
// bson::KeyString's append_before / append_after; an empty `to` is the end.
struct KeyRange {
  Bytes from;
  Bytes to;
};

struct IndexStats {
  int64_t bytes = 0;  // of its file
  int64_t accesses = 0;
  int64_t since_ms = 0;
};

class Index {
 public:
  virtual ~Index() = default;
  const IndexSpec& spec() const { return spec_; }
  const Table& table() const { return table_; }
  // Some document has, or had, an array under field `i`: ranges on that field can't be intersected.
  virtual bool multikey() const = 0;
  virtual bool multikey_field(size_t i) const = 0;
  virtual bool is_id() const = 0;
  virtual bool ready() const = 0;  // built; the planner uses no other
  virtual IndexStats stats() const = 0;
  virtual void count_access() const = 0;
  virtual const DocumentPredicate* partial_predicate() const = 0;

 protected:
  IndexSpec spec_;
  Table table_;
};

// Walks entries in key order. The same record may come up more than once under a
// multikey index; the caller removes doubles.
class IndexCursor {
 public:
  virtual ~IndexCursor() = default;
  // Stands before the first entry of `range` in the cursor's direction.
  virtual void seek(const KeyRange& range) = 0;
  virtual bool next() = 0;  // false at the end of the range
  virtual RecordId record() const = 0;
  virtual BytesView key() const = 0;  // key string, without the record id
  // How a scan goes on in a later transaction: remembers the place, lets the
  // transaction go; `restore` stands behind the remembered entry.
  virtual void save() = 0;
  virtual void restore(Transaction& transaction) = 0;
};

}  // namespace storage
