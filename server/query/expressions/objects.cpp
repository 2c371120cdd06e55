#include <unordered_map>

#include "base/random.h"
#include "bson/builder.h"
#include "bson/types.h"
#include "server/query/expressions/accumulate.h"
#include "server/query/expressions/constant_value.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

// The accumulator of the same name copies what it keeps; here everything lies in the arguments already.
class Merged {
 public:
  explicit Merged(Frame& frame) : frame_(frame) {}

  void add(const ValueView& value) {
    if (value.is_nullish()) return;
    if (!value.is_object())
      fail(40400, "$mergeObjects requires object inputs, but input " + value_text(value) + " is of type " + named(value));
    for (const bson::Element& field : value.as_document()) {
      frame_.work();
      const auto [place, is_new] = places_.try_emplace(field.name, fields_.size());
      if (is_new) {
        frame_.hold(bytes_per_field);
        fields_.push_back(field);
      } else {
        fields_[place->second] = field;
      }
    }
  }

  Value done() const {
    Growth growth = frame_.growth();
    bson::Builder out;
    for (const bson::Element& field : fields_) {
      frame_.work();
      out.append_element(field);
      growth.reach(out.size());
    }
    return Value(out.done());
  }

 private:
  static constexpr size_t bytes_per_field = 128;
  Frame& frame_;
  std::vector<bson::Element> fields_;
  std::unordered_map<std::string_view, size_t> places_;
};

Value merge_objects(Frame& frame, std::string_view, Arguments a) {
  Merged merged(frame);
  for (const ValueView& argument : a) {
    if (argument.is_array() && a.size() == 1) {
      for (const bson::Element& element : argument.as_document()) merged.add(element);
    } else {
      merged.add(argument);
    }
  }
  return merged.done();
}

Value object_to_array(Frame& frame, std::string_view, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (!a[0].is_object()) fail(40390, "$objectToArray requires a document input, found: " + named(a[0]));
  Growth growth = frame.growth();
  bson::ArrayBuilder out;
  for (const bson::Element& field : a[0].as_document()) {
    frame.work();
    growth.reach(out.size());
    bson::Builder pair = out.object();
    pair.append("k", field.name).append("v", static_cast<const ValueView&>(field));
  }
  return out.done_value();
}

// A pair is {k, v} or [k, v]; the first one decides which all are.
std::pair<ValueView, ValueView> key_and_value(const ValueView& pair, bool of_objects) {
  if (of_objects) {
    if (!pair.is_object()) {
      fail(40391,
           "$arrayToObject requires a consistent input format. Elements mustall be arrays or all be objects. Object was "
           "detected, now found: " +
               named(pair));
    }
    const bson::DocumentView fields = pair.as_document();
    if (fields.count() != 2) {
      fail(40392, "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:" +
                      std::to_string(fields.count()));
    }
    const ValueView key = fields["k"], value = fields["v"];
    if (!key.exists() || !value.exists()) {
      fail(40393,
           "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: " + value_text(pair));
    }
    if (!key.is_string()) {
      fail(40394,
           "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. Found "
           "type: " +
               named(key));
    }
    return {key, value};
  }
  if (!pair.is_array()) {
    fail(40396,
         "$arrayToObject requires a consistent input format. Elements mustall be arrays or all be objects. Array was "
         "detected, now found: " +
             named(pair));
  }
  const bson::DocumentView items = pair.as_document();
  if (items.count() != 2) {
    fail(40397, "$arrayToObject requires an array of size 2 arrays,found array of size: " + std::to_string(items.count()));
  }
  if (!items["0"].is_string()) {
    fail(40395, "$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: " +
                    named(items["0"]));
  }
  return {items["0"], items["1"]};
}

Value array_to_object(Frame& frame, std::string_view, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (!a[0].is_array()) fail(40386, "$arrayToObject requires an array input, found: " + named(a[0]));
  constexpr size_t bytes_per_field = 128;
  std::vector<std::pair<std::string_view, ValueView>> fields;
  std::unordered_map<std::string_view, size_t> places;
  const bson::Element first = a[0].as_document().first();
  if (first.exists() && !first.is_object() && !first.is_array())
    fail(40398, "Unrecognised input type format for $arrayToObject: " + named(first));
  for (const bson::Element& pair : a[0].as_document()) {
    frame.work_on(pair.bytes().size());
    const auto [key, value] = key_and_value(pair, first.is_object());
    const std::string_view name = key.as_string();
    if (name.find('\0') != std::string_view::npos)
      fail(first.is_object() ? 4940401 : 4940400, "Key field cannot contain an embedded null byte");
    const auto [place, is_new] = places.try_emplace(name, fields.size());
    if (is_new) {
      frame.hold(bytes_per_field);
      fields.emplace_back(name, value);
    } else {
      fields[place->second].second = value;
    }
  }
  Growth growth = frame.growth();
  bson::Builder out;
  for (const auto& [name, value] : fields) {
    frame.work();
    out.append(name, value);
    growth.reach(out.size());
  }
  return Value(out.done());
}

