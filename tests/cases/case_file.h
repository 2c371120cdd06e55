// A file of cases: sentences, each with commands and the replies they must get.
#pragma once

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

// Empty: `actual` is what `expected` asks for. Else where and how it differs.
std::string mismatch(bson::DocumentView expected, bson::DocumentView actual);

}  // namespace tests
