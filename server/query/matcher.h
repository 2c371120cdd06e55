// A filter, parsed: decides whether a document matches.
//
//   {qty: {$gt: 5}, $or: [{a: 1}, {"b.c": null}]}
//
//   and ─┬─ gt  "qty" 5
//        └─ or ─┬─ eq "a" 1
//               └─ eq "b.c" null
//
// The tree's nodes are in match/; how paths meet arrays is in match/path.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bson/document.h"
#include "bson/value.h"
#include "server/query/parse_context.h"

namespace server::query {

namespace match {
class Node;
}

// Parsed once, then read-only; $expr makes it belong to one operation.
class Matcher {
 public:
  // Throws OperationError as MongoDB words it.
  static std::unique_ptr<Matcher> parse(bson::DocumentView filter, const ParseContext& context = {});

  // A bare list of operators, {$gt: 5, $lt: 9}, for one value: what $pull and
  // projections' $elemMatch apply to array elements. Use matches_value with it.
  static std::unique_ptr<Matcher> parse_operators(bson::DocumentView operators, const ParseContext& context = {});
  // Whether `filter` is such a list rather than a filter over fields.
  static bool is_operators(bson::DocumentView filter);

  ~Matcher();

  bool matches(bson::DocumentView document) const;
  // Also tells through which element of an array it matched ("3"), the outermost
  // one, the last predicate winning: what positional $ stands for. nullopt: through none.
  bool matches(bson::DocumentView document, std::optional<std::string>& array_position) const;
  // Against a value itself, arrays not fanned out; for parse_operators.
  bool matches_value(const bson::ValueView& value) const;

  // Fields that must equal a value for the filter to match (top-level and
  // inside $and; $in and $all of one value count): what an upsert starts its document with.
  std::vector<std::pair<std::string, bson::Value>> equalities() const;

  const bson::Document& filter() const { return filter_; }
  const match::Node& root() const { return *root_; }
  bool empty() const { return filter_.empty(); }

 private:
  Matcher(bson::Document filter);
  bson::Document filter_;  // nodes borrow their values from it
  std::unique_ptr<match::Node> root_;
};

}  // namespace server::query
