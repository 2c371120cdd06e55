// A history is what clients saw. It is checked whether one order of the operations explains everything.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace simulation {

struct RegisterOperation {
  enum class Kind { read, write, compare_and_set };
  Kind kind;
  int64_t called;
  std::optional<int64_t> returned;  // nullopt: it isn't known whether it happened
  int64_t value = 0;                // written, or read
  int64_t expected = 0;             // of compare_and_set
  bool succeeded = true;            // of compare_and_set
};

// Checks one register, which is 0 at first (Wing and Gong 1993, remembering what was tried, as in Lowe 2017). `unclear`
// operations may have happened at any time after their call, or never.
bool linearizable(const std::vector<RegisterOperation>& history);

struct SetOperation {
  bool add;
  int64_t called;
  std::optional<int64_t> returned;
  int64_t value = 0;           // added
  std::set<int64_t> contents;  // read
};

// Checks a set that only grows. Returns an empty string when it is explained, else what is wrong.
std::string set_fault(const std::vector<SetOperation>& history);

}  // namespace simulation
