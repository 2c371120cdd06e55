#include "server/write/update/node.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/path.h"
#include "server/write/storable.h"
#include "server/write/update/shell_text.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using bson::ValueView;

namespace {

constexpr size_t backfill_max = 1'500'000;
constexpr int32_t cannot_backfill_array = 34;

// A Step is a level of the path for as long as it lives.
class Step {
 public:
  Step(Application& application, std::string name) : application_(application) { application_.path.push_back(std::move(name)); }
  ~Step() { application_.path.pop_back(); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

 private:
  Application& application_;
};

// The changes that a level of the walk has made below it, until the level is written anew. A path has one modifier, so all of
// them will stand in the document next to each other.
class Pending {
 public:
  explicit Pending(Application& application) : application_(application) {
    if (application.allowance) memory_.emplace(application.allowance->memory());
  }
  ~Pending() { application_.pending_bytes -= bytes_; }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  void add(const Change& change) {
    constexpr size_t entry_bytes = sizeof(Change) + 64;  // of the list of changes, as an estimate
    const size_t bytes = change.kind == Change::Kind::set ? change.value.view().bytes().size() : 0;
    bytes_ += bytes;
    application_.pending_bytes += bytes;
    if (application_.pending_bytes > bson::document_bytes_max) refuse_too_large(application_.inserting);
    if (memory_) memory_->add(bytes + entry_bytes);
  }
  // `change` takes the place of one that was added.
  void replace(const Change& before, const Change& change) {
    if (before.kind == Change::Kind::set) {
      bytes_ -= before.value.view().bytes().size();
      application_.pending_bytes -= before.value.view().bytes().size();
    }
    add(change);
  }

 private:
  Application& application_;
  std::optional<Held> memory_;
  size_t bytes_ = 0;
};

[[noreturn]] void path_must_exist(const std::string& path) {
  throw OperationError(ErrorCode::bad_value,
                       "The path '" + path + "' must exist in the document in order to apply array updates.");
}

// This is the place at which nodes are merged. A path may have megabytes, and an array many elements, so only an error writes it.
struct Where {
  const Application& application;
  const Where* above = nullptr;  // nullptr: the place of the walk
  std::string_view name = {};    // below that
  std::string path() const { return above ? above->path() + "." + std::string(name) : application.dotted(); }
};

NodePointer merge(const NodePointer& a, const NodePointer& b, const Where& where);

template <class Children>
void merge_children(Children& into, const Children& from, const Where& where) {
  for (const auto& [name, child] : from) {
    NodePointer& place = into[name];
    place = place ? merge(place, child, {where.application, &where, name}) : child;
  }
}

// Merges two nodes that turned out to work on the same element of an array.
NodePointer merge(const NodePointer& a, const NodePointer& b, const Where& where) {
  if (a->kind() != b->kind() || a->kind() == Node::Kind::leaf) {
    throw OperationError(ErrorCode::conflicting_update_operators, "Update created a conflict at '" + where.path() + "'");
  }
  if (a->kind() == Node::Kind::array) {
    auto merged = std::make_shared<ArrayNode>(static_cast<const ArrayNode&>(*a));
    merge_children(merged->children, static_cast<const ArrayNode&>(*b).children, where);
    return merged;
  }
  const auto& other = static_cast<const ObjectNode&>(*b);
  auto merged = std::make_shared<ObjectNode>(static_cast<const ObjectNode&>(*a));
  merge_children(merged->children, other.children, where);
  if (other.positional) {
    const Where below{where.application, &where, "$"};
    merged->positional = merged->positional ? merge(merged->positional, other.positional, below) : other.positional;
  }
  return merged;
}

struct NamedChange {
  std::string_view name;
  Change change;
  bool exists;
};

bson::Value rewrite_object(bson::DocumentView before, std::vector<NamedChange>& changes) {
  // They come in the order of their names.
  const auto change_of = [&](std::string_view name) {
    const auto at = std::lower_bound(changes.begin(), changes.end(), name, [](const NamedChange& change, std::string_view other) {
      return FieldNameLess()(change.name, other);
    });
    return at != changes.end() && at->name == name ? at : changes.end();
  };
  bson::Builder out;
  for (const auto& field : before) {
    const auto changed = change_of(field.name);
    if (changed == changes.end() || !changed->exists) {
      out.append_element(field);
      continue;
    }
    if (changed->change.kind == Change::Kind::set) out.append(field.name, changed->change.value);
    changed->exists = false;  // a second field of that name stays
    changed->change.kind = Change::Kind::keep;
  }
  for (const auto& change : changes) {
    if (change.change.kind == Change::Kind::set) out.append(change.name, change.change.value);
  }
  return bson::Value(out.done());
}

bson::Value rewrite_array(bson::DocumentView before, const std::map<size_t, Change>& changes) {
  bson::ArrayBuilder out;
  auto next = changes.begin();
  const auto put = [&](const Change& change) {
    // A removed element leaves null behind, so that the others keep their positions.
    if (change.kind == Change::Kind::set)
      out.append(change.value);
    else
      out.append_null();
  };
  for (const auto& element : before) {
    if (next != changes.end() && next->first == out.count())
      put((next++)->second);
    else
      out.append(static_cast<ValueView>(element));
  }
  for (; next != changes.end(); ++next) {
    while (out.count() < next->first) out.append_null();
    put(next->second);
  }
  return out.done_value();
}

// The fields of a document, for as many look-ups as there are. A few go through the document one by one.
class Fields {
 public:
  Fields(bson::DocumentView document, size_t looked_up) : document_(document), few_(looked_up <= few) {
    if (few_) return;
    for (const bson::Element& field : document) by_name_.try_emplace(field.name, field);  // the first of a name counts
  }

