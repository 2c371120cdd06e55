// $regex uses PCRE2, compiled to machine code if possible, with limits on backtracking.
#pragma once

#include <memory>
#include <string>

#include "server/query/match/node.h"

namespace server::query::match {

// A compiled regular expression. Thread-safe.
class Pattern {
 public:
  // Options are i, m, s, x, u. Throws 51108 for another, 51091 for a bad pattern.
  Pattern(std::string_view pattern, std::string_view options);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Searches anywhere in `text`. A match that exceeds its limits counts as none.
  bool found_in(std::string_view text) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

class RegexNode : public PathNode {
 public:
  RegexNode(std::string_view path, std::string_view pattern, std::string_view options);

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
