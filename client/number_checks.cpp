#include "client/number_checks.h"

#include <charconv>
#include <cstdint>

namespace client {
namespace {

CLI::Validator at_least(int64_t least, const std::string& wanted, const std::string& kind) {
  return {[=](std::string& given) {
            int64_t number = 0;
            const char* const end = given.data() + given.size();
            const auto [rest, error] = std::from_chars(given.data(), end, number);
            if (error == std::errc() && rest == end && number >= least) return std::string();
            return "'" + given + "' is not " + wanted;
          },
          kind};
}

}  // namespace

CLI::Validator above_zero() {
  return at_least(1, "a whole number above 0", "POSITIVE");
}

CLI::Validator zero_or_above() {
  return at_least(0, "a whole number, 0 or above", "NONNEGATIVE");
}

}  // namespace client
