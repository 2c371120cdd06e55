// Values go from BSON to JavaScript and back.
//
//   double, int32                 number          a number comes back as a double; an int32 that was left as it was, as int32
//   int64, decimal128             NumberLong, NumberDecimal
//   objectId, binary, timestamp   ObjectId, BinData, Timestamp
//   date, regex                   Date, RegExp
//   code, with or without scope   a function or an expression's Code
//   the others                    as JavaScript has them
#pragma once

#include <quickjs.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>

#include "bson/builder.h"

namespace server::script {

class Values {
 public:
  // `context` has run the prelude.
  explicit Values(JSContext* context);
  ~Values();
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  // Returns JS_EXCEPTION if there is no memory for it, or a regular expression isn't one.
  JSValue make(const bson::ValueView& value);
  JSValue make(bson::DocumentView document);

  // Appends the value. Returns false if JavaScript code, which this may run (getters), threw an exception. Throws 17279 and
  // 17260 for objects that are too deep or too long.
  bool append(bson::Builder& out, std::string_view name, JSValueConst value, int depth = 0);

 private:
  JSValue construct(const char* type, std::initializer_list<JSValue> arguments);
  JSValue fields_of(bson::DocumentView document, JSValue object);
  bool append_object(bson::Builder& out, std::string_view name, JSValueConst value, int depth);
  // Appends the property `atom` of the object; `ints` is the object's note of them.
  bool append_field(bson::Builder& out, std::string_view name, JSValueConst object, JSAtom atom, JSValueConst ints, int depth);
  bool append_fields(bson::Builder& out, JSValueConst value, int depth);
  bool append_elements(bson::Builder& out, std::string_view name, JSValueConst value, int depth);
  bool append_typed(bson::Builder& out, std::string_view name, const std::string& type, JSValueConst value, int depth);
  bool append_regex(bson::Builder& out, std::string_view name, JSValueConst value);
  std::optional<std::string> text_of(JSValueConst value);
  std::optional<std::string> text_of(JSValueConst object, const char* property);

  JSContext* const context_;
  std::map<std::string, JSValue, std::less<>> types_;  // the prelude's constructors
  JSAtom type_atom_, value_atom_, ints_atom_;
};

}  // namespace server::script
