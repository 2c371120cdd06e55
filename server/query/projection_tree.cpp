#include "server/query/projection_tree.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/path.h"
#include "server/core/text.h"
#include "server/query/field_path.h"

namespace server::query::projection {

namespace {

using base::ErrorCode;
using base::OperationError;
using bson::DocumentView;
using bson::Element;

class Parser {
 public:
  explicit Parser(const ParseContext& context) : context_(context) {}

  Tree parse(DocumentView specification) {
    tree_.root = std::make_unique<Node>();
    for (const Element& element : specification) parse_element("", element);
    tree_.inclusion = inclusion_.value_or(id_.value_or(false));
    finish_id();
    return std::move(tree_);
  }

 private:
  [[noreturn]] static void refuse_both() { throw OperationError(31255, "Cannot specify positional operator and $elemMatch."); }

  void parse_element(const std::string& prefix, const Element& element) {
    const std::string path = prefix.empty() ? std::string(element.name) : prefix + "." + std::string(element.name);
    if (element.name.empty() || element.name.front() != '$') {
      if (path.ends_with(".$")) return parse_positional(path.substr(0, path.size() - 2), element);
      if (path.find(".$.") != path.npos) {
        throw OperationError(31394,
                             "As of 4.4, it's illegal to specify positional operator in the middle of a path."
                             "Positional projection may only be used at the end, for example: a.b.$. If the query "
                             "previously used a form like a.b.$.d, remove the parts following the '$' and the results "
                             "will be equivalent.");
      }
    }
    check_field_path(path);
    if (element.is_object()) return parse_object(path, element);
    if (element.is_number() || element.type() == bson::Type::boolean) return parse_flag(path, element.truthy());
    parse_literal(path, element);
  }

  void parse_flag(const std::string& path, bool include) {
    if (path == "_id") {
      id_ = include;
    } else {
      set_kind(include, path);
    }
    add(path).action = include ? Action::include : Action::exclude;
  }

  void parse_object(const std::string& path, const Element& element) {
    const DocumentView object = element.as_document();
    const Element first = object.first();
    if (!first.exists()) {
      throw OperationError(51270, "An empty sub-projection is not a valid value. Found empty object at path");
    }
    if (!first.name.starts_with('$')) {
      for (const Element& field : object) parse_element(path, field);
      return;
    }
    if (object.count() == 1) {
      if (first.name == "$elemMatch") return parse_elem_match(path, first);
      if (first.name == "$slice" && parse_slice(path, first)) return;
      if (first.name == "$meta") return parse_meta(path, element);
    }
    parse_expression(path, element);
  }

  // A score goes with an inclusion and with an exclusion.
  void parse_meta(const std::string& path, const Element& element) {
    if (!context_.expressions) return parse_expression(path, element);  // which refuses it
    Node& node = add(path);
    node.action = Action::compute;
    node.expression = context_.expressions->compile(element, context_);
    computes(path);
  }

  void parse_elem_match(const std::string& path, const Element& operand) {
    if (!operand.is_object()) {
      throw OperationError(
          31274, "elemMatch: Invalid argument, object required, but got " + std::string(bson::type_name(operand.type())));
    }
    if (path.find('.') != path.npos) throw OperationError(31275, "Cannot use $elemMatch projection on a nested field");
    if (tree_.positional) refuse_both();
    elem_match_ = true;
    set_kind(true, path);
    Node& node = add(path);
    node.action = Action::elem_match;
    node.by_value = Matcher::is_operators(operand.as_document());
    ParseContext context = context_;
    context.text = false;
    context.scripts = false;  // nor $where, $near
    node.matcher =
        node.by_value ? Matcher::parse_operators(operand.as_document(), context) : Matcher::parse(operand.as_document(), context);
    computes(path);
  }

  // Returns false if it isn't find's form of $slice; it may be an expression.
  bool parse_slice(const std::string& path, const Element& operand) {
    Slice slice;
    if (operand.is_number()) {
      const int64_t count = clamp(operand);
      slice = count < 0 ? Slice{count, -count} : Slice{0, count};
    } else if (operand.is_array()) {
      const DocumentView pair = operand.as_document();
      if (pair.count() != 2 || !pair.find("0").is_number()) return false;
      if (!pair.find("1").is_number()) {
        throw OperationError(31257,
                             "$slice limit must be a number, but got " + std::string(bson::type_name(pair.find("1").type())));
      }
      slice = {clamp(pair.find("0")), clamp(pair.find("1"))};
      if (slice.limit <= 0) throw OperationError(31258, "$slice limit must be positive");
    } else {
      throw OperationError(28667, "Invalid $slice syntax. The given syntax " + show(DocumentView(slice_object(operand))) +
                                      " did not match the find() syntax because :: Location31273: $slice only supports numbers "
                                      "and [skip, limit] arrays :: The given syntax did not match the expression $slice syntax. "
                                      ":: caused by :: Expression $slice takes at least 2 arguments, and at most 3, but 1 were "
                                      "passed in.");
    }
    Node& node = add(path);
    node.action = Action::slice;
    node.slice = slice;
    return true;
  }

