// A grammar makes documents of known shapes out of any bytes, so that a fuzzer gets behind the parsers.
//
//   Grammar grammar;
//   grammar.add("number", {"1", "-2.5", "'$a'", "{$add: ['@number', '@number']}"});
//   Value value = grammar.make("number", choices);     {$add: ["$a", 1]}
//
// A rule is a list of alternatives, each written as JSON (bson/json.h):
//
//   '@number'              stands for what the rule `number` makes, as a value or as a field's name
//   {'a?': 1}              the field is there or not
//   ['@…', {'@many': T}]   up to three elements made of T
//   {'@many': {…}}         its fields, up to three times
//   '@any'                 a value of any BSON type: this rule is always there
//
// The input's bytes choose among alternatives. A rule's first alternative is its simplest, and names no other rule: it is taken
// once the input is used up, and where values are nested deeply.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bson/value.h"

namespace bson::testing {

// Choices come from an input's bytes, one after the other.
class Choices {
 public:
  explicit Choices(BytesView bytes) : left_(bytes) {}

  // Returns a number below `count`; 0 when the bytes are used up.
  size_t below(size_t count);
  // True for one of `count` bytes, and false when they are used up.
  bool one_in(size_t count) { return below(count) == count - 1; }
  bool used_up() const { return left_.empty(); }
  BytesView take(size_t bytes);

 private:
  BytesView left_;
};

class Grammar {
 public:
  // Is given what a rule made, and may return something else to stand in its place.
  using Replace = std::function<std::optional<Value>(std::string_view rule, const ValueView& made)>;

  // Adds alternatives, at the end of those that are there. Throws OperationError for what is no JSON.
  Grammar& add(const std::string& rule, const std::vector<std::string>& alternatives);
  bool has(const std::string& rule) const { return rules_.contains(rule); }

  // Now and then a value of any type stands where another one should, if `misfits`. A rule that isn't there ends the process.
  Value make(const std::string& rule, Choices& choices, bool misfits = true, const Replace& replace = nullptr) const;
  // The same for a rule of objects. What is none becomes an empty one.
  Document document(const std::string& rule, Choices& choices, bool misfits = true) const;

 private:
  class Making;
  std::map<std::string, std::vector<Value>, std::less<>> rules_;
};

}  // namespace bson::testing
