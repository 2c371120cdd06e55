#include "server/query/stages/transform.h"

#include <algorithm>

#include "base/error.h"
#include "bson/builder.h"
#include "server/query/document_metadata.h"
#include "server/query/field_path.h"

namespace server::query {

using base::OperationError;
using bson::DocumentView;
using bson::Value;
using bson::ValueView;

struct Transform::Node {
  bool leaf = false;                                                    // it is included or excluded, as the tree's kind says
  ExpressionPtr expression;                                             // set if the field is computed
  std::vector<std::pair<std::string, std::unique_ptr<Node>>> children;  // in the order of the specification

  Node* child(std::string_view name) const {
    for (const auto& [known, node] : children) {
      if (known == name) return node.get();
    }
    return nullptr;
  }
  bool computes() const {
    return expression || std::any_of(children.begin(), children.end(), [](const auto& c) { return c.second->computes(); });
  }

  // Returns the node at a dotted path, and makes it if it doesn't exist.
  Node& at(std::string_view path, std::string_view stage) {
    Node* node = this;
    const std::string_view whole = path;
    for (;;) {
      if (node->leaf || node->expression) collision(stage, whole, path);
      const size_t dot = path.find('.');
      const std::string_view name = path.substr(0, dot);
      Node* below = node->child(name);
      if (!below) {
        node->children.emplace_back(std::string(name), std::make_unique<Node>());
        below = node->children.back().second.get();
      } else if (dot == std::string_view::npos) {
        collision(stage, whole, "");
      }
      if (dot == std::string_view::npos) return *below;
      node = below;
      path = path.substr(dot + 1);
    }
  }

  [[noreturn]] static void collision(std::string_view stage, std::string_view path, std::string_view rest) {
    throw OperationError(31249, "Invalid " + std::string(stage) + " :: caused by :: Path collision at " + std::string(path) +
                                    (rest.empty() ? "" : " remaining portion " + std::string(rest)));
  }

  void include(bson::Builder& out, DocumentView document, Frame& frame) const {
    for (const bson::Element& field : document) {
      const Node* node = child(field.name);
      if (!node || node->expression) continue;
      if (node->leaf) {
        out.append_element(field);
      } else if (field.is_object()) {
        bson::Builder below = out.object(field.name);
        node->include(below, field.as_document(), frame);
      } else if (field.is_array()) {
        bson::ArrayBuilder below = out.array(field.name);
        node->include_array(below, field.as_document(), frame);
      } else if (node->computes()) {
        bson::Builder below = out.object(field.name);
        node->include(below, DocumentView(), frame);
      }
    }
    for (const auto& [name, node] : children) {
      if (node->expression) {
        Value scratch;
        out.append(name, node->expression->view(frame, scratch));
      } else if (!node->leaf && node->computes() && !document.has(name)) {
        bson::Builder below = out.object(name);
        node->include(below, DocumentView(), frame);
      }
    }
  }
  void include_array(bson::ArrayBuilder& out, DocumentView array, Frame& frame) const {
    for (const bson::Element& element : array) {
      if (element.is_object()) {
        bson::Builder below = out.object();
        include(below, element.as_document(), frame);
      } else if (element.is_array()) {
        bson::ArrayBuilder below = out.array();
        include_array(below, element.as_document(), frame);
      } else if (computes()) {
        bson::Builder below = out.object();
        include(below, DocumentView(), frame);
      }
    }
  }

  void exclude(bson::Builder& out, DocumentView document) const {
    for (const bson::Element& field : document) {
      const Node* node = child(field.name);
      if (node && node->leaf) continue;
      if (node && field.is_object()) {
        bson::Builder below = out.object(field.name);
        node->exclude(below, field.as_document());
      } else if (node && field.is_array()) {
        bson::ArrayBuilder below = out.array(field.name);
        node->exclude_array(below, field.as_document());
      } else {
        out.append_element(field);
      }
    }
  }
  void exclude_array(bson::ArrayBuilder& out, DocumentView array) const {
    for (const bson::Element& element : array) {
      if (element.is_object()) {
        bson::Builder below = out.object();
        exclude(below, element.as_document());
      } else if (element.is_array()) {
        bson::ArrayBuilder below = out.array();
        exclude_array(below, element.as_document());
      } else {
        out.append(static_cast<const ValueView&>(element));
      }
    }
  }

  void add(bson::Builder& out, DocumentView document, Frame& frame) const {
    for (const bson::Element& field : document) {
      if (const Node* node = child(field.name)) {
        node->add_field(out, field.name, field, frame);
      } else {
        out.append_element(field);
      }
    }
    for (const auto& [name, node] : children) {
      if (!document.has(name)) node->add_field(out, name, ValueView(), frame);
    }
  }
  void add_field(bson::Builder& out, std::string_view name, const ValueView& old, Frame& frame) const {
    if (expression) {
      Value scratch;
      out.append(name, expression->view(frame, scratch));
    } else if (old.is_array()) {
      bson::ArrayBuilder below = out.array(name);
      add_array(below, old.as_document(), frame);
    } else {
      bson::Builder below = out.object(name);
      add(below, old.is_object() ? old.as_document() : DocumentView(), frame);
    }
  }
  void add_array(bson::ArrayBuilder& out, DocumentView array, Frame& frame) const {
    for (const bson::Element& element : array) {
      if (element.is_array()) {
        bson::ArrayBuilder below = out.array();
        add_array(below, element.as_document(), frame);
      } else {
        bson::Builder below = out.object();
        add(below, element.is_object() ? element.as_document() : DocumentView(), frame);
      }
    }
  }
};

// Reads specifications, flat or nested, dotted or not, into one tree.
struct Transform::Reader {
  std::string_view stage;
  Scope& scope;
  Node& root;
  bool additions;
  std::string first_included, first_excluded;
  bool id_excluded = false, id_named = false;

