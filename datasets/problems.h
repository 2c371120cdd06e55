// Problems says what is wrong with the input, and whether to go on.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace datasets {

struct Problem {
  std::string file;
  uint64_t offset = 0;  // the byte in the file after decompression
  uint64_t line = 0;    // from 1; 0 where lines mean nothing
  std::string message;
};

// Returns "wiki.xml.zst: line 12, byte 345: mismatched tag".
std::string to_string(const Problem& problem);

class InputError : public std::runtime_error {
 public:
  explicit InputError(const Problem& problem) : std::runtime_error(to_string(problem)) {}
  explicit InputError(const std::string& message) : std::runtime_error(message) {}
};

// Collects problems. With `stop` the first one is thrown as InputError; with `skip` it is
// counted, the first few are kept, and the loader leaves out what it couldn't read. It isn't
// thread-safe.
class Problems {
 public:
  enum class Policy { skip, stop };
  explicit Problems(Policy policy) : policy_(policy) {}

  void report(Problem problem);

  uint64_t count() const { return count_; }
  const std::vector<Problem>& kept() const { return kept_; }

 private:
  static constexpr size_t kept_max = 100;

  Policy policy_;
  uint64_t count_ = 0;
  std::vector<Problem> kept_;
};

}  // namespace datasets