  bson::Element find(std::string_view name) const {
    if (few_) return document_.find(name);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? bson::Element() : found->second;
  }

 private:
  static constexpr size_t few = 16;
  bson::DocumentView document_;
  bool few_;
  std::unordered_map<std::string_view, bson::Element> by_name_;
};

Change apply_to_object(const ObjectNode::Children& children, bson::DocumentView before, Application& application) {
  const Fields fields(before, children.size());
  std::vector<NamedChange> changes;
  Pending pending(application);
  for (const auto& [name, child] : children) {
    application.work();
    const bson::Element current = fields.find(name);
    const Step step(application, name);
    Change change = child->apply(current, application);
    if (!change) continue;
    pending.add(change);
    changes.push_back({name, std::move(change), current.exists()});
  }
  if (changes.empty()) return Change::keep();
  bson::Value after = rewrite_object(before, changes);
  if (application.path.empty()) {
    for (const auto& [name, child] : children) {
      if (name.starts_with("$") && after.view().as_document().has(name)) check_top_level_field(after.view().as_document(), name);
    }
  }
  return Change::set(std::move(after));
}

// The array as the modifiers so far have left it: two names may mean one element, "0" and "00".
class Elements {
 public:
  Elements(bson::DocumentView before, Application& application) : pending_(application) {
    for (const auto& element : before) before_.push_back(element);
    size_ = before_.size();
  }

  // Returns a missing value behind the end.
  ValueView at(size_t index) const {
    if (index >= size_) return {};
    if (const auto changed = changes_.find(index); changed != changes_.end()) {
      return changed->second.kind == Change::Kind::set ? changed->second.value.view() : null;
    }
    return index < before_.size() ? before_[index] : null;
  }

  void put(size_t index, Change change) {
    if (index > size_ && index - size_ > backfill_max) {
      throw OperationError(cannot_backfill_array, "can't backfill more than " + std::to_string(backfill_max) + " elements");
    }
    size_ = std::max(size_, index + 1);
    Change& place = changes_[index];
    pending_.replace(place, change);
    place = std::move(change);
  }

  const std::map<size_t, Change>& changes() const { return changes_; }

 private:
  static constexpr ValueView null{bson::Type::null, {}};

