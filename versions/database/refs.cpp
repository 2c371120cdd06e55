#include "versions/database/refs.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "versions/database/branched_database.h"
#include "versions/past/snapshots.h"

namespace versions {

namespace {

constexpr size_t name_bytes_max = 100;
constexpr std::string_view stash_prefix = ".stash/";  // a dot begins no name of a branch or tag
constexpr uint32_t step_max = 1'000'000'000;

// Returns the text with what can't be read, or would end an error's message, as in a database's name: %00.
std::string readable(std::string_view text) {
  const bool is_utf8 = base::is_utf8(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f && (byte < 0x80 || is_utf8)) {
      out.push_back(c);
    } else {
      constexpr char digits[] = "0123456789ABCDEF";
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

[[noreturn]] void refuse(std::string_view text, const char* why) {
  throw base::OperationError(base::ErrorCode::bad_value,
                             "'" + readable(text) + "' is no name of a branch, tag or commit: " + why);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1, low = high < 0 ? -1 : hex_digit(text[i + 2]);
    if (low < 0) refuse(text, "a % begins two hex digits");
    out.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return out;
}

}  // namespace

DatabaseName split_name(std::string_view name) {
  const size_t at = name.find('@');
  if (at == name.npos) return {name, std::nullopt};
  return {name.substr(0, at), name.substr(at + 1)};
}

Ref parse_ref(std::string_view text) {
  const size_t end = std::min(text.find_first_of("~^"), text.size());
  Ref ref{.name = unescaped(text.substr(0, end))};
  check_ref_name(ref.name);
  for (size_t i = end; i < text.size();) {
    Ref::Step step{text[i++], 0};
    if (step.kind != '~' && step.kind != '^') refuse(text, "behind ~ and ^ there are digits");
    const size_t digits = i;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      step.count = step.count * 10 + static_cast<uint32_t>(text[i] - '0');
      if (step.count > step_max) refuse(text, "that far back there is nothing");
    }
    if (i == digits) step.count = 1;
    ref.steps.push_back(step);
  }
  return ref;
}

Ref ref_of_database(std::string_view db) {
  const auto ref = split_name(db).ref;
  return ref ? parse_ref(*ref) : Ref{.name = std::string(BranchedDatabase::main)};
}

bool looks_like_commit(std::string_view name) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() >= 8 && name.size() <= 64 && std::all_of(name.begin(), name.end(), is_digit);
}

void check_ref_name(std::string_view name) {
  if (name.empty()) refuse(name, "it is empty");
  if (name.size() > name_bytes_max) refuse(name, "it is longer than 100 bytes");
  if (!base::is_utf8(name)) refuse(name, "it is not valid UTF-8");
  if (name.front() == '-' || name.front() == '.') refuse(name, "it begins with a - or a dot");
  for (const char c : name) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) refuse(name, "a blank or a control character is in it");
    if (std::string_view("~^@:%$\"\\*?<>|[").find(c) != std::string_view::npos) refuse(name, "one of ~^@:%$\"\\*?<>|[ is in it");
  }
}

void check_branch_name(std::string_view name) {
  check_ref_name(name);
  if (looks_like_commit(name)) refuse(name, "it could be taken for a commit's id");
}

void check_new_name(std::string_view name) {
  check_branch_name(name);
  if (past::says_when(name)) refuse(name, "it says a number or a time");
}

std::string stash_name(uint64_t number, std::string_view branch) {
  return std::string(stash_prefix) + std::to_string(number) + "/" + std::string(branch);
}

bool is_stash_name(std::string_view name) {
  return name.starts_with(stash_prefix);
}

std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '.')
      out += "%2E";
    else if (c == '/')
      out += "%2F";
    else
      out.push_back(c);
  }
  return out;
}

std::string usual_name(std::string_view db) {
  const auto [database, ref] = split_name(db);
  if (!ref) return std::string(db);
  try {
    const Ref parsed = parse_ref(*ref);
    if (parsed.name == BranchedDatabase::main && parsed.steps.empty()) return std::string(database);
    const size_t steps = std::min(ref->find_first_of("~^"), ref->size());
    return std::string(database) + "@" + escaped(parsed.name) + std::string(ref->substr(steps));
  } catch (const base::OperationError&) {
    return std::string(db);
  }
}

std::string name_in_snapshot(std::string_view db, uint64_t number) {
  std::string name(db);
  if (!split_name(db).ref) name.append("@").append(BranchedDatabase::main);
  return name + "@s" + std::to_string(number);
}

}  // namespace versions
