#include "server/query/expressions/expression.h"

#include "base/error.h"
#include "bson/builder.h"
#include "server/query/expressions/registry.h"
#include "server/query/field_path.h"

namespace server::query {

using base::OperationError;
using bson::Type;
using bson::Value;
using bson::ValueView;

namespace {

class Constant final : public Expression {
 public:
  explicit Constant(Value value) : value_(std::move(value)) {}
  Value compute(Frame&) const override { return value_; }
  ValueView view(Frame&, Value&) const override { return value_.view(); }
  const Value* constant() const override { return &value_; }

 private:
  Value value_;
};

// Returns the value at a path below `value`; arrays are mapped over, and elements without the path are left out, as are arrays
// directly within an array. It copies nothing if it meets no array.
ValueView walk(ValueView value, std::string_view path, Value& scratch) {
  while (!path.empty()) {
    if (value.type() == Type::array) {
      bson::ArrayBuilder mapped;
      for (const bson::Element& element : value.as_document()) {
        if (element.type() != Type::object) continue;
        Value below;
        const ValueView found = walk(element, path, below);
        if (found.exists()) mapped.append(found);
      }
      scratch = mapped.done_value();
      return scratch.view();
    }
    if (value.type() != Type::object) return {};
    const size_t dot = path.find('.');
    value = value.as_document().find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value;
}

class FieldPath final : public Expression {
 public:
  explicit FieldPath(std::string path) : path_(std::move(path)) {}
  Value compute(Frame& frame) const override {
    Value scratch;
    return Value(view(frame, scratch));
  }
  ValueView view(Frame& frame, Value& scratch) const override {
    const ValueView value = walk(ValueView(Type::object, frame.root.bytes()), path_, scratch);
    if (scratch.exists()) frame.hold(scratch.view().bytes().size());
    return value;
  }
  std::optional<std::string_view> field_path() const override { return path_; }

 private:
  std::string path_;
};

class Root final : public Expression {
 public:
  Value compute(Frame& frame) const override { return Value(frame.root); }
  ValueView view(Frame& frame, Value&) const override { return ValueView(Type::object, frame.root.bytes()); }
};

class Variable final : public Expression {
 public:
  Variable(int slot, std::string path) : slot_(slot), path_(std::move(path)) {}
  Value compute(Frame& frame) const override {
    Value scratch;
    return Value(view(frame, scratch));
  }
  ValueView view(Frame& frame, Value& scratch) const override {
    const ValueView value = walk(frame.slots[slot_].view(), path_, scratch);
    if (scratch.exists()) frame.hold(scratch.view().bytes().size());
    return value;
  }

 private:
  int slot_;
  std::string path_;
};

class ObjectExpression final : public Expression {
 public:
  explicit ObjectExpression(std::vector<std::pair<std::string, ExpressionPtr>> fields) : fields_(std::move(fields)) {}
  Value compute(Frame& frame) const override {
    frame.work(1 + fields_.size());
    const size_t held = frame.held();
    bson::Builder out;
    for (const auto& [name, expression] : fields_) {
      Value scratch;
      out.append(name, expression->view(frame, scratch));
      frame.keep(held, out.size());
    }
    return Value(out.done());
  }

 private:
  std::vector<std::pair<std::string, ExpressionPtr>> fields_;
};

class ArrayExpression final : public Expression {
 public:
  explicit ArrayExpression(std::vector<ExpressionPtr> elements) : elements_(std::move(elements)) {}
  Value compute(Frame& frame) const override {
    frame.work(1 + elements_.size());
    const size_t held = frame.held();
    bson::ArrayBuilder out;
    for (const ExpressionPtr& element : elements_) {
      Value scratch;
      const ValueView value = element->view(frame, scratch);
      if (value.exists()) {
        out.append(value);
      } else {
        out.append_null();
      }
      frame.keep(held, out.size());
    }
    return out.done_value();
  }

 private:
  std::vector<ExpressionPtr> elements_;
};

ExpressionPtr parse_variable(std::string_view text, Scope& scope) {  // `text` comes without the dollars
  const size_t dot = text.find('.');
  const std::string_view name = text.substr(0, dot);
  const std::string path(dot == std::string_view::npos ? "" : text.substr(dot + 1));
  if (name.empty()) throw OperationError(base::ErrorCode::failed_to_parse, "empty variable names are not allowed");
  if (dot != std::string_view::npos) check_field_path(path);
  if (const auto slot = scope.find(name)) {
    scope.note_read();
    return std::make_unique<Variable>(*slot, path);
  }
  if (const Value* value = scope.defined(name)) {
    Value scratch;
    return make_constant(Value(walk(value->view(), path, scratch)));
  }
  if (name == "ROOT" || name == "CURRENT") {
    scope.note_read();
    if (path.empty()) return std::make_unique<Root>();
    return std::make_unique<FieldPath>(path);
  }
  if (name == "REMOVE") return make_constant(Value());
  if (name == "NOW") return make_constant(Value(bson::Date{scope.now_ms()}));
  if (name == "CLUSTER_TIME") {
    throw OperationError(51144, "Builtin variable '$$CLUSTER_TIME' is not available");
  }
  if (name == "KEEP" || name == "PRUNE" || name == "DESCEND") return make_constant(Value(std::string(name)));
  throw OperationError(17276, "Use of undefined variable: " + std::string(name));
}

ExpressionPtr parse_string(std::string_view text, Scope& scope) {
  if (text.size() > 1 && text[0] == '$' && text[1] == '$') return parse_variable(text.substr(2), scope);
  if (!text.empty() && text[0] == '$') {
    const std::string path(text.substr(1));
    if (path.empty()) throw OperationError(16872, "'$' by itself is not a valid FieldPath");
    check_field_path(path);
    scope.note_read();
    if (const auto slot = scope.find("CURRENT")) return std::make_unique<Variable>(*slot, path);
    return std::make_unique<FieldPath>(path);
  }
  return make_constant(Value(text));
}

ExpressionPtr parse_object(bson::DocumentView object, Scope& scope) {
  const bson::Element first = object.first();
  if (first.exists() && !first.name.empty() && first.name[0] == '$') {
    if (object.count() != 1) {
      throw OperationError(15983,
                           "an expression specification must contain exactly one field, the name of the expression. Found " +
                               std::to_string(object.count()) + " fields");
    }
    return make_operator(first.name, first, scope);
  }
  std::vector<std::pair<std::string, ExpressionPtr>> fields;
  bool constant = true;
  for (const bson::Element& field : object) {
    if (!field.name.empty() && field.name[0] == '$') {
      throw OperationError(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.");
    }
    if (field.name.find('.') != std::string_view::npos) {
      throw OperationError(16412, "FieldPath field names may not contain '.'. Consider using $getField or $setField.");
    }
    for (const auto& [name, expression] : fields) {
      if (name == field.name) throw OperationError(16406, "duplicate field name specified in object literal: " + name);
    }
    fields.emplace_back(field.name, parse_expression(field, scope));
    constant = constant && fields.back().second->constant();
  }
  auto parsed = std::make_unique<ObjectExpression>(std::move(fields));
  if (!constant) return parsed;
  Frame none(scope);
  return make_constant(parsed->evaluate(none));
}

}  // namespace

Frame::Frame(const Scope& scope, bson::DocumentView document)
    : root(document),
      slots(static_cast<size_t>(scope.slots())),
      collator_(scope.collator().get()),
      allowance_(scope.allowance()),
      held_(allowance_ ? allowance_->memory() : unlimited_) {}

Scope::Scope(int64_t now_ms, Allowance* allowance) : now_ms_(now_ms), allowance_(allowance) {}

// A document holds a missing value as undefined.
void Scope::define(std::string name, Value value) {
  if (value.type() == bson::Type::undefined) value = Value();
  variables_.push_back({std::move(name), -1, std::move(value)});
}

int Scope::enter(std::string name) {
  variables_.push_back({std::move(name), slots_, Value()});
  return slots_++;
}

void Scope::leave(size_t count) {
  variables_.resize(variables_.size() - count);
}

std::optional<int> Scope::find(std::string_view name) const {
  for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
    if (it->name == name) return it->slot >= 0 ? std::optional<int>(it->slot) : std::nullopt;
  }
  return std::nullopt;
}

const Value* Scope::defined(std::string_view name) const {
  for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
    if (it->name == name) return it->slot < 0 ? &it->value : nullptr;
  }
  return nullptr;
}

ExpressionPtr make_constant(Value value) {
  return std::make_unique<Constant>(std::move(value));
}

ExpressionPtr parse_expression(const ValueView& value, Scope& scope) {
  if (value.type() == Type::string) return parse_string(value.as_string(), scope);
  if (value.type() == Type::object) return parse_object(value.as_document(), scope);
  if (value.type() == Type::array) {
    std::vector<ExpressionPtr> elements;
    bool constant = true;
    for (const bson::Element& element : value.as_document()) {
      elements.push_back(parse_expression(element, scope));
      constant = constant && elements.back()->constant();
    }
    auto parsed = std::make_unique<ArrayExpression>(std::move(elements));
    if (!constant) return parsed;
    Frame none(scope);
    return make_constant(parsed->evaluate(none));
  }
  return make_constant(Value(value));
}

std::vector<ExpressionPtr> parse_arguments(const ValueView& value, Scope& scope) {
  std::vector<ExpressionPtr> arguments;
  if (value.type() == Type::array) {
    for (const bson::Element& element : value.as_document()) arguments.push_back(parse_expression(element, scope));
  } else {
    arguments.push_back(parse_expression(value, scope));
  }
  return arguments;
}

Value evaluate_path(bson::DocumentView document, std::string_view path) {
  Value scratch;
  return Value(walk(ValueView(Type::object, document.bytes()), path, scratch));
}

}  // namespace server::query
