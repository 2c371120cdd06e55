#include "server/exporter/status_families.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "server/exporter/status_rules.h"

namespace server::exporter {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// "physicalBytesIn" and "bytes read into cache" become physical_bytes_in and bytes_read_into_cache.
void append_name(std::string_view field, std::string& name) {
  bool lower = false;  // the character before was a small letter or a digit
  for (const char c : field) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte)) {
      if (std::isupper(byte) && lower) name += '_';
      name += static_cast<char>(std::tolower(byte));
      lower = !std::isupper(byte);
    } else {
      if (name.back() != '_') name += '_';
      lower = false;
    }
  }
}

struct Figure {
  double value = 0;
  std::string_view suffix;
};

std::optional<Figure> figure_of(const bson::ValueView& value) {
  using bson::Type;
  switch (value.type()) {
    case Type::boolean: return Figure{value.as_bool() ? 1.0 : 0.0, ""};
    case Type::date: return Figure{static_cast<double>(value.as_date().ms) / 1000, "_timestamp_seconds"};
    case Type::timestamp: return Figure{static_cast<double>(value.as_timestamp().seconds), "_timestamp_seconds"};
    default: return value.is_number() ? std::optional(Figure{value.to_double(), ""}) : std::nullopt;
  }
}

class Walk {
 public:
  explicit Walk(Families& families) : families_(families) {}

  void over(bson::DocumentView document) {
    for (const auto& field : document) {
      path_.push_back(field.name);
      if (field.type() == bson::Type::object) {
        over(field.as_document());
      } else if (!is_left_out(path_)) {
        add(field);
      }
      path_.pop_back();
    }
  }

 private:
  void add(const bson::ValueView& value) {
    const bool state = value.type() == bson::Type::string && is_state(path_);
    const auto figure = state ? Figure{1, ""} : figure_of(value);
    if (!figure) return;
    const LabelRule* rule = label_rule(path_);
    const size_t labelled =
        rule ? static_cast<size_t>(std::count(rule->pattern.begin(), rule->pattern.end(), '.')) : path_.size();
    std::string name = "palimpsest", help = "serverStatus: ";
    Families::Labels labels;
    for (size_t i = 0; i < path_.size(); ++i) {
      if (i > 0) help += '.';
      if (i == labelled) {
        labels.push_back({std::string(rule->label), std::string(path_[i])});
        help += '*';
        continue;
      }
      help += path_[i];
      if (i == 0 && path_[i] == "metrics") continue;
      name += '_';
      append_name(path_[i], name);
    }
    if (state) labels.push_back({"state", std::string(value.as_string())});
    // A field is called `total` beside others that are parts of it, which says nothing of its type.
    constexpr std::string_view total = "_total";
    if (name.ends_with(total)) name.resize(name.size() - total.size());
    name += figure->suffix;
    const bool counts = !state && is_counter(path_);
    if (counts) name += total;
    families_.add(name,
                  counts              ? MetricType::Counter
                  : is_untyped(path_) ? MetricType::Untyped
                                      : MetricType::Gauge,
                  help, std::move(labels), figure->value);
  }

  Families& families_;
  Path path_;
};

}  // namespace

MetricFamily& Families::family(const std::string& name, MetricType type, const std::string& help) {
  MetricFamily& family = by_name_[name];
  if (family.name.empty()) {
    family.name = name;
    family.type = type;
    family.help = help;
  }
  return family;
}

void Families::add(const std::string& name, MetricType type, const std::string& help, Labels labels, double value) {
  MetricFamily& to = family(name, type, help);
  ClientMetric metric;
  metric.label = std::move(labels);
  switch (to.type) {
    case MetricType::Counter: metric.counter.value = value; break;
    case MetricType::Gauge: metric.gauge.value = value; break;
    default: metric.untyped.value = value; break;
  }
  to.metric.push_back(std::move(metric));
}

void Families::add(const std::string& name, const std::string& help, Labels labels, const ClientMetric::Histogram& value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.histogram = value;
  family(name, MetricType::Histogram, help).metric.push_back(std::move(metric));
}

void Families::add_status(bson::DocumentView status) {
  Walk(*this).over(status);
}

std::vector<MetricFamily> Families::take() {
  std::vector<MetricFamily> all;
  all.reserve(by_name_.size());
  for (auto& [name, family] : by_name_) all.push_back(std::move(family));
  by_name_.clear();
  return all;
}

}  // namespace server::exporter