  std::vector<ValueView> before_;
  std::map<size_t, Change> changes_;
  Pending pending_;
  size_t size_ = 0;
};

Change apply_to_array(const ObjectNode::Children& children, const ValueView& current, Application& application) {
  Elements elements(current.as_document(), application);
  for (const auto& [name, child] : children) {
    application.work();
    const auto index = array_index(name);
    if (!index) {
      child->blocked(name, current, application);
      continue;
    }
    const Step step(application, name);
    if (Change change = child->apply(elements.at(*index), application)) elements.put(*index, std::move(change));
  }
  if (elements.changes().empty()) return Change::keep();
  return Change::set(rewrite_array(current.as_document(), elements.changes()));
}

}  // namespace

void refuse_too_large(bool inserting) {
  const std::string bytes_max = std::to_string(bson::document_bytes_max);
  if (inserting) throw OperationError(upsert_too_large, "Document to upsert is larger than " + bytes_max);
  throw OperationError(update_too_large, "Resulting document after update is larger than " + bytes_max);
}

std::string Application::dotted() const {
  std::string text;
  for (const auto& component : path) text.append(text.empty() ? "" : ".").append(component);
  return text;
}

std::string Application::id_text() const {
  const auto id = document.find("_id");
  return id.exists() ? shell_braced("_id", id) : "{no id}";
}

Change Leaf::apply(const ValueView& current, Application& application) const {
  if (!acts(application)) return Change::keep();
  if (!current.exists() && !modifier_->creates(application)) return Change::keep();
  Change change = modifier_->apply(current, application);
  if (change.kind == Change::Kind::set && change.value.view().identical(current)) return Change::keep();
  if (change.kind == Change::Kind::remove && !current.exists()) return Change::keep();
  if (!change) return change;
  if (application.path.front() == "_id" && application.document.has("_id")) {
    throw OperationError(ErrorCode::immutable_field, "Performing an update on the path '" + application.dotted() +
                                                         "' would modify the immutable field '_id'");
  }
  if (change.kind != Change::Kind::set) return change;
  check_depth(change.value, static_cast<int>(application.path.size()));
  const auto set = change.value.view();
  if (set.is_object() || (set.is_array() && !modifier_->appends())) {
    for (const auto& component : application.path) application.whole_bytes += component.size() + 1;
    // The path is made only where there is room for it: it may have megabytes, and this may be one of many elements.
    if (application.whole_bytes <= bson::document_bytes_max) application.whole.insert(application.dotted());
  }
  return change;
}

void Leaf::blocked(std::string_view name, const ValueView& blocker, const Application& application) const {
  if (!acts(application)) return;
  const std::string element = shell_field(application.field(), blocker);
  if (modifier_->creates(application)) {
    throw OperationError(ErrorCode::path_not_viable,
                         "Cannot create field '" + std::string(name) + "' in element {" + element + "}");
  }
  if (modifier_->tolerates_blocked_path()) return;
  throw OperationError(ErrorCode::path_not_viable, "Cannot use the part (" + std::string(name) + ") of (" + application.dotted() +
                                                       "." + std::string(name) + ") to traverse the element ({" + element + "})");
}

ObjectNode::Children ObjectNode::resolved(const Application& application) const {
  if (!application.matched) {
    throw OperationError(ErrorCode::bad_value, "The positional operator did not find the match needed from the query.");
  }
  Children all = children;
  const std::string index = std::to_string(*application.matched);
  NodePointer& place = all[index];
  const Where here{application};
  place = place ? merge(place, positional, {application, &here, index}) : positional;
  return all;
}

Change ObjectNode::apply(const ValueView& current, Application& application) const {
  if (positional) {
    ObjectNode plain;
    plain.children = resolved(application);
    return plain.apply(current, application);
  }
  if (current.is_array()) return apply_to_array(children, current, application);
  if (current.is_object() || !current.exists()) {
    return apply_to_object(children, current.exists() ? current.as_document() : bson::DocumentView(), application);
  }
  for (const auto& [name, child] : children) child->blocked(name, current, application);
  return Change::keep();
}

void ObjectNode::blocked(std::string_view name, const ValueView& blocker, const Application& application) const {
  if (positional) positional->blocked(name, blocker, application);
  for (const auto& child : children) child.second->blocked(name, blocker, application);
}

Change ArrayNode::apply(const ValueView& current, Application& application) const {
  if (!current.exists()) path_must_exist(application.dotted());
  if (!current.is_array()) {
    throw OperationError(ErrorCode::bad_value,
                         "Cannot apply array updates to non-array element " + shell_field(application.field(), current));
  }
  std::map<size_t, Change> changes;
  Pending pending(application);
  size_t index = 0;
  for (const auto& element : current.as_document()) {
    application.work(1 + children.size());
    NodePointer chosen;
    const Step step(application, std::to_string(index));
    for (const auto& [identifier, child] : children) {
      if (!identifier.empty()) {
        bson::Builder wrapped;
        wrapped.append(identifier, static_cast<ValueView>(element));
        if (!application.array_filters->find(identifier)->second(wrapped.done())) continue;
      }
      chosen = chosen ? merge(chosen, child, {application}) : child;
    }
    if (chosen) {
      if (Change change = chosen->apply(element, application)) {
        pending.add(change);
        changes.emplace(index, std::move(change));
      }
    }
    ++index;
  }
  if (changes.empty()) return Change::keep();
  return Change::set(rewrite_array(current.as_document(), changes));
}

void ArrayNode::blocked(std::string_view name, const ValueView&, const Application& application) const {
  path_must_exist(application.dotted() + "." + std::string(name));
}

namespace {

[[noreturn]] void conflict(const UpdatePath& path, size_t at) {
  throw OperationError(ErrorCode::conflicting_update_operators,
                       "Updating the path '" + path.dotted + "' would create a conflict at '" + path.prefix(at) + "'");
}

NodePointer& child_of(Node& node, const std::string& component) {
  if (node.kind() == Node::Kind::array) return static_cast<ArrayNode&>(node).children[std::string(filter_identifier(component))];
  auto& object = static_cast<ObjectNode&>(node);
  return is_positional(component) ? object.positional : object.children[component];
}

}  // namespace

void add_modifier(ObjectNode& root, const UpdatePath& path, std::shared_ptr<const Modifier> modifier) {
  Node* node = &root;
  for (size_t i = 0; i + 1 < path.components.size(); ++i) {
    const bool filtered = is_filtered(path.components[i + 1]);
    const auto kind = filtered ? Node::Kind::array : Node::Kind::object;
    NodePointer& place = child_of(*node, path.components[i]);
    if (!place) {
      if (filtered)
        place = std::make_shared<ArrayNode>();
      else
        place = std::make_shared<ObjectNode>();
    }
    if (place->kind() != kind) conflict(path, i + 1);
    node = const_cast<Node*>(place.get());  // nobody else has the tree yet
  }
  NodePointer& place = child_of(*node, path.components.back());
  if (place) conflict(path, path.components.size());
  place = std::make_shared<Leaf>(std::move(modifier));
}

}  // namespace server::write
