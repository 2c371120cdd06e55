// Accumulators take many values and return one: $group computes them per group,
// and $sum and others also over an array.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "bson/collator.h"
#include "bson/value.h"

namespace server {
class Allowance;
}

namespace server::query {

class Accumulator {
 public:
  virtual ~Accumulator() = default;
  virtual void add(const bson::ValueView& value) = 0;  // values may be missing; each kind of accumulator knows what that means
  virtual bson::Value result() const = 0;
  // Returns about how many bytes it holds, for $group's limit. To add a value is work on the value's bytes, the result is work on
  // these; what takes longer accounts for its work itself.
  virtual size_t bytes() const { return 64; }
};

// The form says which arguments an accumulator has beside its input.
enum class AccumulatorForm {
  plain,      // nothing: "$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$stdDevPop", "$mergeObjects",
              // "$count" …
  n,          // how many it keeps: "$firstN", "$lastN", "$minN", "$maxN"
  ordered,    // a sort pattern: "$top", "$bottom". Inputs are what `ordered_input` makes
  ordered_n,  // both: "$topN", "$bottomN"
  percentiles,  // which, and how: "$percentile", "$median"
};
// Returns nullopt if there is no accumulator of that name.
std::optional<AccumulatorForm> accumulator_form(std::string_view name);

struct AccumulatorSettings {
  int64_t n = 1;
  std::vector<double> percentiles{0.5};      // each is between 0 and 1
  const bson::Collator* collator = nullptr;  // strings are compared by it; it outlives the accumulator
  Allowance* allowance = nullptr;            // the same; nullptr: nobody can stop the work
};
std::unique_ptr<Accumulator> make_accumulator(std::string_view name, const AccumulatorSettings& settings = {});

// Reads the argument `n` of accumulators and expressions: returns how many they keep, or throws 5787902, 5787903 or 5787908; and
// the code for a specification that is no object.
int64_t n_argument(const bson::ValueView& n);
int n_not_object_code(std::string_view name);

// Joins a value with the key that it is sorted by: keys are compared as bytes.
bson::Value ordered_input(bson::BytesView key, const bson::ValueView& value);

}  // namespace server::query
