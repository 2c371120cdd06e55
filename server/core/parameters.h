// Knobs that can be read and turned by name: getParameter, setParameter and
// --setParameter.
//
// A part of the server registers what it reads; the value lives with the part:
//
//   std::atomic<int64_t> batch_max = 101;
//   parameters.add_integer("batchMax", batch_max, {.min = 1});
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include "bson/value.h"

namespace server {

// Registered at start; get and set are thread-safe after.
class ServerParameters {
 public:
  struct Parameter {
    std::function<bson::Value()> get;
    std::function<void(const bson::ValueView&)> set;  // throws OperationError; empty: can't be set
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

  // nullptr: no such parameter.
  const Parameter* find(std::string_view name) const;
  const std::map<std::string, Parameter, std::less<>>& all() const { return parameters_; }

  // Returns the value before. Throws InvalidOptions for an unknown name,
  // IllegalOperation for one that can't change now, BadValue for a bad value.
  bson::Value set(std::string_view name, const bson::ValueView& value);
  // From a command line, as text.
  void set_at_startup(std::string_view name, const std::string& text);

 private:
  std::map<std::string, Parameter, std::less<>> parameters_;
  std::mutex setting_;
};

}  // namespace server
