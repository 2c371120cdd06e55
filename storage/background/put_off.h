// Failed background work is reported. It is tried again later, and at worst costs space.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace storage {

void log_put_off(const char* doing, const std::string& error, int64_t times = 1);

// Many pieces of work that fail, as they do over a damaged table, are one line: it has the first one's error, and how many
// failed.
class PutOff {
 public:
  explicit PutOff(const char* doing) : doing_(doing) {}

  void add(const std::exception& error);
  // Writes the line, if anything failed.
  void report() const;

 private:
  const char* const doing_;
  std::string first_;
  int64_t times_ = 0;
};

}  // namespace storage