ExpressionPtr parse_get_field(std::string_view, const ValueView& value, Scope& scope) {
  ExpressionPtr field, input;
  if (value.is_object() && value.as_document().first().exists() && value.as_document().first().name.substr(0, 1) != "$") {
    for (const bson::Element& argument : value.as_document()) {
      if (argument.name == "field") {
        field = parse_expression(argument, scope);
      } else if (argument.name == "input") {
        input = parse_expression(argument, scope);
      } else {
        fail(3041701, "$getField found an unknown argument: " + std::string(argument.name));
      }
    }
    if (!field) fail(3041702, "$getField requires 'field' to be specified");
    if (!input) fail(3041703, "$getField requires 'input' to be specified");
  } else {
    field = parse_expression(value, scope);
    input = parse_expression(Value("$$CURRENT"), scope);
  }
  if (const Value* name = field->constant(); name && name->type() != Type::string) {
    fail(5654601, "$getField requires 'field' to evaluate to a constant string, but got " + named(*name));
  }
  return evaluated([field = std::move(field), input = std::move(input)](Frame& frame) {
    const Value name = field->evaluate(frame);
    if (name.type() != Type::string)
      fail(3041704, "$getField requires 'field' to evaluate to type String, but got " + named(name));
    Value scratch;
    const ValueView from = input->view(frame, scratch);
    if (from.is_nullish()) return from.exists() ? Value::null() : Value();
    if (!from.is_object()) return Value();
    return Value(frame.find(from.as_document(), name.view().as_string()));
  });
}

Value with_field(Frame& frame, bson::DocumentView object, std::string_view name, const ValueView& value) {
  const size_t held = frame.held();
  frame.hold(object.size());
  bson::Builder out;
  bool placed = false;
  for (const bson::Element& field : object) {
    frame.work();
    if (field.name == name) {
      out.append(name, value);
      placed = true;
    } else {
      out.append_element(field);
    }
  }
  if (!placed) out.append(name, value);
  frame.keep(held, out.size());
  return Value(out.done());
}

ExpressionPtr parse_set_field(std::string_view op, const ValueView& value, Scope& scope) {
  const bool unset = op == "$unsetField";
  if (!value.is_object()) fail(4161100, std::string(op) + " only supports an object as its argument");
  std::optional<Value> field;
  bool found = false;
  ExpressionPtr input, to;
  for (const bson::Element& argument : value.as_document()) {
    if (argument.name == "field") {
      if (argument.is_string() && argument.as_string().starts_with('$')) {
        fail(4161108, "A field path reference is not allowed in this context. Did you mean {$literal: '" +
                          std::string(argument.as_string()) + "'}?");
      }
      found = true;
      field = constant_value(argument, scope);
    } else if (argument.name == "input") {
      input = parse_expression(argument, scope);
    } else if (argument.name == "value" && !unset) {
      to = parse_expression(argument, scope);
    } else {
      fail(4161101, std::string(op) + " found an unknown argument: " + std::string(argument.name));
    }
  }
  if (!found) fail(4161102, std::string(op) + " requires 'field' to be specified");
  if (!to && !unset) fail(4161103, std::string(op) + " requires 'value' to be specified");
  if (!input) fail(4161109, std::string(op) + " requires 'input' to be specified");
  if (!field) fail(4161106, std::string(op) + " requires 'field' to evaluate to a constant, but got a non-constant argument");
  if (field->type() != Type::string)
    fail(4161107, std::string(op) + " requires 'field' to evaluate to type String, but got " + named(*field));
  if (field->view().as_string().find('\0') != std::string_view::npos)
    fail(9534701, std::string(op) + " requires 'field' to have no embedded null byte");
  return evaluated([name = std::string(field->view().as_string()), input = std::move(input), to = std::move(to)](Frame& frame) {
    const Value from = input->evaluate(frame);
    if (from.view().is_nullish()) return Value::null();
    if (from.type() != Type::object) fail(4161105, "$setField requires 'input' to evaluate to type Object");
    const Value value = to ? to->evaluate(frame) : Value();
    return with_field(frame, from.view().as_document(), name, value);
  });
}

Value rand(Frame&, std::string_view, Arguments) {
  thread_local base::Random random(base::entropy64());
  return Value(random.unit());
}

Value bson_size(std::string_view, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (!a[0].is_object()) fail(31393, "$bsonSize requires a document input, found: " + named(a[0]));
  return Value(static_cast<int32_t>(a[0].as_document().bytes().size()));
}

ExpressionPtr parse_rand(std::string_view name, const ValueView& value, Scope&) {
  if (!value.is_object() && !value.is_array()) fail(10065, "invalid parameter: expected an object ($rand)");
  if (!value.as_document().empty()) fail(3040501, "$rand does not currently accept arguments");
  return make_function(name, {}, rand, true);
}

constexpr OperatorEntry entries[] = {
    {"$bsonSize", function_of<bson_size, 1>},
    {"$mergeObjects", working_function_of<merge_objects, 0, -1>},
    {"$objectToArray", working_function_of<object_to_array, 1>},
    {"$arrayToObject", working_function_of<array_to_object, 1>},
    {"$getField", parse_get_field},
    {"$setField", parse_set_field},
    {"$unsetField", parse_set_field},
    {"$rand", parse_rand},
};

}  // namespace

std::span<const OperatorEntry> object_operators() {
  return entries;
}

}  // namespace server::query
