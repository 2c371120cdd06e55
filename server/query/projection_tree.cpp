#include "server/query/projection_tree.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/path.h"
#include "server/core/allowance.h"
#include "server/core/text.h"
#include "server/query/field_path.h"
#include "server/query/operator_names.h"

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
    tree_.inclusion = inclusion_.value_or(undecided());
    finish_id();
    return std::move(tree_);
  }

 private:
  [[noreturn]] static void refuse_both(int code) {
    throw OperationError(code, "Cannot specify positional operator and $elemMatch.");
  }

  // Returns whether a projection includes if no field says so: it has _id, $slice, $elemMatch and scores alone.
  bool undecided() const { return (elem_match_ && !has_slice_) || id_.value_or(false); }

  void parse_element(const std::string& prefix, const Element& element) {
    if (context_.allowance) context_.allowance->work();
    const std::string path = prefix.empty() ? std::string(element.name) : prefix + "." + std::string(element.name);
    if (element.name.empty() || element.name.front() != '$') {
      if (path.ends_with(".$")) return parse_positional(path.substr(0, path.size() - 2), element);
      if (path.find(".$.") != path.npos) {
        throw OperationError(31394, std::string(positional_within_path));
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
    // An operator stands alone in its object; with others, it would be a field whose name is wrong.
    if (!first.name.starts_with('$') || object.count() != 1) {
      for (const Element& field : object) parse_element(path, field);
      return;
    }
    if (first.name == "$elemMatch") return parse_elem_match(path, first);
    if (first.name == "$slice") return parse_slice(path, element);
    if (first.name == "$meta") return parse_meta(path, element);
    if (!is_operator(first.name)) {
      if (is_field_path(first.name)) return parse_element(path, first);
      refuse_unknown(first.name);
    }
    if (inclusion_ == false) throw OperationError(31252, "Cannot use expression other than $meta in exclusion projection");
    parse_expression(path, element);
  }

  [[noreturn]] static void refuse_unknown(std::string_view name) {
    throw OperationError(31325, "Unknown expression " + std::string(name));
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
    if (tree_.positional) refuse_both(31255);
    elem_match_ = true;
    Node& node = add(path);
    node.action = Action::elem_match;
    node.by_value = Matcher::is_operators(operand.as_document());
    ParseContext context = context_;
    context.text = false;
    context.scripts = false;  // nor $where, $near
    context.expressions = nullptr;
    node.matcher =
        node.by_value ? Matcher::parse_operators(operand.as_document(), context) : Matcher::parse(operand.as_document(), context);
    computes(path);
  }

  // A $slice that doesn't have find's form may be an expression.
  void parse_slice(const std::string& path, const Element& element) {
    const Element operand = element.as_document().first();
    std::string why;
    if (const auto slice = read_slice(operand, why)) {
      has_slice_ = true;
      Node& node = add(path);
      node.action = Action::slice;
      node.slice = *slice;
      return;
    }
    try {
      if (inclusion_ == false) throw OperationError(31252, "Cannot use expression other than $meta in exclusion projection");
      parse_expression(path, element);
    } catch (const OperationError& error) {
      if (stops_operation(error.code())) throw;
      throw OperationError(
          error.code(), "Invalid $slice syntax. The given syntax " + show(element.as_document()) +
                            " did not match the find() syntax because :: " + why +
                            " :: The given syntax did not match the expression $slice syntax. :: caused by :: " + error.what());
    }
  }

  // Returns nullopt, and says why, if it is neither a number nor [skip, limit].
  static std::optional<Slice> read_slice(const Element& operand, std::string& why) {
    if (operand.is_number()) {
      const int64_t count = clamp(operand);
      return count < 0 ? Slice{count, -count} : Slice{0, count};
    }
    if (!operand.is_array()) {
      why = "Location31273: $slice only supports numbers and [skip, limit] arrays";
      return std::nullopt;
    }
    const DocumentView pair = operand.as_document();
    const Element skip = pair.find("0"), limit = pair.find("1");
    const auto type = [](const Element& value) { return std::string(bson::type_name(value.type())); };
    if (pair.count() != 2) {
      why = "Location31272: $slice array argument should be of form [skip, limit]";
    } else if (!skip.is_number()) {
      why = "Location31257: $slice expects the skip argument to be a number, got " + type(skip);
    } else if (!limit.is_number()) {
      why = "Location31258: $slice expects the limit argument to be a number, got " + type(limit);
    } else if (clamp(limit) <= 0) {
      why = "Location31259: $slice limit must be positive, got " + std::to_string(clamp(limit));
    } else {
      return Slice{clamp(skip), clamp(limit)};
    }
    return std::nullopt;
  }

  static int64_t clamp(const Element& number) { return std::clamp<int64_t>(number.to_int64(), INT32_MIN, INT32_MAX); }

  void parse_positional(const std::string& path, const Element& element) {
    check_field_path(path);
    if (element.is_object()) throw OperationError(31271, "positional projection cannot be used with an expression or sub object");
    if (!element.is_number() && element.type() != bson::Type::boolean)
      throw OperationError(31308, "positional projection cannot be used with a literal");
    if (!element.truthy()) throw OperationError(31395, "positional projection cannot be used with exclusion");
    if (tree_.positional) throw OperationError(31276, "Cannot specify more than one positional projection per query.");
    if (elem_match_) refuse_both(31256);
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
    if (inclusion_ == false) {
      throw OperationError(31310, "Cannot use an expression " + show_element(element) + " in an exclusion projection");
    }
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
      Node* next = node->children.find(parts[i]);
      const bool last = i + 1 == parts.size();
      if (next && last) throw OperationError(31250, "Path collision at " + path);
      if (next && next->action != Action::descend) {
        std::string_view rest = std::string_view(path).substr(static_cast<size_t>(parts[i + 1].data() - path.data()));
        throw OperationError(31249, "Path collision at " + path + " remaining portion " + std::string(rest));
      }
      if (!next) {
        auto made = std::make_unique<Node>();
        made->name = std::string(parts[i]);
        next = &node->children.add(std::move(made));
      }
      node = next;
    }
    return *node;
  }

  // Returns the nodes above the one at `path`.
  std::vector<Node*> way(const std::string& path) {
    std::vector<Node*> nodes{tree_.root.get()};
    const auto parts = bson::split_path(path);
    for (size_t i = 0; i + 1 < parts.size(); ++i) nodes.push_back(nodes.back()->children.find(parts[i]));
    return nodes;
  }

  void computes(const std::string& path) {
    for (Node* node : way(path)) node->computes_below = true;
  }

  // An inclusion keeps _id unless it is excluded.
  void finish_id() {
    const Node* id = tree_.root->children.find("_id");
    if (tree_.inclusion && !id) {
      auto node = std::make_unique<Node>();
      node->name = "_id";
      node->action = Action::include;
      tree_.root->children.add(std::move(node));
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
  bool has_slice_ = false;
  Tree tree_;
  std::optional<bool> inclusion_;  // nullopt: not decided yet
  std::optional<bool> id_;
};

}  // namespace

Tree parse(DocumentView specification, const ParseContext& context) {
  return Parser(context).parse(specification);
}

}  // namespace server::query::projection
