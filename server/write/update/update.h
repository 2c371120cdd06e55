// An update, parsed: what shall become of a document.
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

#include "bson/document.h"
#include "server/write/update/modifier.h"

namespace server {
class OperationContext;
}

namespace server::write {

class ObjectNode;
class PipelineUpdate;

struct UpdateOptions {
  bson::DocumentView array_filters;  // the array's elements; empty: none
  bool has_array_filters = false;
  bool multi = false;
  bson::DocumentView constants;  // `c`
  bool has_constants = false;
  bson::DocumentView let;
  bool keep_empty_timestamps = false;  // in a replacement's top-level fields, which mean "now" otherwise
  OperationContext* op = nullptr;      // that pipelines run in
};

// Read-only after parsing; borrows nothing but the operation.
class Update {
 public:
  enum class Kind { modifiers, replacement, pipeline };

  // Throws OperationError as MongoDB words it.
  static std::unique_ptr<Update> parse(const bson::ValueView& specification, const UpdateOptions& options,
                                       const PredicateCompiler& compile);
  ~Update();

  Kind kind() const { return kind_; }
  // `$` stands in some path: the match must tell the position.
  bool needs_position() const { return needs_position_; }

  // The document as it shall be, _id first; nullopt: nothing changes. `application` says what stood before.
  // Throws ImmutableField (66), PathNotViable (28) …, 17419 for a document that grew too large.
  std::optional<bson::Document> apply(Application& application) const;

  // The document that an upsert inserts when nothing matched: from what the query demands to be
  // equal, the update on top, an _id made where none is given.
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
  std::unique_ptr<ObjectNode> tree_;
  ArrayFilters array_filters_;
  std::map<std::string, bool, std::less<>> filter_used_;
  bson::Document replacement_;
  bool keep_empty_timestamps_ = false;
  std::unique_ptr<PipelineUpdate> pipeline_;
  bool needs_position_ = false;
};

}  // namespace server::write
