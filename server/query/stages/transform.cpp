#include "server/query/stages/transform.h"

#include <set>
#include <utility>

#include "base/error.h"
#include "bson/builder.h"
#include "server/core/text.h"
#include "server/query/document_metadata.h"
#include "server/query/field_path.h"
#include "server/query/named_children.h"
#include "server/query/operator_names.h"

namespace server::query {

using base::OperationError;
using bson::DocumentView;
using bson::Value;
using bson::ValueView;

namespace {

[[noreturn]] void invalid(std::string_view stage, int code, const std::string& why) {
  throw OperationError(code, "Invalid " + std::string(stage) + " :: caused by :: " + why);
}
[[noreturn]] void invalid(std::string_view stage, const OperationError& why) {
  invalid(stage, static_cast<int>(why.code()), why.what());
}

}  // namespace

struct Transform::Node {
  explicit Node(std::string_view of_field = {}) : name(of_field) {}

  const std::string name;
  bool leaf = false;             // it is included or excluded, as the tree's kind says
  ExpressionPtr expression;      // set if the field is computed
  bool computes = false;         // it, or one below it, is computed
  NamedChildren<Node> children;  // in the order of the specification
  size_t index = 0;              // its place among its parent's children

  // Returns the node at a dotted path, which it makes.
  Node& at(std::string_view path, std::string_view stage, bool computed) {
    Node* node = this;
    const std::string_view whole = path;
    for (;;) {
      if (node->leaf || node->expression) collision(stage, whole, path);
      node->computes |= computed;
      const size_t dot = path.find('.');
      const std::string_view part = path.substr(0, dot);
      Node* below = node->children.find(part);
      if (!below) {
        below = &node->children.add(std::make_unique<Node>(part));
        below->index = node->children.size() - 1;
      } else if (dot == std::string_view::npos) {
        collision(stage, whole, "");
      }
      if (dot == std::string_view::npos) {
        below->computes = computed;
        return *below;
      }
      node = below;
      path = path.substr(dot + 1);
    }
  }

  [[noreturn]] static void collision(std::string_view stage, std::string_view path, std::string_view rest) {
    const std::string text = "Path collision at " + std::string(path);
    if (rest.empty()) invalid(stage, 31250, text);
    invalid(stage, 31249, text + " remaining portion " + std::string(rest));
  }
};

namespace {

// This class notes for which children of a node a document has a field.
class Met {
 public:
  explicit Met(size_t children) : rest_(children > few ? children : 0) {}
  void add(size_t child) {
    if (rest_.empty())
      few_ |= uint64_t{1} << child;
    else
      rest_[child] = true;
  }
  bool has(size_t child) const { return rest_.empty() ? (few_ >> child & 1) != 0 : rest_[child]; }

 private:
  static constexpr size_t few = 64;
  uint64_t few_ = 0;
  std::vector<bool> rest_;  // of more than a few
};

}  // namespace

// Applies a tree to one document.
class Transform::Application {
 public:
  Application(Frame& frame, const bson::Builder& whole) : frame_(frame), growth_(frame.growth()), whole_(whole) {}

  // Accounts for the fields since it did so last, and for what is made by now.
  void account() {
    frame_.work(std::exchange(counted_, 0));
    growth_.reach(whole_.size());
  }

  void include(const Node& node, bson::Builder& out, DocumentView document) {
    Met met(node.computes ? node.children.size() : 0);
    for (const bson::Element& field : document) {
      count();
      const Node* child = node.children.find(field.name);
      if (!child) continue;
      if (node.computes) met.add(child->index);
      if (child->expression) continue;
      if (child->leaf) {
        out.append_element(field);
      } else if (field.is_object()) {
        bson::Builder below = out.object(field.name);
        include(*child, below, field.as_document());
      } else if (field.is_array()) {
        bson::ArrayBuilder below = out.array(field.name);
        include_array(*child, below, field.as_document());
      } else if (child->computes) {
        bson::Builder below = out.object(field.name);
        include(*child, below, DocumentView());
      }
    }
    compute(node, met, out, &Application::include);
  }

