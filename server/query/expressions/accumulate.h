// Accumulators: many values in, one out. What $group computes per group, and
// $sum and its like over an array.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bson/value.h"

namespace server::query {

class Accumulator {
 public:
  virtual ~Accumulator() = default;
  virtual void add(const bson::ValueView& value) = 0;  // missing values too: each kind knows what to do with them
  virtual bson::Value result() const = 0;
  // Bytes held, about: for $group's limit.
  virtual size_t bytes() const { return 64; }
};

// What is said of an accumulator beside its input.
enum class AccumulatorForm {
  plain,      // nothing: "$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$stdDevPop", "$mergeObjects",
              // "$count" …
  n,          // how many it keeps: "$firstN", "$lastN", "$minN", "$maxN"
  ordered,    // a sort pattern: "$top", "$bottom". Inputs are what `ordered_input` makes
  ordered_n,  // both: "$topN", "$bottomN"
  percentiles,  // which, and how: "$percentile", "$median"
};
// nullopt: no accumulator of that name.
std::optional<AccumulatorForm> accumulator_form(std::string_view name);

struct AccumulatorSettings {
  int64_t n = 1;
  std::vector<double> percentiles{0.5};  // 0 to 1 each
};
std::unique_ptr<Accumulator> make_accumulator(std::string_view name, const AccumulatorSettings& settings = {});

// A value with what it is sorted by: keys are compared as bytes.
bson::Value ordered_input(bson::BytesView key, const bson::ValueView& value);

}  // namespace server::query
