// Series of preferred numbers have steps of about equal proportion.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace server::query {

class PreferredNumbers {
 public:
  // Knows R5 … R80 (ISO 3), E6 … E192 (IEC 60063), 1-2-5, POWERSOF2; nullopt: there is no such series.
  static std::optional<PreferredNumbers> named(std::string_view name);

  // Return the next number of the series, strictly above or below; 0 for 0. `value` >= 0.
  double above(double value) const;
  double below(double value) const;

 private:
  explicit PreferredNumbers(std::vector<int> decade) : decade_(std::move(decade)) {}
  double number(int exponent, size_t i) const;

  std::vector<int> decade_;  // from 100 to below 1000; empty: powers of two
};

}  // namespace server::query