  // Metadata are all that an exclusion computes.
  void exclude(const Node& node, bson::Builder& out, DocumentView document) {
    Met met(node.computes ? node.children.size() : 0);
    for (const bson::Element& field : document) {
      count();
      const Node* child = node.children.find(field.name);
      if (child && node.computes) met.add(child->index);
      if (child && (child->leaf || child->expression)) continue;
      if (child && field.is_object()) {
        bson::Builder below = out.object(field.name);
        exclude(*child, below, field.as_document());
      } else if (child && field.is_array()) {
        bson::ArrayBuilder below = out.array(field.name);
        exclude_array(*child, below, field.as_document());
      } else {
        out.append_element(field);
      }
    }
    compute(node, met, out, &Application::exclude);
  }

  void add(const Node& node, bson::Builder& out, DocumentView document) {
    Met met(node.children.size());
    for (const bson::Element& field : document) {
      count();
      if (const Node* child = node.children.find(field.name)) {
        met.add(child->index);
        add_field(*child, out, field.name, field);
      } else {
        out.append_element(field);
      }
    }
    for (const auto& child : node.children) {
      count();
      if (!met.has(child->index)) add_field(*child, out, child->name, ValueView());
    }
  }

 private:
  using Visit = void (Application::*)(const Node&, bson::Builder&, DocumentView);

  // Appends what the node computes, also within fields that the document doesn't have.
  void compute(const Node& node, const Met& met, bson::Builder& out, Visit visit) {
    if (!node.computes) return;
    for (const auto& child : node.children) {
      count();
      if (child->expression) {
        Value scratch;
        out.append(child->name, child->expression->view(frame_, scratch));
      } else if (child->computes && !met.has(child->index)) {
        bson::Builder below = out.object(child->name);
        (this->*visit)(*child, below, DocumentView());
      }
    }
  }

  void include_array(const Node& node, bson::ArrayBuilder& out, DocumentView array) {
    for (const bson::Element& element : array) {
      count();
      if (element.is_object()) {
        bson::Builder below = out.object();
        include(node, below, element.as_document());
      } else if (element.is_array()) {
        bson::ArrayBuilder below = out.array();
        include_array(node, below, element.as_document());
      } else if (node.computes) {
        bson::Builder below = out.object();
        include(node, below, DocumentView());
      }
    }
  }

  void exclude_array(const Node& node, bson::ArrayBuilder& out, DocumentView array) {
    for (const bson::Element& element : array) {
      count();
      if (element.is_object()) {
        bson::Builder below = out.object();
        exclude(node, below, element.as_document());
      } else if (element.is_array()) {
        bson::ArrayBuilder below = out.array();
        exclude_array(node, below, element.as_document());
      } else {
        out.append(static_cast<const ValueView&>(element));
      }
    }
  }

  void add_field(const Node& node, bson::Builder& out, std::string_view name, const ValueView& old) {
    if (node.expression) {
      Value scratch;
      out.append(name, node.expression->view(frame_, scratch));
    } else if (old.is_array()) {
      bson::ArrayBuilder below = out.array(name);
      add_array(node, below, old.as_document());
    } else {
      bson::Builder below = out.object(name);
      add(node, below, old.is_object() ? old.as_document() : DocumentView());
    }
  }
  void add_array(const Node& node, bson::ArrayBuilder& out, DocumentView array) {
    for (const bson::Element& element : array) {
      count();
      if (element.is_array()) {
        bson::ArrayBuilder below = out.array();
        add_array(node, below, element.as_document());
      } else {
        bson::Builder below = out.object();
        add(node, below, element.is_object() ? element.as_document() : DocumentView());
      }
    }
  }

  void count() {
    if (++counted_ == counted_at_once) [[unlikely]]
      account();
  }

  static constexpr size_t counted_at_once = 16;
  Frame& frame_;
  Growth growth_;
  const bson::Builder& whole_;  // in which the others write
  size_t counted_ = 0;          // fields that aren't accounted for yet
};

namespace {

void check_name(std::string_view stage, std::string_view name) {
  try {
    check_field_path(name);
  } catch (const OperationError& error) {
    invalid(stage, error);
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
      scope.work();
      const std::string path = prefix.empty() ? std::string(field.name) : prefix + "." + std::string(field.name);
      if (!additions) check(field, path);  // AdditionCheck has done it
      value(path, field);
    }
  }

