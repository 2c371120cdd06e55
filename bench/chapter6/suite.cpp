#include "bench/chapter6/suite.h"

#include <fmt/core.h>

#include <cstdio>

#include "datasets/replay/progress.h"

namespace bench::chapter6 {

const Workload& Suite::in_file_order(const std::string& name) {
  const auto found = file_order_.find(name);
  if (found != file_order_.end()) return found->second;
  Workload workload = load(name, settings.data).sample(settings.bytes_max);
  say(fmt::format("{}: {} records, {} from {}", name, datasets::replay::grouped(workload.records.size()),
                  datasets::replay::bytes_text(static_cast<double>(workload.bytes())), workload.source));
  report.about.emplace_back(name, fmt::format("{}, {} records, {}", workload.source, datasets::replay::grouped(workload.records.size()),
                                              datasets::replay::bytes_text(static_cast<double>(workload.bytes()))));
  return file_order_.emplace(name, std::move(workload)).first->second;
}

const Workload& Suite::by_time(const std::string& name) {
  const auto found = by_time_.find(name);
  if (found != by_time_.end()) return found->second;
  return by_time_.emplace(name, in_file_order(name).by_time()).first->second;
}

const Workload& Suite::tuning(const std::string& name) {
  const auto found = tuning_.find(name);
  if (found != tuning_.end()) return found->second;
  return tuning_.emplace(name, by_time(name).sample(settings.tuning_bytes_max)).first->second;
}

void Suite::let_go(const std::string& name) {
  file_order_.erase(name);
  by_time_.erase(name);
}

Figure& Suite::figure(const std::string& number, const std::string& title) {
  report.figures.push_back({number, title, {}, {}, {}, {}});
  return report.figures.back();
}

void Suite::say(const std::string& line) const {
  if (settings.quiet) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  std::fprintf(stderr, "bench: %7.1f s  %s\n", seconds, line.c_str());
}

}  // namespace bench::chapter6
