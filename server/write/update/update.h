// An Update is a parsed update: it computes a document from the former one.
//
//   {$set: {a: 1}, $inc: {"b.$[i]": 2}}     modifiers, folded into one tree (node.h)
//   {a: 1, b: 2}                            a replacement; _id stays
//   [{$set: {a: "$b"}}]                     a pipeline
//
//   auto update = Update::parse(statement["u"], {.array_filters = …}, compile);
//   Application application{.document = before, …};
//   if (auto after = update->apply(application)) write(*after);
#pragma once

#include <memory>
#include <optional>

#include "bson/collator.h"
#include "bson/document.h"
#include "server/write/update/modifier.h"

namespace server {
class OperationContext;
}

namespace server::write {

class ObjectNode;
class PipelineUpdate;

struct UpdateOptions {
  bson::DocumentView array_filters;  // the array's elements; empty if there are none
  bool has_array_filters = false;
  bool multi = false;
  bson::DocumentView constants;  // the statement's `c`
  bool has_constants = false;
  bson::DocumentView let;
  bson::CollatorPtr collator;          // operators compare strings by it; nullptr: as bytes
  bool keep_empty_timestamps = false;  // in a replacement's top-level fields, which mean "now" otherwise
  OperationContext* op = nullptr;      // the operation in which pipelines run
};

// An update is read-only after parsing, and borrows nothing but the operation.
class Update {
 public:
  enum class Kind { modifiers, replacement, pipeline };

  // Throws OperationError in MongoDB's words.
  static std::unique_ptr<Update> parse(const bson::ValueView& specification, const UpdateOptions& options,
                                       const PredicateCompiler& compile);
  ~Update();

  Kind kind() const { return kind_; }
  // True if `$` is in some path: then the match must find the position.
  bool needs_position() const { return needs_position_; }

  // Returns the changed document, _id first; nullopt: nothing changes. `application` has the former document. Throws
  // ImmutableField (66), PathNotViable (28) …, 17419 for a document that grew too large, ExceededMemoryLimit (146).
  std::optional<bson::Document> apply(Application& application) const;

  // Returns the document that an upsert inserts when nothing matched: the values that the query demands, with the update applied,
  // and a new _id if there is none.
  bson::Document make_upsert(const std::vector<std::pair<std::string, bson::Value>>& equalities, Application& application) const;

 private:
  explicit Update(Kind kind);
  void parse_modifiers(bson::DocumentView specification, const PredicateCompiler& compile);
  void add_paths(const bson::Element& operation, const PredicateCompiler& compile);
  void add_rename(const bson::Element& argument);
  void check_filters_used(bson::DocumentView specification) const;
  void note_path(const struct UpdatePath& path);
  bson::Document replaced(bson::DocumentView before, bson::Timestamp now) const;
  bson::Document run(Application& application) const;

  Kind kind_;
  bson::CollatorPtr collator_;  // the modifiers borrow it
  std::unique_ptr<ObjectNode> tree_;
  ArrayFilters array_filters_;
  std::map<std::string, bool, std::less<>> filter_used_;
  bson::Document replacement_;
  bool keep_empty_timestamps_ = false;
  std::unique_ptr<PipelineUpdate> pipeline_;
  bool needs_position_ = false;
};

}  // namespace server::write
