// Parameters are settings that clients read and change by name: getParameter,
// setParameter and --setParameter.
//
// A part of the server registers the parameters that it reads; the value lives
// with the part:
//
//   std::atomic<int64_t> batch_max = 101;
//   parameters.add_integer("batchMax", batch_max, {.min = 1});
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "base/mutex.h"
#include "bson/value.h"

namespace server {

// Parameters are registered at start; after that, get and set are thread-safe.
class ServerParameters {
 public:
  struct Parameter {
    std::function<bson::Value()> get;
    std::function<void(const bson::ValueView&)> set;  // throws OperationError; empty: it can't be set
    bool at_startup = true;
    bool at_runtime = true;
  };
  struct Range {
    int64_t min = std::numeric_limits<int64_t>::min();
    int64_t max = std::numeric_limits<int64_t>::max();
    bool at_runtime = true;
  };

  void add(std::string name, Parameter parameter);
  void add_integer(std::string name, std::atomic<int64_t>& value, const Range& range);
  void add_integer(std::string name, std::atomic<int64_t>& value) { add_integer(std::move(name), value, Range{}); }
  void add_boolean(std::string name, std::atomic<bool>& value, bool at_runtime = true);

  // Returns nullptr if there is no such parameter.
  const Parameter* find(std::string_view name) const;
  const std::map<std::string, Parameter, std::less<>>& all() const { return parameters_; }

  // Returns the value before. Throws InvalidOptions for an unknown name, IllegalOperation for a parameter that can't change now,
  // and BadValue for a bad value.
  bson::Value set(std::string_view name, const bson::ValueView& value);
  // Sets a parameter from the text of a command line.
  void set_at_startup(std::string_view name, const std::string& text);

 private:
  std::map<std::string, Parameter, std::less<>> parameters_;
  base::Mutex setting_;  // one parameter is set at a time, so that set() returns the value that it replaced
};

}  // namespace server
