// Arguments gives typed access to a document's fields, and fails as MongoDB's own parser does:
//
//   BSON field 'find.limit' is the wrong type 'string', expected types '[long, int, decimal, double']
//
// null and undefined count as missing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "bson/document.h"

namespace server {

struct Request;

class Arguments {
 public:
  // `path` begins the names in messages: it is the command ("find"), or "update.updates".
  Arguments(std::string path, bson::DocumentView fields) : path_(std::move(path)), fields_(fields) {}
  explicit Arguments(const Request& request);

  // These return nullopt if the field is missing, and throw TypeMismatch if it has the wrong type.
  std::optional<std::string_view> string(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;        // bool only
  std::optional<bool> loose_boolean(std::string_view name) const;  // bool or any number
  std::optional<int64_t> integer(std::string_view name) const;     // any number, truncated
  std::optional<double> number(std::string_view name) const;       // any number
  std::optional<bson::DocumentView> object(std::string_view name) const;
  std::optional<bson::DocumentView> array(std::string_view name) const;
  bson::Element any(std::string_view name) const;

  // Reads as `integer` does, and throws BadValue (51024) for a negative number, in MongoDB's words ("… value must be greater than
  // or equal to 0 …").
  std::optional<int64_t> unsigned_integer(std::string_view name) const;

  // These throw 40414 if the field is missing.
  std::string_view required_string(std::string_view name) const;
  int64_t required_integer(std::string_view name) const;
  bson::DocumentView required_object(std::string_view name) const;
  bson::DocumentView required_array(std::string_view name) const;

  // Throws 40415 for a field that isn't listed, and 40413 for a repeated one.
  void only(std::initializer_list<std::string_view> names) const;

  bson::DocumentView fields() const { return fields_; }
  std::string dotted(std::string_view name) const;  // "find.limit"

 private:
  bson::Element typed(std::string_view name, std::initializer_list<bson::Type> types) const;
  [[noreturn]] void missing(std::string_view name) const;

  std::string path_;
  bson::DocumentView fields_;
};

}  // namespace server
