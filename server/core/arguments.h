// Typed access to a document's fields that fails as MongoDB's own parser does:
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
  // `path` begins the names in messages: the command ("find"), or "update.updates".
  Arguments(std::string path, bson::DocumentView fields) : path_(std::move(path)), fields_(fields) {}
  explicit Arguments(const Request& request);

  // nullopt: missing. Wrong type: TypeMismatch.
  std::optional<std::string_view> string(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;        // bool only
  std::optional<bool> loose_boolean(std::string_view name) const;  // bool or any number
  std::optional<int64_t> integer(std::string_view name) const;     // any number, truncated
  std::optional<double> number(std::string_view name) const;       // any number
  std::optional<bson::DocumentView> object(std::string_view name) const;
  std::optional<bson::DocumentView> array(std::string_view name) const;
  bson::Element any(std::string_view name) const;

  // As above, >= 0 or BadValue as MongoDB words it ("… value must be greater
  // than or equal to 0 …", code 51024).
  std::optional<int64_t> unsigned_integer(std::string_view name) const;

  // A missing one is refused with 40414.
  std::string_view required_string(std::string_view name) const;
  int64_t required_integer(std::string_view name) const;
  bson::DocumentView required_object(std::string_view name) const;
  bson::DocumentView required_array(std::string_view name) const;

  // Refuses every field that isn't listed with 40415 and repeated ones with 40413.
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
