#include "bench/chapter6/figures.h"

namespace bench::chapter6 {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = {
      {"T4.1", encoding_schemes},   {"T6.1", workload_characteristics}, {"6.1", ratio_and_index_memory},
      {"6.2", storage_and_network}, {"6.3", performance_impact},        {"6.4", time_breakdown},
      {"6.5", limited_bandwidth},   {"6.6", source_cache_size},         {"6.7", reward_score},
      {"6.8", write_back_bursts},   {"6.9", failure_recovery},          {"6.10", sketch_size},
      {"6.11", hop_distance},       {"6.12", anchor_interval},          {"T6.2", sharding},
  };
  return all;
}

const std::vector<Experiment>& goals() {
  static const std::vector<Experiment> all = {
      {"sizes", size_goals}, {"detection", detection_goals}, {"speed", speed_goals},
      {"reads", read_goals}, {"load", load_goals},           {"restart", restart_goals},
  };
  return all;
}

}  // namespace bench::chapter6
