// A case file has sentences, each with commands and the replies that they must get.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bson/document.h"

namespace tests {

struct Exchange {
  int line = 0;
  std::string db;       // empty: the case's own
  std::string command;  // Extended JSON
  std::string reply;
};

struct Case {
  std::string name;
  int line = 0;
  std::vector<Exchange> exchanges;
};

// Throws std::runtime_error with the line of what can't be read.
std::vector<Case> parse_cases(const std::string& text);

// Values that replies had where they were expected to have "*=name": as JSON, by name.
using Kept = std::map<std::string, std::string>;

// Empty: `actual` is what `expected` asks for. Else where and how it differs. `kept`: values to keep go there; nullptr: nobody
// needs them.
std::string mismatch(bson::DocumentView expected, bson::DocumentView actual, Kept* kept = nullptr);

// Puts kept values in the place of "{{name}}": as a value of their type where that is the whole string, else as text. Throws
// std::runtime_error for a name under which nothing was kept.
std::string with_kept(const std::string& text, const Kept& kept);

}  // namespace tests
