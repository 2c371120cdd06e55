#include "tests/cases/case_file.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "bson/compare.h"
#include "bson/json.h"

namespace tests {
namespace {

std::string trimmed(const std::string& text) {
  const size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

[[noreturn]] void fail(int line, const std::string& why) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + why);
}

// Returns where the command begins behind the database's name, in which {{name}} may stand.
size_t document_start(const std::string& command) {
  size_t at = command.find('{');
  while (at != std::string::npos && command.compare(at, 2, "{{") == 0) at = command.find('{', at + 2);
  return at;
}

// Returns whether nothing but one error comes back, again and again: then something that all commands share is refused before
// what the case is about is reached.
bool repeats_one_error(const Case& each) {
  constexpr size_t few = 3;
  const std::string& first = each.exchanges.front().reply;
  return each.exchanges.size() >= few && first.starts_with("{ok: 0") &&
         std::all_of(each.exchanges.begin(), each.exchanges.end(),
                     [&](const Exchange& exchange) { return exchange.reply == first; });
}

std::string mismatch_value(const std::string& path, const bson::ValueView& expected, const bson::ValueView& actual, Kept* kept);

std::string mismatch_fields(const std::string& path, bson::DocumentView expected, bson::DocumentView actual, Kept* kept) {
  auto have = actual.begin();
  for (const bson::Element& want : expected) {
    if (want.name == "...") return {};
    const std::string here = path.empty() ? std::string(want.name) : path + "." + std::string(want.name);
    if (have == actual.end()) return here + ": missing";
    if (have->name != want.name) return here + ": found field \"" + std::string(have->name) + "\" instead";
    if (std::string why = mismatch_value(here, want, *have, kept); !why.empty()) return why;
    ++have;
  }
  if (have != actual.end()) return path + ": unexpected field \"" + std::string(have->name) + "\"";
  return {};
}

std::string mismatch_value(const std::string& path, const bson::ValueView& expected, const bson::ValueView& actual, Kept* kept) {
  if (expected.is_string()) {
    const std::string_view text = expected.as_string();
    if (text == "*") return {};
    if (text.starts_with("*=")) {
      if (kept) (*kept)[std::string(text.substr(2))] = bson::to_json(actual);
      return {};
    }
    if (text.size() > 1 && text.front() == '*') {
      if (bson::type_name(actual.type()) == text.substr(1)) return {};
      return path + ": expected a value of type " + std::string(text.substr(1)) + ", got " + bson::to_json(actual);
    }
    if (text.size() > 2 && text.front() == '/' && text.back() == '/' && actual.is_string()) {
      const std::regex pattern(std::string(text.substr(1, text.size() - 2)));
      if (std::regex_search(std::string(actual.as_string()), pattern)) return {};
      return path + ": " + std::string(text) + " not found in " + bson::to_json(actual);
    }
  }
  const bool nested = expected.is_object() || expected.is_array();
  if (nested && expected.type() == actual.type())
    return mismatch_fields(path, expected.as_document(), actual.as_document(), kept);
  if (bson::canonical_rank(expected.type()) == bson::canonical_rank(actual.type()) && bson::equal(expected, actual)) return {};
  return path + ": expected " + bson::to_json(expected) + ", got " + bson::to_json(actual);
}

}  // namespace

std::vector<Case> parse_cases(const std::string& text) {
  std::vector<Case> cases;
  std::istringstream lines(text);
  std::string line, block;
  int number = 0, block_line = 0;
  bool in_reply = false;

  const auto finish = [&] {
    const std::string body = trimmed(block);
    block.clear();
    if (body.empty()) return;
    if (cases.empty()) fail(block_line, "a case begins with ##");
    if (in_reply) {
      cases.back().exchanges.back().reply = body;
      in_reply = false;
      return;
    }
    fail(block_line, "a command without ---- and a reply");
  };

  while (std::getline(lines, line)) {
    ++number;
    const std::string bare = trimmed(line);
    if (bare.rfind("##", 0) == 0) {
      finish();
      cases.push_back({trimmed(bare.substr(2)), number, {}});
    } else if (bare.rfind('#', 0) == 0 && trimmed(block).empty()) {
      continue;
    } else if (bare == "----") {
      if (cases.empty()) fail(number, "a case begins with ##");
      Exchange exchange;
      exchange.line = block_line;
      exchange.command = trimmed(block);
      if (exchange.command.empty()) fail(number, "---- without a command before it");
      const size_t brace = document_start(exchange.command);
      if (brace == std::string::npos) fail(block_line, "a command is a document");
      exchange.db = trimmed(exchange.command.substr(0, brace));
      exchange.command.erase(0, brace);
      cases.back().exchanges.push_back(exchange);
      block.clear();
      in_reply = true;
    } else if (bare.empty() && in_reply) {
      finish();
    } else {
      if (trimmed(block).empty()) block_line = number;
      block += line + "\n";
    }
  }
  finish();
  for (const Case& each : cases) {
    if (each.exchanges.empty()) fail(each.line, "a case without commands");
    for (const Exchange& exchange : each.exchanges) {
      if (exchange.reply.empty()) fail(exchange.line, "a command without a reply");
    }
    if (repeats_one_error(each)) fail(each.line, "a case whose commands all get the same error");
  }
  return cases;
}

std::string mismatch(bson::DocumentView expected, bson::DocumentView actual, Kept* kept) {
  return mismatch_fields("", expected, actual, kept);
}

std::string with_kept(const std::string& text, const Kept& kept) {
  std::string out;
  size_t at = 0;
  for (size_t open = text.find("{{"); open != std::string::npos; open = text.find("{{", at)) {
    const size_t close = text.find("}}", open);
    if (close == std::string::npos) throw std::runtime_error("{{ without }}");
    const auto found = kept.find(text.substr(open + 2, close - open - 2));
    if (found == kept.end()) throw std::runtime_error("nothing was kept under " + text.substr(open, close + 2 - open));
    const std::string& value = found->second;
    const bool whole = open > 0 && text[open - 1] == '"' && close + 2 < text.size() && text[close + 2] == '"';
    const bool is_text = value.size() >= 2 && value.front() == '"';
    out += text.substr(at, open - at - (whole ? 1 : 0));
    out += is_text && !whole ? value.substr(1, value.size() - 2) : value;
    at = close + 2 + (whole ? 1 : 0);
  }
  return out + text.substr(at);
}

}  // namespace tests
