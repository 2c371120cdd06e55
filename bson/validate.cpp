#include "bson/validate.h"

#include "base/utf8.h"
#include "bson/validate_value.h"

namespace bson {
namespace {

// Walks through the bytes once. Every length is compared with the bytes that are left before it is skipped, so no pointer ever
// goes beyond `end`.
class Validator {
 public:
  Validator(BytesView bytes, const ValidateOptions& options) : start_(bytes.data()), options_(options) {}

  // Checks the document at `at`, which must end before `end`. Returns its end, or nullptr when it is damaged.
  const char* document(const char* at, const char* end, int depth);
  // Does the same for a value.
  const char* value(Type type, const char* at, const char* end, int depth);

  base::Failure failure() const {
    if (too_deep_) {
      return {base::ErrorCode::overflow, "BSONObj exceeds maximum nested object depth: " + std::to_string(options_.depth_max)};
    }
    return {base::ErrorCode::invalid_bson, std::string(what_) + " at offset " + std::to_string(where_ - start_)};
  }

 private:
  const char* string(const char* at, const char* end);
  const char* cstring(const char* at, const char* end);
  const char* code_with_scope(const char* at, const char* end, int depth);
  const char* fixed(const char* at, const char* end, size_t bytes) {
    return static_cast<size_t>(end - at) < bytes ? fail("a value cut short", at) : at + bytes;
  }
  const char* fail(const char* what, const char* where) {
    what_ = what;
    where_ = where;
    return nullptr;
  }

  const char* start_;
  const ValidateOptions& options_;
  const char* what_ = "";
  const char* where_ = nullptr;
  bool too_deep_ = false;
};

const char* Validator::document(const char* at, const char* end, int depth) {
  const char* begin = at;
  if (end - at < 5) return fail("a document cut short", at);
  if (depth > options_.depth_max) {
    too_deep_ = true;
    return fail("too many levels", at);
  }
  const auto length = base::load_le<uint32_t>(at);
  if (length < 5 || length > static_cast<size_t>(end - at)) return fail("a document of impossible length", at);
  end = at + length;
  at += 4;
  const char* last = end - 1;  // the terminator's place
  if (*last != '\0') return fail("a document without terminator", last);
  while (at < last) {
    const auto type = static_cast<Type>(*at);
    if (type == Type::eod) return fail("a terminator before the end", at);
    const char* name = at + 1;
    at = cstring(name, last);
    if (!at) return nullptr;
    at = value(type, at, last, depth);
    if (!at) return nullptr;
  }
  return at == last ? end : fail("a value beyond its document", begin);
}

const char* Validator::value(Type type, const char* at, const char* end, int depth) {
  switch (type) {
    case Type::undefined:
    case Type::null:
    case Type::min_key:
    case Type::max_key: return at;
    case Type::boolean:
      if (at == end) return fail("a value cut short", at);
      return static_cast<uint8_t>(*at) > 1 ? fail("a boolean neither true nor false", at) : at + 1;
    case Type::int32: return fixed(at, end, 4);
    case Type::number_double:
    case Type::date:
    case Type::timestamp:
    case Type::int64: return fixed(at, end, 8);
    case Type::object_id: return fixed(at, end, 12);
    case Type::decimal128: return fixed(at, end, 16);
    case Type::string:
    case Type::code:
    case Type::symbol: return string(at, end);
    case Type::object:
    case Type::array: return document(at, end, depth + 1);
    case Type::binary: {
      if (end - at < 5) return fail("a value cut short", at);
      const auto length = base::load_le<uint32_t>(at);
      return length > static_cast<size_t>(end - at) - 5 ? fail("binary data of impossible length", at) : at + 5 + length;
    }
    case Type::regex: {
      const char* options = cstring(at, end);
      return options ? cstring(options, end) : nullptr;
    }
    case Type::db_pointer: {
      const char* id = string(at, end);
      return id ? fixed(id, end, 12) : nullptr;
    }
    case Type::code_with_scope: return code_with_scope(at, end, depth);
    case Type::eod: break;
  }
  return fail("a value of unknown type", at);
}

const char* Validator::code_with_scope(const char* at, const char* end, int depth) {
  if (end - at < 4 + 5 + 5) return fail("a value cut short", at);
  const auto length = base::load_le<uint32_t>(at);
  if (length < 4 + 5 + 5 || length > static_cast<size_t>(end - at)) return fail("code of impossible length", at);
  end = at + length;
  const char* scope = string(at + 4, end);
  if (!scope) return nullptr;
  const char* stop = document(scope, end, depth + 1);
  if (stop && stop != end) return fail("code longer than its parts", at);
  return stop;
}

const char* Validator::string(const char* at, const char* end) {
  if (end - at < 5) return fail("a string cut short", at);
  const auto length = base::load_le<uint32_t>(at);
  if (length < 1 || length > static_cast<size_t>(end - at) - 4) return fail("a string of impossible length", at);
  const char* stop = at + 4 + length;
  if (stop[-1] != '\0') return fail("a string without terminator", stop - 1);
  if (options_.utf8 && !base::is_utf8({at + 4, length - 1})) return fail("a string not in UTF-8", at);
  return stop;
}

const char* Validator::cstring(const char* at, const char* end) {
  const void* stop = std::memchr(at, '\0', static_cast<size_t>(end - at));
  if (!stop) return fail("a name without terminator", at);
  const char* terminator = static_cast<const char*>(stop);
  if (options_.utf8 && !base::is_utf8({at, static_cast<size_t>(terminator - at)})) return fail("a name not in UTF-8", at);
  return terminator + 1;
}

}  // namespace

base::Result<DocumentView> validate(BytesView bytes, const ValidateOptions& options) {
  if (bytes.size() < 5) return base::Failure{base::ErrorCode::invalid_bson, "a document cut short at offset 0"};
  const auto length = base::load_le<uint32_t>(bytes.data());
  if (length > options.bytes_max && length <= INT32_MAX) {
    return base::Failure{base::ErrorCode::bson_object_too_large, "BSONObj size: " + std::to_string(length) +
                                                                     " is invalid. Size must be between 0 and " +
                                                                     std::to_string(options.bytes_max)};
  }
  Validator validator(bytes, options);
  const char* end = validator.document(bytes.data(), bytes.data() + bytes.size(), 1);
  if (!end) return validator.failure();
  return DocumentView(bytes.substr(0, static_cast<size_t>(end - bytes.data())));
}

base::Result<ValueView> validate_value(Type type, BytesView bytes) {
  const ValidateOptions options;
  Validator validator(bytes, options);
  const char* end = validator.value(type, bytes.data(), bytes.data() + bytes.size(), 1);
  if (!end) return validator.failure();
  return ValueView(type, bytes.substr(0, static_cast<size_t>(end - bytes.data())));
}

}  // namespace bson
