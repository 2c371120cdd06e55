// These rules say what the fields of serverStatus are to Prometheus.
//
// A rule's pattern has the names on the way to a field, with dots between: "opcounters.*". An asterisk fits one name, whatever
// is in it, and ** at the end fits all that are left.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace server::exporter {

using Path = std::vector<std::string_view>;

struct LabelRule {
  std::string_view pattern;
  std::string_view label;  // the name that the last asterisk stands for becomes this label's value
};

// The first rule whose pattern fits the beginning of the path; nullptr: there is none.
const LabelRule* label_rule(const Path& path);
bool is_left_out(const Path& path);
bool is_counter(const Path& path);
// Nobody knows which of these go up alone: they come from the storage engine.
bool is_untyped(const Path& path);
// A text of which each value is a state that something is in.
bool is_state(const Path& path);

// The patterns of counters; a test checks that each fits something.
const std::vector<std::string_view>& counter_patterns();
bool fits(std::string_view pattern, const Path& path);

}  // namespace server::exporter
