// $regex searches texts for a pattern, and its bounds over an index come from what the pattern begins with.
#pragma once

#include <string>

#include "server/query/match/node.h"
#include "server/query/regular_expression.h"

namespace server::query::match {

// A Pattern is a compiled regular expression.
class Pattern {
 public:
  // Options are i, m, s, x, u. Throws 51108 for another, 51091 for a bad pattern. The allowance is as RegularExpression's.
  Pattern(std::string_view pattern, std::string_view options, Allowance* allowance);

  // Searches anywhere in `text`. A match that exceeds PCRE2's limits counts as none. Throws what Allowance::work throws; nullptr:
  // nobody can stop the search.
  bool found_in(std::string_view text, Allowance* allowance) const;

 private:
  const RegularExpression compiled_;
};

class RegexNode : public PathNode {
 public:
  RegexNode(std::string_view path, std::string_view pattern, std::string_view options, Allowance* allowance);

  bson::Regex regex() const { return {pattern_, options_}; }
  // Returns the prefix of every matching string, for index bounds. `exact`: each string with that prefix matches. Empty: no
  // prefix is known.
  std::string prefix(bool& exact) const;

  bool matches_value(const bson::ValueView& value) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  const std::string pattern_;
  const std::string options_;
  const Pattern compiled_;
};

}  // namespace server::query::match
