#include "server/query/projection.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/path.h"
#include "server/core/allowance.h"
#include "server/query/projection_tree.h"

namespace server::query {

namespace {

using base::ErrorCode;
using base::OperationError;
using bson::DocumentView;
using bson::Element;
using bson::ValueView;
using projection::Action;
using projection::Node;

// A run is what one application needs beside the tree. It counts the document that it makes while that grows, in steps.
class Run {
 public:
  // `whole` is the builder in which the others write. The allowance may be nullptr: nobody can stop it.
  Run(DocumentView document, bool includes, Allowance* allowance, const bson::Builder& whole)
      : root(document),
        inclusion(includes),
        allowance_(allowance),
        held_(allowance ? allowance->memory() : unlimited_),
        growth_(held_),
        whole_(whole) {}

  const DocumentView root;
  const bool inclusion;
  std::optional<size_t> position;  // the position of the positional operator's element

  // Accounts for an element that it looks at, and for what is made by now.
  void work() {
    if (allowance_) allowance_->work();
    account();
  }
  void account() { growth_.reach(whole_.size()); }
  // Finds a field, and accounts for those that it looks at.
  Element find(DocumentView document, std::string_view name) const {
    if (allowance_) allowance_->work_on(document.size());
    return document.find(name);
  }

 private:
  Allowance* const allowance_;
  MemoryBudget unlimited_{nullptr};  // without an allowance
  Held held_;
  Growth growth_;
  const bson::Builder& whole_;
};

void project_object(Run& run, const Node& node, DocumentView document, bson::Builder& out);
void project_array(Run& run, const Node& node, DocumentView array, bson::ArrayBuilder& out);

void project_array_element(Run& run, const Node& node, const Element& element, bson::ArrayBuilder& out) {
  run.work();
  if (element.is_object()) {
    auto object = out.object();
    project_object(run, node, element.as_document(), object);
  } else if (element.is_array()) {
    auto inner = out.array();
    project_array(run, node, element.as_document(), inner);
  } else if (!run.inclusion) {
    out.append(static_cast<const ValueView&>(element));
  }
}

void project_array(Run& run, const Node& node, DocumentView array, bson::ArrayBuilder& out) {
  for (const Element& element : array) project_array_element(run, node, element, out);
}

// A negative `skip` counts from the end. It appends at most `limit` elements.
void append_slice(Run& run, const Element& field, const projection::Slice& slice, bson::Builder& out) {
  const DocumentView elements = field.as_document();
  const auto count = static_cast<int64_t>(elements.count());
  int64_t from = slice.skip < 0 ? std::max<int64_t>(0, count + slice.skip) : std::min(slice.skip, count);
  int64_t left = std::min(slice.limit, count - from);
  auto array = out.array(field.name);
  for (const Element& element : elements) {
    run.work();
    if (from-- > 0) continue;
    if (left-- <= 0) break;
    array.append(static_cast<const ValueView&>(element));
  }
}

// Returns the element of an array through which the filter matched.
Element matched_element(Run& run, DocumentView array) {
  if (!run.position) {
    throw OperationError(51246,
                         "positional operator '.$' couldn't find a matching "
                         "element in the array");
  }
  size_t index = 0;
  for (const Element& element : array) {
    run.work();
    if (index++ == run.position) return element;
  }
  throw OperationError(51247, "positional operator '.$' element mismatch");
}

void append_elem_match(Run& run, const Element& field, const Matcher& matcher, bool by_value, bson::Builder& out) {
  if (!field.is_array()) return;
  for (const Element& element : field.as_document()) {
    run.work();
    const bool matched = by_value ? matcher.matches_value(element)
                                  : (element.is_object() || element.is_array()) && matcher.matches(element.as_document());
    if (!matched) continue;
    auto array = out.array(field.name);
    array.append(static_cast<const ValueView&>(element));
    return;
  }
}

void project_field(Run& run, const Node& node, const Element& field, bson::Builder& out) {
  switch (node.action) {
    case Action::include: out.append_element(field); return;
    case Action::exclude:
    case Action::compute:
    case Action::elem_match: return;  // the latter two come after the existing fields
    case Action::slice:
      if (field.is_array()) return append_slice(run, field, node.slice, out);
      out.append_element(field);
      return;
    case Action::position:
      // Any other value is returned as it is.
      if (field.is_array()) {
        const Element matched = matched_element(run, field.as_document());
        out.array(field.name).append(static_cast<const ValueView&>(matched));
      } else {
        out.append_element(field);
      }
      return;
    case Action::descend: break;
  }
  if (field.is_object()) {
    auto object = out.object(field.name);
    project_object(run, node, field.as_document(), object);
  } else if (field.is_array() && node.positional_below) {
    const Element matched = matched_element(run, field.as_document());
    auto array = out.array(field.name);
    project_array_element(run, node, matched, array);
  } else if (field.is_array()) {
    auto array = out.array(field.name);
    project_array(run, node, field.as_document(), array);
  } else if (!run.inclusion) {
    out.append_element(field);
  }
}

// Appends computed fields, and objects that have to be made for them.
void append_computed(Run& run, const Node& node, DocumentView document, bson::Builder& out) {
  for (const auto& child : node.children) {
    run.work();
    if (child->action == Action::compute) {
      if (child->literal.exists())
        out.append(child->name, child->literal);
      else
        out.append(child->name, child->expression->evaluate(run.root));
    } else if (child->action == Action::elem_match) {
      append_elem_match(run, run.find(document, child->name), *child->matcher, child->by_value, out);
    } else if (child->action == Action::descend && child->computes_below) {
      const Element field = run.find(document, child->name);
      if (field.is_object() || field.is_array()) continue;
      auto object = out.object(child->name);
      append_computed(run, *child, DocumentView(), object);
    }
  }
}

void project_object(Run& run, const Node& node, DocumentView document, bson::Builder& out) {
  for (const Element& field : document) {
    run.work();
    const Node* child = node.children.find(field.name);
    if (child) {
      project_field(run, *child, field, out);
    } else if (!run.inclusion) {
      out.append_element(field);
    }
  }
  if (node.computes_below) append_computed(run, node, document, out);
}

}  // namespace

struct Projection::State {
  bson::Document specification;
  projection::Tree tree;
  const Matcher* matcher = nullptr;
  Allowance* allowance = nullptr;
};

Projection::Projection(std::unique_ptr<State> state) : state_(std::move(state)) {}
Projection::~Projection() = default;

std::unique_ptr<Projection> Projection::parse(DocumentView specification, const Matcher* matcher, const ParseContext& context) {
  auto state = std::make_unique<State>();
  state->specification = bson::Document(specification);
  state->tree = projection::parse(state->specification, context);
  if (state->tree.positional && (!matcher || matcher->empty())) {
    throw OperationError(31374, "Cannot use positional projection without match predicate");
  }
  state->matcher = matcher;
  state->allowance = context.allowance;
  return std::unique_ptr<Projection>(new Projection(std::move(state)));
}

bson::Document Projection::apply(DocumentView document) const {
  bson::Builder out;
  Run run(document, state_->tree.inclusion, state_->allowance, out);
  if (state_->tree.positional) {
    std::optional<std::string> position;
    state_->matcher->matches(document, position);
    if (position) run.position = std::stoull(*position);
  }
  project_object(run, *state_->tree.root, document, out);
  run.account();
  return out.done();
}

namespace {

bool add_included(const Node& node, const std::string& prefix, std::vector<std::string>& paths) {
  for (const auto& child : node.children) {
    const std::string path = prefix + child->name;
    if (child->action == Action::include) {
      paths.push_back(path);
    } else if (child->action == Action::descend) {
      if (!add_included(*child, path + ".", paths)) return false;
    } else if (child->action != Action::exclude) {  // only _id: an inclusion can't exclude any other field
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::string>> Projection::included_paths() const {
  std::vector<std::string> paths;
  if (!inclusion() || !add_included(*state_->tree.root, "", paths)) return std::nullopt;
  return paths;
}

bool Projection::inclusion() const {
  return state_->tree.inclusion;
}
bool Projection::simple() const {
  return state_->tree.simple;
}
bool Projection::positional() const {
  return state_->tree.positional;
}
bool Projection::keeps_id() const {
  const Node* id = state_->tree.root->children.find("_id");
  return id ? id->action != Action::exclude : !inclusion();
}

}  // namespace server::query
