// Metric families are made of a document of figures, as serverStatus returns it:
//
//   {opcounters: {insert: 5}}   ->   palimpsest_opcounters_total{type="insert"} 5
//
// Names are the fields' names, in Prometheus' form, with `palimpsest_` before them and `_total` behind counters'. Units are the
// fields' units. Times are seconds since 1970, with `_timestamp_seconds` behind the name. Booleans are 0 and 1. A text is left
// out, unless a rule says that it is a state.
#pragma once

#include <map>
#include <string>

#include <prometheus/metric_family.h>

#include "bson/document.h"

namespace server::exporter {

// Families by name, so that a name has one type and one help text.
class Families {
 public:
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  // Adds a value of a gauge, a counter or an untyped family.
  void add(const std::string& name, prometheus::MetricType type, const std::string& help, Labels labels, double value);
  void add(const std::string& name, const std::string& help, Labels labels, const prometheus::ClientMetric::Histogram& value);
  void add_status(bson::DocumentView status);

  std::vector<prometheus::MetricFamily> take();

 private:
  prometheus::MetricFamily& family(const std::string& name, prometheus::MetricType type, const std::string& help);

  std::map<std::string, prometheus::MetricFamily> by_name_;
};

}  // namespace server::exporter
