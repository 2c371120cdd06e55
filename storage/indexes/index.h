// An index is an ordered set of key strings, made of some fields; each key string leads to a record.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/collator.h"
#include "bson/document.h"
#include "storage/engine/table.h"

namespace geo {
struct IndexOptions;
}

namespace storage {

// A DocumentPredicate decides whether a document belongs to a partial index. It is declared here and implemented by the query
// language, a layer above.
class DocumentPredicate {
 public:
  virtual ~DocumentPredicate() = default;
  virtual bool matches(bson::DocumentView document) const = 0;
};
// A PredicateCompiler compiles a partialFilterExpression, which compares by the index's collation; it throws OperationError for
// an expression that it refuses.
using PredicateCompiler =
    std::function<std::shared_ptr<const DocumentPredicate>(bson::DocumentView expression, const bson::CollatorPtr& collator)>;

enum class FieldKind : uint8_t {
  ordered,   // the keys have the values
  hashed,    // the keys have hashes of the values (bson/hashed_key.h), and no array lies on the path
  text,      // the keys have terms of the document's texts, then their scores: the two fields _fts and _ftsx (text_index.h)
  sphere,    // the keys have the S2 cells that cover geometries (geo/cells.h)
  flat,      // the keys have the cells of a plane's grid that hold points (geo/cells.h)
  wildcard,  // the keys have the path of a value below this one, then the value (wildcard_index.h)
  opaque,    // part of the keys of a wildcard index, as the planner sees it for one path: no path of documents
};

struct TextIndex;
struct WildcardIndex;

struct IndexField {
  std::string path;
  bool descending = false;
  FieldKind kind = FieldKind::ordered;
  bool hashed() const { return kind == FieldKind::hashed; }
  bool located() const { return kind == FieldKind::sphere || kind == FieldKind::flat; }
};

// An IndexSpec is the specification from createIndexes, checked and completed with its defaults.
struct IndexSpec {
  std::string name;
  bson::Document key;  // {a: 1, "b.c": -1}
  std::vector<IndexField> fields;
  bool unique = false;
  bool sparse = false;
  bool hidden = false;
  std::optional<int64_t> expire_after_seconds;
  bson::Document partial_filter;                  // it is empty if there is none
  bson::CollatorPtr collator;                     // the keys have its sort keys in place of strings; nullptr: the strings
  std::shared_ptr<const TextIndex> text;          // a text index has this
  std::shared_ptr<const geo::IndexOptions> geo;   // a 2dsphere or 2d index has this
  std::shared_ptr<const WildcardIndex> wildcard;  // a wildcard index has this
  bson::Document document;                        // this is the whole specification, as listIndexes shows it
};

// Parses and checks a specification in createIndexes' form ({key, name, …}). Throws the errors that MongoDB reports for a bad one
// (CannotCreateIndex, 67; BadValue …).
IndexSpec parse_index_spec(bson::DocumentView spec);

// Returns the specification with the collation of the collection, if it has none of its own and the collection has one.
bson::Document with_default_collation(bson::DocumentView spec, const bson::Collator* collator);

// A KeyBound is one end of a range of key strings.
struct KeyBound {
  Bytes key;  // an empty key is the end of the index
};

// A KeyRange is a range of key strings, compared as bytes: from <= key < to. The planner builds it with bson::KeyString's
// append_before and append_after; an empty `to` is the end of the index.
struct KeyRange {
  Bytes from;
  Bytes to;
};

// Returns what the keys of a hashed field have for a value. Texts that the collation takes for equal have equal hashes.
int64_t hashed_field(const bson::ValueView& value, const bson::Collator* collator);

struct IndexStats {
  int64_t bytes = 0;  // this is the size of its file
  int64_t accesses = 0;
  int64_t since_ms = 0;
};

class Index {
 public:
  virtual ~Index() = default;
  const IndexSpec& spec() const { return spec_; }
  const Table& table() const { return table_; }
  // A document has, or had, an array under field `i`; then ranges on that field can't be intersected.
  virtual bool multikey() const = 0;
  virtual bool multikey_field(size_t i) const = 0;
  virtual bool is_id() const = 0;
  virtual bool ready() const = 0;  // the index is built; the planner uses no other
  virtual IndexStats stats() const = 0;
  virtual void count_access() const = 0;
  virtual const DocumentPredicate* partial_predicate() const = 0;
  // Returns whether a document has, or had, an array at this path. It is for wildcard indexes.
  virtual bool multikey_path(std::string_view /*path*/) const { return multikey(); }
  // Returns the paths of arrays on the way to field `i`, as explain shows them.
  virtual std::vector<std::string> multikey_paths(size_t i) const {
    return multikey_field(i) ? std::vector{spec_.fields[i].path} : std::vector<std::string>();
  }
  // Returns whether a scan may come to a record more than once.
  virtual bool repeats() const { return multikey(); }
  // The planner has objects that show a wildcard index as one on a single path. This returns the index whose entries they show.
  virtual const Index& stored() const { return *this; }

 protected:
  IndexSpec spec_;
  Table table_;
};

// An IndexCursor walks entries in key order. The same record may come more than once under a multikey index; the caller removes
// the repetitions.
class IndexCursor {
 public:
  virtual ~IndexCursor() = default;
  // Puts the cursor before the first entry of `range` in the cursor's direction.
  virtual void seek(const KeyRange& range) = 0;
  virtual bool next() = 0;  // it returns false at the end of the range
  virtual RecordId record() const = 0;
  virtual BytesView key() const = 0;  // this is the key string without the record id
  // With these a scan goes on in a later transaction: `save` remembers the place and releases the transaction, and `restore` puts
  // the cursor behind the remembered entry.
  virtual void save() = 0;
  virtual void restore(Transaction& transaction) = 0;
};

}  // namespace storage
