// The figures and tables of dbDedup's chapter 6 have a function each.
#pragma once

#include "bench/chapter6/suite.h"

namespace bench::chapter6 {

void encoding_schemes(Suite& suite);          // T4.1
void workload_characteristics(Suite& suite);  // T6.1
void ratio_and_index_memory(Suite& suite);    // 6.1, and what other programs make of the same bytes
void storage_and_network(Suite& suite);       // 6.2
void performance_impact(Suite& suite);        // 6.3
void time_breakdown(Suite& suite);            // 6.4
void limited_bandwidth(Suite& suite);         // 6.5
void source_cache_size(Suite& suite);         // 6.6
void reward_score(Suite& suite);              // 6.7
void write_back_bursts(Suite& suite);         // 6.8
void failure_recovery(Suite& suite);          // 6.9
void sketch_size(Suite& suite);               // 6.10
void hop_distance(Suite& suite);              // 6.11
void anchor_interval(Suite& suite);           // 6.12
void sharding(Suite& suite);                  // T6.2

// These are rows of the goals.
void size_goals(Suite& suite);
void detection_goals(Suite& suite);
void speed_goals(Suite& suite);
void read_goals(Suite& suite);
void load_goals(Suite& suite);
void restart_goals(Suite& suite);

}  // namespace bench::chapter6
