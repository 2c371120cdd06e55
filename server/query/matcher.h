// A matcher is a parsed filter: it decides whether a document matches.
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

namespace server {
class Held;
}

namespace server::query {

namespace match {
class Node;
}

// A matcher is parsed once, then read-only; with $expr it belongs to one operation.
class Matcher {
 public:
  // Throws OperationError in MongoDB's words.
  static std::unique_ptr<Matcher> parse(bson::DocumentView filter, const ParseContext& context = {});

  // Parses a bare list of operators, {$gt: 5, $lt: 9}, for one value: $pull and projections' $elemMatch apply it to array
  // elements. Use matches_value with it.
  static std::unique_ptr<Matcher> parse_operators(bson::DocumentView operators, const ParseContext& context = {});
  // Returns whether `filter` is such a list instead of a filter over fields.
  static bool is_operators(bson::DocumentView filter);

  ~Matcher();

  bool matches(bson::DocumentView document) const;
  // Also finds the array element through which it matched ("3"), the outermost one of the last such predicate: positional $
  // stands for it. nullopt: it matched through none.
  bool matches(bson::DocumentView document, std::optional<std::string>& array_position) const;
  // Matches a value itself, without fanning out arrays; for parse_operators.
  bool matches_value(const bson::ValueView& value) const;

  // Returns the fields that must equal a value for the filter to match (top-level and inside $and; $in and $all of one value
  // count): an upsert's document starts with them.
  std::vector<std::pair<std::string, bson::Value>> equalities() const;

  const bson::Document& filter() const { return filter_; }
  const bson::CollatorPtr& collator() const { return collator_; }
  const match::Node& root() const { return *root_; }
  bool empty() const { return filter_.empty(); }

 private:
  Matcher(bson::Document filter, const ParseContext& context);
  bson::Document filter_;       // nodes borrow their values from it
  bson::CollatorPtr collator_;  // and this
  std::unique_ptr<Held> held_;  // what parsing made; nullptr: it isn't counted
  std::unique_ptr<match::Node> root_;
};

}  // namespace server::query
