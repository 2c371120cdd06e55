// This file has $regexMatch, $regexFind and $regexFindAll.
#include "base/mutex.h"
#include "bson/builder.h"
#include "server/query/expressions/operator_support.h"
#include "server/query/expressions/text.h"
#include "server/query/regular_expression.h"

namespace server::query {
namespace {

using Compiled = std::shared_ptr<const RegularExpression>;

struct Given {
  std::string pattern, flags;
  bool operator==(const Given&) const = default;
};

Given given(const std::string& op, const ValueView& regex, const Value& options) {
  Given out;
  if (regex.type() == Type::regex) {
    out.pattern = regex.as_regex().pattern;
    out.flags = regex.as_regex().options;
  } else if (regex.is_string()) {
    out.pattern = regex.as_string();
  } else {
    fail(51105, op + " needs 'regex' to be of type string or regex");
  }
  if (out.pattern.find('\0') != std::string_view::npos)
    fail(51109, op + ": regular expression cannot contain an embedded null byte");
  if (options.exists() && !options.view().is_nullish()) {
    if (options.type() != Type::string) fail(51106, op + " needs 'options' to be of type string");
    if (!out.flags.empty()) fail(51107, op + ": found regex option(s) specified in both 'regex' and 'option' fields");
    out.flags = options.view().as_string();
  }
  if (out.flags.find('\0') != std::string_view::npos)
    fail(51110, op + ": regular expression options cannot contain an embedded null byte");
  return out;
}

Compiled compile(const std::string& op, const Given& given, Allowance* allowance) {
  uint32_t bits = PCRE2_UTF;
  for (std::string_view rest = given.flags; !rest.empty(); rest.remove_prefix(1)) {
    switch (rest.front()) {
      case 'i': bits |= PCRE2_CASELESS; break;
      case 'm': bits |= PCRE2_MULTILINE; break;
      case 's': bits |= PCRE2_DOTALL; break;
      case 'x': bits |= PCRE2_EXTENDED; break;
      case 'u': break;
      default: fail(51108, op + " invalid flag in regex options: " + std::string(rest.substr(0, byte_of_point(rest, 1))));
    }
  }
  const std::string message = "Invalid Regex in " + op + ": ";
  const RegularExpression::Refusal refusal{51111, message};
  return std::make_shared<const RegularExpression>(given.pattern, bits, RegularExpression::Code::interpreted, refusal, allowance);
}

// A pattern that isn't constant is often the same as that of the document before.
class LastPattern {
 public:
  Compiled of(const std::string& op, Given given, Allowance* allowance) {
    const base::MutexLock lock(mutex_);
    if (!compiled_ || given != given_) {
      compiled_ = nullptr;
      compiled_ = compile(op, given, allowance);
      given_ = std::move(given);
    }
    return compiled_;
  }

