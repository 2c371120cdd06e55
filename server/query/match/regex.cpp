#include "server/query/match/regex.h"

#include "server/core/text.h"
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

uint32_t compile_options(std::string_view options) {
  // Text that isn't UTF-8 doesn't match at its invalid bytes, instead of failing.
  uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
  for (size_t i = 0; i < options.size(); ++i) {
    switch (options[i]) {
      case 'i': flags |= PCRE2_CASELESS; break;
      case 'm': flags |= PCRE2_MULTILINE; break;
      case 's': flags |= PCRE2_DOTALL; break;
      case 'x': flags |= PCRE2_EXTENDED; break;
      case 'u': break;
      default: throw base::OperationError(51108, "invalid flag in regex options: " + std::string(character_at(options, i)));
    }
  }
  return flags;
}

}  // namespace

Pattern::Pattern(std::string_view pattern, std::string_view options, Allowance* allowance)
    : compiled_(pattern, compile_options(options), RegularExpression::Code::machine, {51091, "Regular expression is invalid: "},
                allowance) {}

bool Pattern::found_in(std::string_view text, Allowance* allowance) const {
  // Matching needs scratch memory, and patterns are shared.
  thread_local const RegularExpression::MatchData scratch(pcre2_match_data_create(1, nullptr));
  if (allowance) allowance->work_on(text.size());
  return compiled_.search(text, 0, 0, scratch.get(), allowance) >= 0;
}

RegexNode::RegexNode(std::string_view path, std::string_view pattern, std::string_view options, Allowance* allowance)
    : PathNode(Kind::regex, path, LeafArray::expand),
      pattern_(pattern),
      options_(options),
      compiled_(pattern, options, allowance) {}

bool RegexNode::matches_value(const bson::ValueView& value) const {
  switch (value.type()) {
    case bson::Type::string:
    case bson::Type::symbol: return compiled_.found_in(value.as_string(), allowance());
    case bson::Type::regex: return value.as_regex().pattern == pattern_ && value.as_regex().options == options_;
    default: return false;
  }
}

void RegexNode::append_operator(bson::Builder& out) const {
  out.append("$regex", pattern_);
  if (!options_.empty()) out.append("$options", options_);
}

std::string RegexNode::prefix(bool& exact) const {
  exact = false;
  if (!options_.empty() && options_ != "s") return {};
  std::string_view rest = pattern_;
  if (rest.starts_with('^')) {
    rest.remove_prefix(1);
  } else if (rest.starts_with("\\A")) {
    rest.remove_prefix(2);
  } else {
    return {};
  }
  // If there is an alternative or a verb anywhere, the anchor doesn't hold for the others.
  if (rest.find('|') != rest.npos || rest.starts_with("(*")) return {};
  std::string prefix;
  for (; !rest.empty(); rest.remove_prefix(1)) {
    char c = rest.front();
    if (c == '*' || c == '?' || c == '{') {
      // The character before may be absent, so a whole UTF-8 character is removed.
      while (!prefix.empty() && (prefix.back() & 0xc0) == 0x80) prefix.pop_back();
      if (!prefix.empty()) prefix.pop_back();
      return prefix;
    }
    if (c == '\\') {
      if (rest.size() < 2 || isalnum(static_cast<unsigned char>(rest[1])) || static_cast<unsigned char>(rest[1]) >= 0x80)
        return prefix;
      rest.remove_prefix(1);
      c = rest.front();
    } else if (std::string_view("[]().^$+}").find(c) != std::string_view::npos) {
      return prefix;
    }
    prefix.push_back(c);
  }
  exact = true;
  return prefix;
}

NodePtr make_regex(std::string_view path, const bson::ValueView& value, const Parsing& parsing) {
  const bson::Regex regex = value.as_regex();
  return std::make_unique<RegexNode>(path, regex.pattern, regex.options, parsing.context.allowance);
}

namespace {

NodePtr parse_regex(std::string_view path, const bson::Element& operand, bson::DocumentView operators, Parsing& parsing) {
  std::string_view pattern, options;
  if (operand.is_string()) {
    pattern = operand.as_string();
  } else if (operand.type() == bson::Type::regex) {
    pattern = operand.as_regex().pattern;
    options = operand.as_regex().options;
  } else {
    bad_value("$regex has to be a string");
  }
  if (const bson::Element given = operators.find("$options"); given.exists()) {
    if (!given.is_string()) bad_value("$options has to be a string");
    if (!options.empty()) {
      const bool options_first = given.bytes().data() < operand.bytes().data();
      throw base::OperationError(options_first ? 51074 : 51075, "options set in both $regex and $options");
    }
    options = given.as_string();
  }
  if (pattern.find('\0') != pattern.npos) {
    throw base::OperationError(51109, "Regular expression cannot contain an embedded null byte");
  }
  return std::make_unique<RegexNode>(path, pattern, options, parsing.context.allowance);
}

NodePtr parse_options(std::string_view, const bson::Element&, bson::DocumentView operators, Parsing&) {
  if (!operators.has("$regex")) bad_value("$options needs a $regex");
  return nullptr;
}

constexpr PathOperatorRow path_operators[] = {{"$regex", parse_regex}, {"$options", parse_options}};

}  // namespace

Family regex_family() {
  return {path_operators, {}};
}

}  // namespace server::query::match