  static bson::Document slice_object(const Element& operand) { return bson::Builder().append_element(operand).done(); }

  static int64_t clamp(const Element& number) { return std::clamp<int64_t>(number.to_int64(), INT32_MIN, INT32_MAX); }

  void parse_positional(const std::string& path, const Element& element) {
    check_field_path(path);
    if (element.is_object() || element.is_string()) {
      throw OperationError(31271, "positional projection cannot be used with a literal");
    }
    if (!element.truthy()) throw OperationError(31395, "positional projection cannot be used with exclusion");
    if (tree_.positional) throw OperationError(31276, "Cannot specify more than one positional projection per query.");
    if (elem_match_) refuse_both();
    set_kind(true, path + ".$");
    tree_.positional = true;
    add(path).action = Action::position;
    for (Node* node : way(path)) node->positional_below = true;
  }

  void parse_expression(const std::string& path, const Element& element) {
    if (!context_.expressions) {
      throw OperationError(
          31325, "Unknown expression " + std::string(element.is_object() ? element.as_document().first().name : element.name));
    }
    set_kind(true, path);
    Node& node = add(path);
    node.action = Action::compute;
    node.expression = context_.expressions->compile(element, context_);
    computes(path);
  }

  // A string that isn't a path, null, a date …: the field gets that value.
  void parse_literal(const std::string& path, const Element& element) {
    if ((element.is_string() && element.as_string().starts_with('$')) || element.is_array())
      return parse_expression(path, element);
    set_kind(true, path);
    Node& node = add(path);
    node.action = Action::compute;
    node.literal = bson::Value(element);
    computes(path);
  }

  // The first field that includes or excludes decides; the others must agree.
  void set_kind(bool include, const std::string& path) {
    if (inclusion_ && *inclusion_ != include) {
      throw include ? OperationError(31253, "Cannot do inclusion on field " + path + " in exclusion projection")
                    : OperationError(31254, "Cannot do exclusion on field " + path + " in inclusion projection");
    }
    inclusion_ = include;
  }

  Node& add(const std::string& path) {
    Node* node = tree_.root.get();
    const auto parts = bson::split_path(path);
    for (size_t i = 0; i < parts.size(); ++i) {
      Node* next = const_cast<Node*>(node->child(parts[i]));
      const bool last = i + 1 == parts.size();
      if (next && last) throw OperationError(31250, "Path collision at " + path);
      if (next && next->action != Action::descend) {
        std::string_view rest = std::string_view(path).substr(static_cast<size_t>(parts[i + 1].data() - path.data()));
        throw OperationError(31249, "Path collision at " + path + " remaining portion " + std::string(rest));
      }
      if (!next) {
        node->children.push_back(std::make_unique<Node>());
        next = node->children.back().get();
        next->name = std::string(parts[i]);
      }
      node = next;
    }
    return *node;
  }

  // Returns the nodes above the one at `path`.
  std::vector<Node*> way(const std::string& path) {
    std::vector<Node*> nodes{tree_.root.get()};
    const auto parts = bson::split_path(path);
    for (size_t i = 0; i + 1 < parts.size(); ++i) nodes.push_back(const_cast<Node*>(nodes.back()->child(parts[i])));
    return nodes;
  }

  void computes(const std::string& path) {
    for (Node* node : way(path)) node->computes_below = true;
  }

  // An inclusion keeps _id unless it is excluded.
  void finish_id() {
    const Node* id = tree_.root->child("_id");
    if (tree_.inclusion && !id) {
      auto node = std::make_unique<Node>();
      node->name = "_id";
      node->action = Action::include;
      tree_.root->children.push_back(std::move(node));
    }
    tree_.simple = is_simple(*tree_.root);
  }

  static bool is_simple(const Node& root) {
    for (const auto& node : root.children) {
      if (node->action != Action::include && node->action != Action::exclude) return false;
    }
    return true;
  }

  const ParseContext& context_;
  bool elem_match_ = false;
  Tree tree_;
  std::optional<bool> inclusion_;  // nullopt: not decided yet
  std::optional<bool> id_;
};

}  // namespace

Tree parse(DocumentView specification, const ParseContext& context) {
  return Parser(context).parse(specification);
}

}  // namespace server::query::projection