 private:
  base::Mutex mutex_;
  Given given_ GUARDED_BY(mutex_);
  Compiled compiled_ GUARDED_BY(mutex_);
};

enum class Want { whether, first, all };

// Appends {match, idx, captures} of the current match, which begins at the code point `point`.
void append_match(bson::Builder& out, std::string_view text, size_t point, const PCRE2_SIZE* ends, int groups,
                  uint32_t captures) {
  out.append("match", text.substr(ends[0], ends[1] - ends[0]));
  out.append("idx", static_cast<int32_t>(point));
  bson::ArrayBuilder list = out.array("captures");
  for (uint32_t i = 1; i <= captures; ++i) {
    if (static_cast<int>(i) < groups && ends[2 * i] != PCRE2_UNSET) {
      list.append(text.substr(ends[2 * i], ends[2 * i + 1] - ends[2 * i]));
    } else {
      list.append_null();
    }
  }
}

Value search(Frame& frame, const std::string& op, std::string_view text, const RegularExpression& regex, Want want) {
  frame.work_on(text.size());
  const auto data = regex.make_match_data();
  uint32_t captures = 0;
  pcre2_pattern_info(regex.code(), PCRE2_INFO_CAPTURECOUNT, &captures);
  Growth growth = frame.growth();
  bson::ArrayBuilder found;
  uint32_t known_as_utf8 = 0;              // the first search looks at the whole text
  size_t counted = 0, counted_points = 0;  // so many bytes have so many code points
  for (size_t at = 0; at <= text.size();) {
    frame.work(10);
    growth.reach(found.size());
    const int groups = regex.search(text, at, known_as_utf8, data.get(), frame.allowance());
    known_as_utf8 = PCRE2_NO_UTF_CHECK;
    if (groups == PCRE2_ERROR_NOMATCH) break;
    if (groups < 0)
      fail(51156, "Error occurred while executing the regular expression in " + op + ". Result code: " + std::to_string(groups));
    if (want == Want::whether) return Value(true);
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    // A pattern with \K in a lookahead may put a match's beginning before the last one's.
    if (ends[0] < counted) counted = counted_points = 0;
    counted_points += code_points(text.substr(counted, ends[0] - counted));
    counted = ends[0];
    if (want == Want::first) {
      bson::Builder out;
      append_match(out, text, counted_points, ends, groups, captures);
      return Value(out.done());
    }
    {
      bson::Builder out = found.object();
      append_match(out, text, counted_points, ends, groups, captures);
    }
    // An empty match advances by one whole character; there is none at the end of a text that isn't empty.
    at = ends[1];
    if (ends[1] == ends[0] && at < text.size()) at += byte_of_point(text.substr(at), 1);
    if (at == text.size()) break;
  }
  if (want == Want::whether) return Value(false);
  return want == Want::first ? Value::null() : found.done_value();
}

template <Want want>
ExpressionPtr parse_regex(std::string_view name, const ValueView& value, Scope& scope) {
  const std::string op(name);
  if (!value.is_object()) fail(51103, op + " expects an object of named arguments but found: " + named(value));
  ExpressionPtr input, regex, options;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "input") {
      input = parse_expression(field, scope);
    } else if (field.name == "regex") {
      regex = parse_expression(field, scope);
    } else if (field.name == "options") {
      options = parse_expression(field, scope);
    } else {
      fail(31024, op + " found an unknown argument: " + std::string(field.name));
    }
  }
  if (!input) fail(31022, op + " requires 'input' parameter");
  if (!regex) fail(31023, op + " requires 'regex' parameter");
  // A constant pattern is compiled once.
  Compiled fixed;
  if (regex->constant() && !regex->constant()->view().is_nullish() && (!options || options->constant())) {
    fixed = compile(op, given(op, *regex->constant(), options ? *options->constant() : Value()), scope.allowance());
  }
  return evaluated([op, input = std::move(input), regex = std::move(regex), options = std::move(options), fixed,
                    last = std::make_unique<LastPattern>()](Frame& frame) {
    const Value text = input->evaluate(frame), pattern = regex->evaluate(frame);
    const bool null = text.view().is_nullish() || pattern.view().is_nullish();
    if (!text.view().is_nullish() && text.type() != Type::string) fail(51104, op + " needs 'input' to be of type string");
    if (null)
      return want == Want::whether ? Value(false) : want == Want::first ? Value::null() : bson::ArrayBuilder().done_value();
    if (fixed) return search(frame, op, text.view().as_string(), *fixed, want);
    const Compiled found = last->of(op, given(op, pattern, options ? options->evaluate(frame) : Value()), frame.allowance());
    return search(frame, op, text.view().as_string(), *found, want);
  });
}

constexpr OperatorEntry entries[] = {
    {"$regexMatch", parse_regex<Want::whether>},
    {"$regexFind", parse_regex<Want::first>},
    {"$regexFindAll", parse_regex<Want::all>},
};

}  // namespace

std::span<const OperatorEntry> regex_operators() {
  return entries;
}

}  // namespace server::query
