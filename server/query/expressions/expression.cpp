#include "server/query/expressions/expression.h"

#include <unordered_set>

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

// The value of a variable of the command, which all expressions that name it share.
class Shared final : public Expression {
 public:
  explicit Shared(std::shared_ptr<const Value> value) : value_(std::move(value)) {}
  Value compute(Frame&) const override { return *value_; }
  ValueView view(Frame&, Value&) const override { return value_->view(); }
  const Value* constant() const override { return value_.get(); }

 private:
  std::shared_ptr<const Value> value_;
};

// Returns the value at a path below `value`; arrays are mapped over, and elements without the path are left out, as are arrays
// directly within an array. It copies nothing if it meets no array.
ValueView walk(Frame& frame, ValueView value, std::string_view path, Value& scratch) {
  while (!path.empty()) {
    if (value.type() == Type::array) {
      const size_t held = frame.held();
      Growth growth = frame.growth();
      bson::ArrayBuilder mapped;
      for (const bson::Element& element : value.as_document()) {
        frame.work();
        if (element.type() != Type::object) continue;
        Value below;
        const ValueView found = walk(frame, element, path, below);
        if (found.exists()) mapped.append(found);
        growth.reach(mapped.size());
      }
      scratch = mapped.done_value();
      frame.keep(held, scratch.view().bytes().size());
      return scratch.view();
    }
    if (value.type() != Type::object) return {};
    const size_t dot = path.find('.');
    value = frame.find(value.as_document(), path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value;
}

class FieldPath final : public Expression {
 public:
  explicit FieldPath(std::string path) : path_(std::move(path)) {}
  Value compute(Frame& frame) const override {
    Value scratch;
    const ValueView value = view(frame, scratch);
    return scratch.exists() ? std::move(scratch) : Value(value);
  }
  ValueView view(Frame& frame, Value& scratch) const override {
    return walk(frame, ValueView(Type::object, frame.root.bytes()), path_, scratch);
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
    const ValueView value = view(frame, scratch);
    return scratch.exists() ? std::move(scratch) : Value(value);
  }
  ValueView view(Frame& frame, Value& scratch) const override {
    frame.work();
    return walk(frame, frame.slots[slot_].view(), path_, scratch);
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

// Computes an object or array of constants. With variables in it, it may be larger than what the client wrote.
ExpressionPtr folded(const Expression& parsed, size_t written_bytes, Scope& scope) {
  Frame none(scope);
  Value value = parsed.evaluate(none);
  const size_t bytes = value.view().bytes().size();
  if (bytes > written_bytes) scope.hold_part(bytes);
  return make_constant(std::move(value));
}

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
  if (auto value = scope.defined(name)) {
    if (path.empty()) return std::make_unique<Shared>(std::move(value));
    Frame none(scope);
    Value scratch;
    Value part(walk(none, value->view(), path, scratch));
    scope.hold_part(part.view().bytes().size());
    return make_constant(std::move(part));
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
  std::unordered_set<std::string_view> names;
  bool constant = true;
  for (const bson::Element& field : object) {
    if (!field.name.empty() && field.name[0] == '$') {
      throw OperationError(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.");
    }
    if (field.name.find('.') != std::string_view::npos) {
      throw OperationError(16412, "FieldPath field names may not contain '.'. Consider using $getField or $setField.");
    }
    if (!names.insert(field.name).second)
      throw OperationError(16406, "duplicate field name specified in object literal: " + std::string(field.name));
    fields.emplace_back(field.name, parse_expression(field, scope));
    constant = constant && fields.back().second->constant();
  }
  auto parsed = std::make_unique<ObjectExpression>(std::move(fields));
  if (!constant) return parsed;
  return folded(*parsed, object.size(), scope);
}

}  // namespace

Frame::Frame(const Scope& scope, bson::DocumentView document)
    : root(document),
      slots(static_cast<size_t>(scope.slots())),
      collator_(scope.collator().get()),
      allowance_(scope.allowance()),
      held_(allowance_ ? allowance_->memory() : unlimited_) {
  work_on(slots.size() * sizeof(Value));
}

Scope::Scope(int64_t now_ms, Allowance* allowance)
    : now_ms_(now_ms), allowance_(allowance), held_(allowance ? allowance->memory() : unlimited_) {}

// A document holds a missing value as undefined.
void Scope::define(std::string name, Value value) {
  const size_t bytes = value.view().bytes().size();
  if (allowance_) allowance_->work_on(bytes);
  held_.add(sizeof(Variable) + bytes);
  if (value.type() == bson::Type::undefined) value = Value();
  add(std::move(name), -1, std::make_shared<const Value>(std::move(value)));
}

int Scope::enter(std::string name) {
  add(std::move(name), slots_, nullptr);
  return slots_++;
}

void Scope::add(std::string name, int slot, std::shared_ptr<const Value> value) {
  variables_.push_back({std::move(name), slot, std::move(value), nullptr});
  Variable& added = variables_.back();
  const auto [place, is_new] = visible_.try_emplace(added.name, &added);
  if (is_new) return;
  added.shadowed = place->second;
  visible_.erase(place);  // its key is the other one's name
  visible_.emplace(added.name, &added);
}

void Scope::leave(size_t count) {
  for (; count > 0; --count) {
    const Variable& gone = variables_.back();
    visible_.erase(gone.name);
    if (gone.shadowed) visible_.emplace(gone.shadowed->name, gone.shadowed);
    variables_.pop_back();
  }
}

void Scope::hold_part(size_t bytes) {
  held_.add(bytes);
  parts_ += bytes;
}

size_t Scope::kept() const {
  size_t bytes = parts_;
  for (const Variable& variable : variables_) {
    if (variable.value.use_count() > 1) bytes += variable.value->view().bytes().size();
  }
  return bytes;
}

const Scope::Variable* Scope::visible(std::string_view name) const {
  const auto found = visible_.find(name);
  return found == visible_.end() ? nullptr : found->second;
}

std::optional<int> Scope::find(std::string_view name) const {
  const Variable* variable = visible(name);
  return variable && !variable->value ? std::optional<int>(variable->slot) : std::nullopt;
}

std::shared_ptr<const Value> Scope::defined(std::string_view name) const {
  const Variable* variable = visible(name);
  return variable ? variable->value : nullptr;
}

ExpressionPtr make_constant(Value value) {
  return std::make_unique<Constant>(std::move(value));
}

ExpressionPtr parse_expression(const ValueView& value, Scope& scope) {
  scope.work();
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
    return folded(*parsed, value.bytes().size(), scope);
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
  const Scope scope(0);
  Frame frame(scope, document);
  Value scratch;
  return Value(walk(frame, ValueView(Type::object, document.bytes()), path, scratch));
}

}  // namespace server::query
