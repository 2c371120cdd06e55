#include "server/exporter/version_families.h"

namespace server::exporter {

void add_versions(bson::DocumentView stats, Families& families) {
  static constexpr std::pair<const char*, const char*> figures[] = {{"branches", "branches"},
                                                                    {"tags", "tags"},
                                                                    {"commits", "commits"},
                                                                    {"droppedCommits", "dropped_commits"},
                                                                    {"versions", "versions"}};
  const auto name = stats["db"];
  if (name.type() != bson::Type::string) return;
  for (const auto& [field, metric] : figures) {
    const auto value = stats[field];
    if (!value.is_number()) continue;
    families.add("palimpsest_versions_" + std::string(metric), prometheus::MetricType::Gauge,
                 "versionStats: " + std::string(field), {{"database", std::string(name.as_string())}}, value.to_double());
  }
}

}  // namespace server::exporter