  void check(const bson::Element& field, const std::string& path) const {
    refuse_positional(field);
    check_name(stage, field.name);
    if (path.size() > field.name.size()) check_name(stage, path);
  }

  void refuse_positional(const bson::Element& field) const {
    if (field.name.ends_with(".$")) invalid(stage, 31324, "Cannot use positional projection in aggregation projection");
    if (field.name.find(".$.") != std::string_view::npos) invalid(stage, 31394, std::string(positional_within_path));
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
    if (is_field_path(name)) return false;
    if (name == "$elemMatch")
      invalid(stage, static_cast<int>(base::ErrorCode::invalid_pipeline_operator), "Cannot use $elemMatch in this context");
    invalid(stage, 31325, "Unknown expression " + std::string(name));
  }

  void included(const std::string& path) {
    if (path == "_id") {
      id_named = true;
    } else {
      if (!first_excluded.empty()) mixed(31253, "inclusion", path, "exclusion");
      if (first_included.empty()) first_included = path;
    }
    root.at(path, stage, false).leaf = true;
  }
  void excluded(const std::string& path) {
    if (path == "_id") {
      id_excluded = id_named = true;
      return;
    }
    if (!first_included.empty()) mixed(31254, "exclusion", path, "inclusion");
    if (first_excluded.empty()) first_excluded = path;
    root.at(path, stage, false).leaf = true;
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
    Node& node = root.at(path, stage, true);
    try {
      node.expression = parse_expression(given, scope);
    } catch (const OperationError& error) {
      if (error.code() == base::ErrorCode{metadata_not_available}) throw;  // the stage is right, and what stands before it isn't
      if (stops_operation(error.code())) throw;
      invalid(stage, error);
    }
  }
  [[noreturn]] void mixed(int code, const char* what, const std::string& path, const char* in) {
    invalid(stage, code, std::string("Cannot do ") + what + " on field " + path + " in " + in + " projection");
  }
};

Transform::Transform(Kind kind, std::unique_ptr<Node> root) : kind_(kind), root_(std::move(root)) {}
Transform::Transform(Transform&&) noexcept = default;
Transform& Transform::operator=(Transform&&) noexcept = default;
Transform::~Transform() = default;

Transform Transform::project(std::string_view stage, DocumentView specification, Scope& scope) {
  if (specification.empty()) invalid(stage, 51272, "projection specification must have at least one field");
  auto root = std::make_unique<Node>();
  Reader reader{stage, scope, *root, false, {}, {}};
  reader.fields(specification, "");
  const bool only_id = reader.first_included.empty() && reader.first_excluded.empty() && !reader.has_metadata;
  if (!reader.first_excluded.empty() || (only_id && reader.id_excluded)) {
    if (reader.id_excluded) root->at("_id", stage, false).leaf = true;
    return Transform(Kind::exclusion, std::move(root));
  }
  if (!reader.id_named && !root->children.find("_id")) root->at("_id", stage, false).leaf = true;
  return Transform(Kind::inclusion, std::move(root));
}

Transform Transform::add_fields(std::string_view stage, DocumentView specification, Scope& scope) {
  if (specification.empty()) invalid(stage, 40177, "specification must have at least one field");
  AdditionCheck(stage, specification).run();
  auto root = std::make_unique<Node>();
  Reader{stage, scope, *root, true, {}, {}}.fields(specification, "");
  return Transform(Kind::addition, std::move(root));
}

Transform Transform::unset(std::string_view stage, const std::vector<std::string>& paths) {
  auto root = std::make_unique<Node>();
  for (const std::string& path : paths) {
    check_field_path(path);
    root->at(path, stage, false).leaf = true;
  }
  return Transform(Kind::exclusion, std::move(root));
}

bson::Document Transform::apply(DocumentView document, Frame& frame) const {
  bson::Builder out;
  Application application(frame, out);
  switch (kind_) {
    case Kind::inclusion: application.include(*root_, out, document); break;
    case Kind::exclusion: application.exclude(*root_, out, document); break;
    case Kind::addition: application.add(*root_, out, document); break;
  }
  application.account();
  return out.done();
}

}  // namespace server::query
