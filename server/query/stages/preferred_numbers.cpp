#include "server/query/stages/preferred_numbers.h"

#include <cmath>

namespace server::query {

namespace {

// Geometric steps are rounded; the exceptions are the standard's.
std::vector<int> electronic(int steps) {
  std::vector<int> decade;
  for (int i = 0; i < steps; ++i)
    decade.push_back(static_cast<int>(std::lround(100 * std::pow(10.0, static_cast<double>(i) / steps))));
  if (steps == 192) decade[185] = 920;
  return decade;
}

std::vector<int> tens(std::initializer_list<int> values) {
  std::vector<int> decade;
  for (const int value : values) decade.push_back(10 * value);
  return decade;
}

// Takes every n-th number of R80.
std::vector<int> renard(size_t steps) {
  static constexpr int r80[] = {100, 103, 106, 109, 112, 115, 118, 122, 125, 128, 132, 136, 140, 145, 150, 155,
                                160, 165, 170, 175, 180, 185, 190, 195, 200, 206, 212, 218, 224, 230, 236, 243,
                                250, 258, 265, 272, 280, 290, 300, 307, 315, 325, 335, 345, 355, 365, 375, 387,
                                400, 412, 425, 437, 450, 462, 475, 487, 500, 515, 530, 545, 560, 580, 600, 615,
                                630, 650, 670, 690, 710, 730, 750, 775, 800, 825, 850, 875, 900, 925, 950, 975};
  std::vector<int> decade;
  for (size_t i = 0; i < 80; i += 80 / steps) decade.push_back(r80[i]);
  return decade;
}

}  // namespace

std::optional<PreferredNumbers> PreferredNumbers::named(std::string_view name) {
  if (name == "POWERSOF2") return PreferredNumbers({});
  if (name == "1-2-5") return PreferredNumbers({100, 200, 500});
  if (name == "R5") return PreferredNumbers(renard(5));
  if (name == "R10") return PreferredNumbers(renard(10));
  if (name == "R20") return PreferredNumbers(renard(20));
  if (name == "R40") return PreferredNumbers(renard(40));
  if (name == "R80") return PreferredNumbers(renard(80));
  if (name == "E6") return PreferredNumbers(tens({10, 15, 22, 33, 47, 68}));
  if (name == "E12") return PreferredNumbers(tens({10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82}));
  if (name == "E24") {
    return PreferredNumbers(
        tens({10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91}));
  }
  if (name == "E48") return PreferredNumbers(electronic(48));
  if (name == "E96") return PreferredNumbers(electronic(96));
  if (name == "E192") return PreferredNumbers(electronic(192));
  return std::nullopt;
}

double PreferredNumbers::number(int exponent, size_t i) const {
  const auto value = static_cast<double>(decade_[i]);
  // Division by an exact power of ten rounds once; multiplication by its inverse would round twice.
  return exponent >= 0 ? value * std::pow(10.0, exponent) : value / std::pow(10.0, -exponent);
}

double PreferredNumbers::above(double value) const {
  if (value == 0 || std::isinf(value)) return value;
  if (decade_.empty()) return std::exp2(std::floor(std::log2(value)) + 1);
  for (int exponent = static_cast<int>(std::floor(std::log10(value))) - 3;; ++exponent) {
    for (size_t i = 0; i < decade_.size(); ++i) {
      if (const double next = number(exponent, i); next > value) return next;
    }
  }
}

double PreferredNumbers::below(double value) const {
  if (value == 0 || std::isinf(value)) return value;
  if (decade_.empty()) return std::exp2(std::ceil(std::log2(value)) - 1);
  for (int exponent = static_cast<int>(std::floor(std::log10(value))) - 1;; --exponent) {
    for (size_t i = decade_.size(); i-- > 0;) {
      if (const double next = number(exponent, i); next < value) return next;
    }
  }
}

}  // namespace server::query