  void fields(DocumentView specification, const std::string& prefix) {
    for (const bson::Element& field : specification) {
      if (field.name.empty()) {
        throw OperationError(
            40352, "Invalid " + std::string(stage) + " :: caused by :: FieldPath cannot be constructed with empty string");
      }
      try {
        check_field_path(field.name);
      } catch (const OperationError& error) {
        throw OperationError(error.code(), "Invalid " + std::string(stage) + " :: caused by :: " + error.what());
      }
      value(prefix.empty() ? std::string(field.name) : prefix + "." + std::string(field.name), field);
    }
  }

  void value(const std::string& path, const ValueView& given) {
    if (given.is_object()) {
      const bson::Element first = given.as_document().first();
      if (!first.exists()) {
        if (additions) return computed(path, given);
        throw OperationError(51270,
                             "Invalid " + std::string(stage) +
                                 " :: caused by :: An empty sub-projection is not a valid value. Found empty object at path");
      }
      if (first.name.substr(0, 1) == "$") return computed(path, given);
      return fields(given.as_document(), path);
    }
    if (!additions && (given.is_number() || given.type() == bson::Type::boolean)) {
      given.truthy() ? included(path) : excluded(path);
      return;
    }
    computed(path, given);
  }

  void included(const std::string& path) {
    if (path == "_id") {
      id_named = true;
    } else {
      if (!first_excluded.empty()) mixed(31253, "inclusion", path, "exclusion");
      if (first_included.empty()) first_included = path;
    }
    root.at(path, stage).leaf = true;
  }
  void excluded(const std::string& path) {
    if (path == "_id") {
      id_excluded = id_named = true;
      return;
    }
    if (!first_included.empty()) mixed(31254, "exclusion", path, "inclusion");
    if (first_excluded.empty()) first_excluded = path;
    root.at(path, stage).leaf = true;
  }
  void computed(const std::string& path, const ValueView& given) {
    if (!additions) {
      if (!first_excluded.empty()) mixed(31252, "inclusion", path, "exclusion");
      if (path == "_id") id_named = true;
      if (first_included.empty() && path != "_id") first_included = path;
    }
    Node& node = root.at(path, stage);
    try {
      node.expression = parse_expression(given, scope);
    } catch (const OperationError& error) {
      if (error.code() == base::ErrorCode{metadata_not_available}) throw;  // the stage is right, and what stands before it isn't
      throw OperationError(error.code(), "Invalid " + std::string(stage) + " :: caused by :: " + error.what());
    }
  }
  [[noreturn]] void mixed(int code, const char* what, const std::string& path, const char* in) {
    throw OperationError(code, "Invalid " + std::string(stage) + " :: caused by :: Cannot do " + what + " on field " + path +
                                   " in " + in + " projection");
  }
};

Transform::Transform(Kind kind, std::unique_ptr<Node> root) : kind_(kind), root_(std::move(root)) {}
Transform::Transform(Transform&&) noexcept = default;
Transform& Transform::operator=(Transform&&) noexcept = default;
Transform::~Transform() = default;

Transform Transform::project(std::string_view stage, DocumentView specification, Scope& scope) {
  if (specification.empty()) {
    throw OperationError(
        51272, "Invalid " + std::string(stage) + " :: caused by :: projection specification must have at least one field");
  }
  auto root = std::make_unique<Node>();
  Reader reader{stage, scope, *root, false, {}, {}, false, false};
  reader.fields(specification, "");
  const bool only_id = reader.first_included.empty() && reader.first_excluded.empty();
  if (!reader.first_excluded.empty() || (only_id && reader.id_excluded)) {
    if (reader.id_excluded) root->at("_id", stage).leaf = true;
    return Transform(Kind::exclusion, std::move(root));
  }
  if (!reader.id_named) {
    auto id = std::make_unique<Node>();
    id->leaf = true;
    if (!root->child("_id")) root->children.emplace(root->children.begin(), "_id", std::move(id));
  }
  return Transform(Kind::inclusion, std::move(root));
}

Transform Transform::add_fields(std::string_view stage, DocumentView specification, Scope& scope) {
  if (specification.empty()) {
    throw OperationError(40177, "Invalid " + std::string(stage) + " :: caused by :: specification must have at least one field");
  }
  auto root = std::make_unique<Node>();
  Reader{stage, scope, *root, true, {}, {}, false, false}.fields(specification, "");
  return Transform(Kind::addition, std::move(root));
}

Transform Transform::unset(std::string_view stage, const std::vector<std::string>& paths) {
  auto root = std::make_unique<Node>();
  for (const std::string& path : paths) {
    check_field_path(path);
    root->at(path, stage).leaf = true;
  }
  return Transform(Kind::exclusion, std::move(root));
}

bson::Document Transform::apply(DocumentView document, Frame& frame) const {
  bson::Builder out;
  switch (kind_) {
    case Kind::inclusion: root_->include(out, document, frame); break;
    case Kind::exclusion: root_->exclude(out, document); break;
    case Kind::addition: root_->add(out, document, frame); break;
  }
  return out.done();
}

}  // namespace server::query
