#include "server/query/stages/transform.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "bson/builder.h"
#include "server/core/text.h"
#include "server/query/document_metadata.h"
#include "server/query/field_path.h"
#include "server/query/operator_names.h"

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
    const std::string text = "Invalid " + std::string(stage) + " :: caused by :: Path collision at " + std::string(path);
    if (rest.empty()) throw OperationError(31250, text);
    throw OperationError(31249, text + " remaining portion " + std::string(rest));
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

  // Metadata are all that an exclusion computes.
  void exclude(bson::Builder& out, DocumentView document, Frame& frame) const {
    for (const bson::Element& field : document) {
      const Node* node = child(field.name);
      if (node && (node->leaf || node->expression)) continue;
      if (node && field.is_object()) {
        bson::Builder below = out.object(field.name);
        node->exclude(below, field.as_document(), frame);
      } else if (node && field.is_array()) {
        bson::ArrayBuilder below = out.array(field.name);
        node->exclude_array(below, field.as_document(), frame);
      } else {
        out.append_element(field);
      }
    }
    for (const auto& [name, node] : children) {
      if (node->expression) {
        Value scratch;
        out.append(name, node->expression->view(frame, scratch));
      } else if (node->computes() && !document.has(name)) {
        bson::Builder below = out.object(name);
        node->exclude(below, DocumentView(), frame);
      }
    }
  }
  void exclude_array(bson::ArrayBuilder& out, DocumentView array, Frame& frame) const {
    for (const bson::Element& element : array) {
      if (element.is_object()) {
        bson::Builder below = out.object();
        exclude(below, element.as_document(), frame);
      } else if (element.is_array()) {
        bson::ArrayBuilder below = out.array();
        exclude_array(below, element.as_document(), frame);
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

namespace {

[[noreturn]] void invalid(std::string_view stage, int code, const std::string& why) {
  throw OperationError(code, "Invalid " + std::string(stage) + " :: caused by :: " + why);
}

void check_name(std::string_view stage, std::string_view name) {
  try {
    check_field_path(name);
  } catch (const OperationError& error) {
    throw OperationError(error.code(), "Invalid " + std::string(stage) + " :: caused by :: " + error.what());
  }
}

// Checks the form of a specification of additions before any expression is parsed: $addFields has rules of its own.
class AdditionCheck {
 public:
  AdditionCheck(std::string_view stage, DocumentView specification) : stage_(stage), whole_(specification) {}

  void run() {
    for (const bson::Element& field : whole_) {
      check_name(stage_, field.name);
      value(std::string(field.name), field);
    }
  }

 private:
  void value(const std::string& path, const ValueView& given) {
    if (!given.is_object()) return claim(path);
    const DocumentView object = given.as_document();
    for (const bson::Element& field : object) {
      if (field.name.starts_with('$')) {
        if (const size_t count = object.count(); count != 1) {
          invalid(stage_, 40181,
                  "an expression specification must contain exactly one field, the name of the expression. Found " +
                      std::to_string(count) + " fields in " + show(object) + ", while parsing object " + show(whole_));
        }
        return claim(path);
      }
      if (field.name.find('.') != std::string_view::npos) {
        invalid(stage_, 40183, "cannot use dotted field name '" + std::string(field.name) + "' in a sub object: " + show(whole_));
      }
      const std::string below = path + "." + std::string(field.name);
      check_name(stage_, below);
      value(below, field);
    }
  }

  // Each path is computed once, and none lies within another.
  void claim(const std::string& path) {
    if (claimed_.contains(path)) conflict(path, path);
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
      if (const std::string above = path.substr(0, dot); claimed_.contains(above)) conflict(path, above);
    }
    const auto below = claimed_.lower_bound(path + ".");
    if (below != claimed_.end() && below->starts_with(path + ".")) conflict(path, *below);
    claimed_.insert(path);
  }

  [[noreturn]] void conflict(const std::string& path, const std::string& other) const {
    invalid(
        stage_, 40176,
        "specification contains two conflicting paths. Cannot specify both '" + path + "' and '" + other + "': " + show(whole_));
  }

  std::string_view stage_;
  DocumentView whole_;
  std::set<std::string> claimed_;
};

}  // namespace

// Reads specifications, flat or nested, dotted or not, into one tree.
struct Transform::Reader {
  std::string_view stage;
  Scope& scope;
  Node& root;
  bool additions;
  std::string first_included, first_excluded;
  bool id_excluded = false, id_named = false, has_metadata = false;

  void fields(DocumentView specification, const std::string& prefix) {
    for (const bson::Element& field : specification) {
      refuse_positional(field);
      check_name(stage, field.name);
      const std::string path = prefix.empty() ? std::string(field.name) : prefix + "." + std::string(field.name);
      if (!prefix.empty()) check_name(stage, path);
      value(path, field);
    }
  }

  void refuse_positional(const bson::Element& field) const {
    if (additions) return;
    if (field.name.find(".$.") != std::string_view::npos) invalid(stage, 31394, std::string(positional_within_path));
    if (field.name.ends_with(".$")) invalid(stage, 31324, "Cannot use positional projection in aggregation projection");
  }

  void value(const std::string& path, const ValueView& given) {
    if (given.is_object()) {
      const DocumentView object = given.as_document();
      const bson::Element first = object.first();
      if (!first.exists()) {
        if (additions) return computed(path, given);
        invalid(stage, 51270, "An empty sub-projection is not a valid value. Found empty object at path");
      }
      if (additions ? first.name.starts_with('$') : is_projected_expression(stage, object)) return computed(path, given);
      return fields(object, path);
    }
    if (!additions && (given.is_number() || given.type() == bson::Type::boolean)) {
      given.truthy() ? included(path) : excluded(path);
      return;
    }
    computed(path, given);
  }

  // An operator stands alone in its object; any other name that begins with a dollar is wrong.
  static bool is_projected_expression(std::string_view stage, DocumentView object) {
    const std::string_view name = object.first().name;
    if (!name.starts_with('$') || object.count() != 1) return false;
    if (is_operator(name)) return true;
    try {
      check_field_path(name);  // a part of a DBRef may be a field
    } catch (const OperationError&) {
      if (name == "$elemMatch")
        invalid(stage, static_cast<int>(base::ErrorCode::invalid_pipeline_operator), "Cannot use $elemMatch in this context");
      invalid(stage, 31325, "Unknown expression " + std::string(name));
    }
    return false;
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
    const bool is_metadata = given.is_object() && given.as_document().first().name == "$meta";
    if (is_metadata) has_metadata = true;  // which goes with an inclusion and with an exclusion
    if (!additions && !is_metadata) {
      if (!first_excluded.empty() && given.is_object())
        invalid(stage, 31252, "Cannot use expression other than $meta in exclusion projection");
      if (!first_excluded.empty())
        invalid(stage, 31310, "Cannot use an expression " + path + ": " + show(given) + " in an exclusion projection");
      if (first_included.empty() && path != "_id") first_included = path;
    }
    if (path == "_id") id_named = true;
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
  Reader reader{stage, scope, *root, false, {}, {}};
  reader.fields(specification, "");
  const bool only_id = reader.first_included.empty() && reader.first_excluded.empty() && !reader.has_metadata;
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
  AdditionCheck(stage, specification).run();
  auto root = std::make_unique<Node>();
  Reader{stage, scope, *root, true, {}, {}}.fields(specification, "");
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
    case Kind::exclusion: root_->exclude(out, document, frame); break;
    case Kind::addition: root_->add(out, document, frame); break;
  }
  return out.done();
}

}  // namespace server::query
