// An update's tree is the paths of all its modifiers folded together.
//
//   {$set: {"a.b": 1, "a.c": 2}, $inc: {"n.$[].x": 1}}
//
//     object ─┬─ a ── object ─┬─ b ── leaf $set 1
//             │               └─ c ── leaf $set 2
//             └─ n ── array ──── every ── object ── x ── leaf $inc 1
//
// Applying it is one walk down both trees, the update's and the document's. A
// level is written anew only if something below it changed, so an update without
// effect costs no copy, and added fields come in the order of their names. A
// walk that has made more than fits in a document ends at once.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "server/write/update/modifier.h"
#include "server/write/update/update_path.h"

namespace server::write {

inline constexpr int32_t update_too_large = 17419, upsert_too_large = 17420;
// Throws the one that it is about.
[[noreturn]] void refuse_too_large(bool inserting);

class Node {
 public:
  enum class Kind { object, array, leaf };
  explicit Node(Kind kind) : kind_(kind) {}
  virtual ~Node() = default;
  Kind kind() const { return kind_; }

  // Returns what becomes of the value at application.path.
  virtual Change apply(const bson::ValueView& current, Application& application) const = 0;
  // `name` can't be made in `blocker`: throws PathNotViable unless every modifier below tolerates that.
  virtual void blocked(std::string_view name, const bson::ValueView& blocker, const Application& application) const = 0;

 private:
  Kind kind_;
};

using NodePointer = std::shared_ptr<const Node>;

class Leaf : public Node {
 public:
  explicit Leaf(std::shared_ptr<const Modifier> modifier) : Node(Kind::leaf), modifier_(std::move(modifier)) {}
  Change apply(const bson::ValueView& current, Application& application) const override;
  void blocked(std::string_view name, const bson::ValueView& blocker, const Application& application) const override;

 private:
  bool acts(const Application& application) const { return application.inserting || !modifier_->only_on_insert(); }
  std::shared_ptr<const Modifier> modifier_;
};

// Its children are fields of an object or, by number, elements of an array; and `$`.
class ObjectNode : public Node {
 public:
  ObjectNode() : Node(Kind::object) {}
  Change apply(const bson::ValueView& current, Application& application) const override;
  void blocked(std::string_view name, const bson::ValueView& blocker, const Application& application) const override;

  using Children = std::map<std::string, NodePointer, FieldNameLess>;
  Children children;
  NodePointer positional;

 private:
  Children resolved(const Application& application) const;
};

// Its children are elements of an array, chosen by filters: "" for `$[]`.
class ArrayNode : public Node {
 public:
  ArrayNode() : Node(Kind::array) {}
  Change apply(const bson::ValueView& current, Application& application) const override;
  void blocked(std::string_view name, const bson::ValueView& blocker, const Application& application) const override;

  std::map<std::string, NodePointer> children;
};

// Adds a modifier to the tree. Throws ConflictingUpdateOperators (40) if another one works on the same path, above or below it.
void add_modifier(ObjectNode& root, const UpdatePath& path, std::shared_ptr<const Modifier> modifier);

}  // namespace server::write
