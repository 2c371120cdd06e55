#include "server/script/values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/hex.h"
#include "bson/numeric.h"
#include "server/script/owned.h"

namespace server::script {

namespace {

using base::OperationError;
using bson::Type;

constexpr int depth_max = 150;
constexpr size_t bytes_max = (16 << 20) + (16 << 10);
constexpr const char* types[] = {"ObjectId", "NumberLong", "NumberDecimal", "Timestamp", "HexData",
                                 "MinKey",   "MaxKey",     "Code",          "RegExp"};

// The engine writes a lone surrogate as three bytes, which is no UTF-8.
std::string well_formed(std::string text) {
  for (size_t at = 0; at + 2 < text.size(); ++at) {
    if (static_cast<uint8_t>(text[at]) == 0xed && static_cast<uint8_t>(text[at + 1]) >= 0xa0) text.replace(at, 3, "\xef\xbf\xbd");
  }
  return text;
}

void check_name(std::string_view name) {
  if (name.find('\0') != std::string_view::npos)
    throw OperationError(139, "A name with a null character can't be converted from JavaScript to BSON");
}

}  // namespace

Values::Values(JSContext* context)
    : context_(context),
      type_atom_(JS_NewAtom(context, "__bsonType")),
      value_atom_(JS_NewAtom(context, "__value")),
      ints_atom_(JS_NewAtom(context, "__ints")) {
  const JSValue global = JS_GetGlobalObject(context);
  for (const char* type : types) types_.emplace(type, JS_GetPropertyStr(context, global, type));
  JS_FreeValue(context, global);
}

Values::~Values() {
  for (const auto& [name, value] : types_) JS_FreeValue(context_, value);
  for (const JSAtom atom : {type_atom_, value_atom_, ints_atom_}) JS_FreeAtom(context_, atom);
}

JSValue Values::construct(const char* type, std::initializer_list<JSValue> arguments) {
  std::vector<JSValue> given(arguments);
  JSValue made = JS_EXCEPTION;
  const bool whole = std::ranges::none_of(given, [](JSValue argument) { return JS_IsException(argument); });
  if (whole && std::string_view(type) == "RegExp")
    made = JS_CallConstructor(context_, types_.find(type)->second, static_cast<int>(given.size()), given.data());
  else if (whole)
    made = JS_Call(context_, types_.find(type)->second, JS_UNDEFINED, static_cast<int>(given.size()), given.data());
  for (const JSValue argument : given) JS_FreeValue(context_, argument);
  return made;
}

JSValue Values::make(const bson::ValueView& value) {
  const auto text = [this](std::string_view bytes) { return JS_NewStringLen(context_, bytes.data(), bytes.size()); };
  switch (value.type()) {
    case Type::number_double: return JS_NewFloat64(context_, value.as_double());
    case Type::int32: return JS_NewInt32(context_, value.as_int32());
    case Type::int64: return construct("NumberLong", {JS_NewBigInt64(context_, value.as_int64())});
    case Type::decimal128: return construct("NumberDecimal", {text(bson::decimal_to_string(value.as_decimal128()))});
    case Type::string:
    case Type::symbol: return text(value.as_string());
    case Type::object: return make(value.as_document());
    case Type::array: return fields_of(value.as_document(), JS_NewArray(context_));
    case Type::binary: {
      const bson::Binary binary = value.as_binary();
      return construct("HexData", {JS_NewInt32(context_, binary.subtype), text(base::to_hex(binary.bytes))});
    }
    case Type::object_id: return construct("ObjectId", {text(value.as_object_id().to_hex())});
    case Type::boolean: return JS_NewBool(context_, value.as_bool());
    case Type::date: return JS_NewDate(context_, static_cast<double>(value.as_date().ms));
    case Type::null: return JS_NULL;
    case Type::regex: {
      const bson::Regex regex = value.as_regex();
      std::string flags;
      for (const char flag : regex.options) {
        if (flag == 'i' || flag == 'm' || flag == 's' || flag == 'u') flags += flag;
      }
      return construct("RegExp", {text(regex.pattern), text(flags)});
    }
    case Type::timestamp: {
      const bson::Timestamp stamp = value.as_timestamp();
      return construct("Timestamp", {JS_NewUint32(context_, stamp.seconds), JS_NewUint32(context_, stamp.increment)});
    }
    case Type::code: return construct("Code", {text(value.as_string())});
    case Type::code_with_scope:
      return construct("Code", {text(value.code_with_scope_code()), make(value.code_with_scope_scope())});
    case Type::db_pointer: {
      bson::Builder fields;
      fields.append("$ref", value.db_pointer_namespace());
      fields.append("$id", value.db_pointer_id());
      const bson::Document reference = fields.done();
      return make(reference.view());
    }
    case Type::min_key: return construct("MinKey", {});
    case Type::max_key: return construct("MaxKey", {});
    case Type::undefined:
    case Type::eod: break;
  }
  return JS_UNDEFINED;
}

JSValue Values::make(bson::DocumentView document) {
  return fields_of(document, JS_NewObject(context_));
}

// A number of JavaScript has no type. The object notes which of its fields were int32, so that they can be written as they were.
JSValue Values::fields_of(bson::DocumentView document, JSValue object) {
  if (JS_IsException(object)) return object;
  JSValue ints = JS_UNDEFINED;
  const auto fail = [&] {
    JS_FreeValue(context_, ints);
    JS_FreeValue(context_, object);
    return JS_EXCEPTION;
  };
  for (const bson::Element& field : document) {
    const JSAtom name = JS_NewAtomLen(context_, field.name.data(), field.name.size());
    if (name == JS_ATOM_NULL) return fail();
    const JSValue made = make(field);
    bool ok = !JS_IsException(made) && JS_DefinePropertyValue(context_, object, name, made, JS_PROP_C_W_E) >= 0;
    if (ok && field.type() == Type::int32) {
      if (JS_IsUndefined(ints)) ints = JS_NewObject(context_);
      ok = !JS_IsException(ints) && JS_DefinePropertyValue(context_, ints, name, JS_TRUE, JS_PROP_C_W_E) >= 0;
    }
    JS_FreeAtom(context_, name);
    if (!ok) return fail();
  }
  if (JS_IsUndefined(ints)) return object;
  if (JS_DefinePropertyValue(context_, object, ints_atom_, ints, JS_PROP_CONFIGURABLE) < 0) {
    ints = JS_UNDEFINED;  // the call has freed it
    return fail();
  }
  return object;
}

std::optional<std::string> Values::text_of(JSValueConst value) {
  size_t length = 0;
  const char* text = JS_ToCStringLen(context_, &length, value);
  if (!text) return std::nullopt;
  std::string copy(text, length);
  JS_FreeCString(context_, text);
  return well_formed(std::move(copy));
}

std::optional<std::string> Values::text_of(JSValueConst object, const char* property) {
  const Owned value(context_, JS_GetPropertyStr(context_, object, property));
  return value.is_exception() ? std::nullopt : text_of(value.get());
}

bool Values::append(bson::Builder& out, std::string_view name, JSValueConst value, int depth) {
  check_name(name);
  if (out.size() > bytes_max) {
    throw OperationError(17260, "Converting from JavaScript to BSON failed: Object size " + std::to_string(out.size()) +
                                    " exceeds limit of " + std::to_string(bytes_max) + " bytes.");
  }
  switch (JS_VALUE_GET_NORM_TAG(value)) {
    case JS_TAG_INT: out.append(name, static_cast<double>(JS_VALUE_GET_INT(value))); return true;
    case JS_TAG_FLOAT64: out.append(name, JS_VALUE_GET_FLOAT64(value)); return true;
    case JS_TAG_BOOL: out.append(name, JS_VALUE_GET_BOOL(value) != 0); return true;
    case JS_TAG_NULL: out.append_null(name); return true;
    case JS_TAG_UNDEFINED: out.append(name, bson::ValueView(Type::undefined, {})); return true;
    case JS_TAG_BIG_INT:
    case JS_TAG_SHORT_BIG_INT: {
      int64_t number = 0;
      if (JS_ToBigInt64(context_, &number, value) < 0) return false;
      out.append(name, number);
      return true;
    }
    case JS_TAG_OBJECT: return append_object(out, name, value, depth);
    default: {
      const auto text = text_of(value);
      if (text) out.append(name, *text);
      return text.has_value();
    }
  }
}

bool Values::append_object(bson::Builder& out, std::string_view name, JSValueConst value, int depth) {
  if (depth >= depth_max) {
    throw OperationError(17279, "Exceeded depth limit of " + std::to_string(depth_max) +
                                    " when converting js object to BSON. Do you have a cycle?");
  }
  if (JS_IsArray(value)) return append_elements(out, name, value, depth);
  if (JS_IsDate(value)) {
    double ms = 0;
    if (JS_ToFloat64(context_, &ms, value) < 0) return false;
    out.append(name, bson::Date{std::isnan(ms) ? INT64_MIN : static_cast<int64_t>(ms)});
    return true;
  }
  if (JS_IsRegExp(value)) return append_regex(out, name, value);
  if (JS_IsFunction(context_, value)) {
    const auto text = text_of(value);
    if (text) out.append(name, bson::ValueView(Type::code, bson::Value(*text).view().bytes()));
    return text.has_value();
  }
  const Owned type(context_, JS_GetProperty(context_, value, type_atom_));
  if (type.is_exception()) return false;
  const auto tag = JS_IsString(type.get()) ? text_of(type.get()) : std::optional<std::string>("");
  if (!tag) return false;
  if (!tag->empty()) return append_typed(out, name, *tag, value, depth);
  bson::Builder object = out.object(name);
  return append_fields(object, value, depth);
}

bool Values::append_field(bson::Builder& out, std::string_view name, JSValueConst object, JSAtom atom, JSValueConst ints,
                          int depth) {
  const Owned field(context_, JS_GetProperty(context_, object, atom));
  if (field.is_exception()) return false;
  const bool was_int =
      JS_IsObject(ints) && JS_VALUE_GET_NORM_TAG(field.get()) == JS_TAG_INT && JS_HasProperty(context_, ints, atom) > 0;
  if (!was_int) return append(out, name, field.get(), depth + 1);
  check_name(name);
  out.append(name, JS_VALUE_GET_INT(field.get()));
  return true;
}

bool Values::append_fields(bson::Builder& out, JSValueConst value, int depth) {
  JSPropertyEnum* properties = nullptr;
  uint32_t count = 0;
  if (JS_GetOwnPropertyNames(context_, &properties, &count, value, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0) return false;
  const std::unique_ptr<JSPropertyEnum, std::function<void(JSPropertyEnum*)>> owner(
      properties, [this, count](JSPropertyEnum* table) { JS_FreePropertyEnum(context_, table, count); });
  const Owned ints(context_, JS_GetProperty(context_, value, ints_atom_));
  if (ints.is_exception()) return false;
  for (uint32_t i = 0; i < count; ++i) {
    size_t length = 0;
    const char* text = JS_AtomToCStringLen(context_, &length, properties[i].atom);
    if (!text) return false;
    const std::string name = well_formed(std::string(text, length));
    JS_FreeCString(context_, text);
    if (!append_field(out, name, value, properties[i].atom, ints.get(), depth)) return false;
  }
  return true;
}

bool Values::append_elements(bson::Builder& out, std::string_view name, JSValueConst value, int depth) {
  int64_t length = 0;
  if (JS_GetLength(context_, value, &length) < 0) return false;
  const Owned ints(context_, JS_GetProperty(context_, value, ints_atom_));
  if (ints.is_exception()) return false;
  bson::Builder elements;
  for (int64_t i = 0; i < length; ++i) {
    const JSAtom atom = JS_NewAtomUInt32(context_, static_cast<uint32_t>(i));
    const bool appended = append_field(elements, std::to_string(i), value, atom, ints.get(), depth);
    JS_FreeAtom(context_, atom);
    if (!appended) return false;
  }
  out.append_array(name, elements.done());
  return true;
}

bool Values::append_regex(bson::Builder& out, std::string_view name, JSValueConst value) {
  const auto source = text_of(value, "source"), flags = text_of(value, "flags");
  if (!source || !flags) return false;
  check_name(*source);
  std::string options;
  for (const char flag : *flags) {
    if (flag == 'i' || flag == 'm' || flag == 's' || flag == 'u') options += flag;
  }
  out.append(name, bson::Regex{*source, options});
  return true;
}

// This function checks its arguments: a client's function can make objects with the same names.
bool Values::append_typed(bson::Builder& out, std::string_view name, const std::string& type, JSValueConst value, int depth) {
  const Owned holder(context_, JS_GetProperty(context_, value, value_atom_));
  if (holder.is_exception()) return false;
  const JSValueConst held = holder.get();
  const auto part = [&](uint32_t index) {
    const Owned one(context_, JS_GetPropertyUint32(context_, held, index));
    return one.is_exception() ? std::nullopt : text_of(one.get());
  };
  const auto number_in = [](const std::optional<std::string>& text) {
    return text ? static_cast<uint32_t>(std::strtoul(text->c_str(), nullptr, 10)) : 0;
  };
  if (type == "ObjectId") {
    const auto text = text_of(held);
    if (!text) return false;
    const auto bytes = base::from_hex(*text);
    if (!bytes || bytes->size() != 12) throw OperationError(139, "an ObjectId has no 24 hex digits");
    out.append(name, bson::ValueView(Type::object_id, *bytes));
  } else if (type == "Long") {
    int64_t number = 0;
    if (JS_ToBigInt64(context_, &number, held) < 0) return false;
    out.append(name, number);
  } else if (type == "Int32") {
    int32_t number = 0;
    if (JS_ToInt32(context_, &number, held) < 0) return false;
    out.append(name, number);
  } else if (type == "Decimal128") {
    const auto text = text_of(held);
    if (!text) return false;
    const auto number = bson::decimal_from_string(*text);
    if (!number) throw OperationError(139, "a NumberDecimal is no number: " + *text);
    out.append(name, *number);
  } else if (type == "Timestamp") {
    const auto seconds = part(0), increment = part(1);
    if (!seconds || !increment) return false;
    out.append(name, bson::Timestamp{number_in(seconds), number_in(increment)});
  } else if (type == "Binary") {
    const auto subtype = part(0), digits = part(1);
    if (!subtype || !digits) return false;
    const auto bytes = base::from_hex(*digits);
    if (!bytes) throw OperationError(139, "a BinData has no hex digits");
    out.append(name, bson::Binary{static_cast<uint8_t>(number_in(subtype)), *bytes});
  } else if (type == "MinKey" || type == "MaxKey") {
    out.append(name, bson::ValueView(type == "MinKey" ? Type::min_key : Type::max_key, {}));
  } else if (type == "Code") {
    const auto code = part(0);
    if (!code) return false;
    out.append(name, bson::ValueView(Type::code, bson::Value(*code).view().bytes()));
  } else {
    bson::Builder object = out.object(name);
    return append_fields(object, value, depth);
  }
  return true;
}

}  // namespace server::script
