// The ordinary run takes a few hundred seeds. These run more, or one again:
//
//   PALIMPSEST_SIMULATION_SEEDS=5000 simulation_tests
//   PALIMPSEST_SIMULATION_FIRST=77 PALIMPSEST_SIMULATION_SEEDS=1 PALIMPSEST_SIMULATION_TRACE=1 simulation_tests
#include <catch2/catch.hpp>

#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "tests/simulation/world.h"

namespace {

using simulation::Mutation;
using simulation::Plan;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

Plan plan_of(uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  plan.members = seed % 3 == 0 ? 5 : 3;
  if (seed % 7 == 3) plan.arbiters = plan.members == 5 ? 1 + static_cast<int>(seed / 7 % 2) : 1;
  plan.configured = seed % 2 == 0;
  if (seed % 4 == 0) plan.log_bytes_kept = 3000;
  plan.faults_until_ms = 15000;
  plan.mutation = static_cast<Mutation>(setting("PALIMPSEST_SIMULATION_MUTATION", 0));
  plan.trace = setting("PALIMPSEST_SIMULATION_TRACE", 0) != 0;
  return plan;
}

std::string how_again(uint64_t seed) {
  return "again with PALIMPSEST_SIMULATION_FIRST=" + std::to_string(seed) + " PALIMPSEST_SIMULATION_SEEDS=1 simulation_tests";
}

uint64_t running_seed = 0;

// The library ends the process where it finds its invariants broken, and the seed has to be known then, too.
extern "C" void last_words(int) {
  char line[160];
  const int bytes = std::snprintf(line, sizeof line,
                                  "\nthe simulation ended at seed %llu: run it again with PALIMPSEST_SIMULATION_FIRST=%llu\n",
                                  static_cast<unsigned long long>(running_seed), static_cast<unsigned long long>(running_seed));
  if (write(2, line, static_cast<size_t>(bytes)) < 0) _exit(3);
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

// Returns an empty string when nothing was found.
std::string fault_of(const Plan& plan, simulation::Tally* tally = nullptr) {
  running_seed = plan.seed;
  try {
    const simulation::Tally counted = simulation::World(plan).run();
    if (tally) *tally = counted;
    return {};
  } catch (const simulation::Violation& violation) {
    return violation.what();
  }
}

// Tells whether any of some seeds finds a rule that is broken on purpose.
bool found_within(Mutation mutation, uint64_t seeds, uint64_t first = 1) {
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    Plan plan = plan_of(seed);
    plan.mutation = mutation;
    if (!fault_of(plan).empty()) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("whatever fails, members agree and nothing acknowledged is lost") {
  std::signal(SIGABRT, last_words);
  const uint64_t first = setting("PALIMPSEST_SIMULATION_FIRST", 1);
  const uint64_t seeds = setting("PALIMPSEST_SIMULATION_SEEDS", 250);
  simulation::Tally total;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    simulation::Tally tally;
    const std::string fault = fault_of(plan_of(seed), &tally);
    if (!fault.empty()) FAIL_CHECK("seed " << seed << ": " << fault << "; " << how_again(seed));
    total.events += tally.events;
    total.acknowledged += tally.acknowledged;
    total.unknown += tally.unknown;
    total.reads += tally.reads;
    total.elections += tally.elections;
    total.primaries += tally.primaries;
    total.crashes += tally.crashes;
    total.copies += tally.copies;
    total.membership_changes += tally.membership_changes;
    total.reconfigurations += tally.reconfigurations;
    total.step_downs += tally.step_downs;
    total.successions += tally.successions;
    total.shortenings += tally.shortenings;
    total.caretakers += tally.caretakers;
  }
  std::printf(
      "%llu seeds: %lld events, %lld writes acknowledged, %lld unclear, %lld reads, %lld elections, %lld primaries, %lld "
      "crashes, %lld copies, "
      "%lld membership changes, %lld reconfigurations, %lld step-downs, %lld successions, %lld shortenings, %lld caretakers\n",
      static_cast<unsigned long long>(seeds), static_cast<long long>(total.events), static_cast<long long>(total.acknowledged),
      static_cast<long long>(total.unknown), static_cast<long long>(total.reads), static_cast<long long>(total.elections),
      static_cast<long long>(total.primaries), static_cast<long long>(total.crashes), static_cast<long long>(total.copies),
      static_cast<long long>(total.membership_changes), static_cast<long long>(total.reconfigurations),
      static_cast<long long>(total.step_downs), static_cast<long long>(total.successions),
      static_cast<long long>(total.shortenings), static_cast<long long>(total.caretakers));
  if (seeds >= 100) {
    // A quiet simulation would prove nothing.
    CHECK(total.acknowledged > static_cast<int64_t>(seeds) * 20);
    CHECK(total.elections > static_cast<int64_t>(seeds) * 2);
    CHECK(total.primaries > static_cast<int64_t>(seeds) * 2);
    CHECK(total.copies > 0);
    CHECK(total.membership_changes > 0);
    CHECK(total.reconfigurations > static_cast<int64_t>(seeds) / 2);
    CHECK(total.step_downs > static_cast<int64_t>(seeds) / 4);
    CHECK(total.successions > static_cast<int64_t>(seeds) / 4);
    CHECK(total.shortenings > static_cast<int64_t>(seeds));
    CHECK(total.caretakers > 0);
  }
}

TEST_CASE("the same seed is the same run") {
  simulation::Tally one, other;
  CHECK(fault_of(plan_of(42), &one).empty());
  CHECK(fault_of(plan_of(42), &other).empty());
  CHECK(one.events == other.events);
  CHECK(one.acknowledged == other.acknowledged);
}

TEST_CASE("a follower that gives its word before its disk does is found") {
  CHECK(found_within(Mutation::early_word, 30, 2));  // in the first seed the library finds it, and ends the process
}
TEST_CASE("a disk that lies about its sync is found") {
  CHECK(found_within(Mutation::lost_sync, 30));
}
TEST_CASE("a leader that answers reads on its own is found") {
  CHECK(found_within(Mutation::stale_reads, 60));
}
TEST_CASE("a leader that becomes primary before it has caught up is found") {
  CHECK(found_within(Mutation::early_primary, 30));
}
TEST_CASE("a member that votes before it has caught up is found") {
  CHECK(found_within(Mutation::hasty_voter, 60));
}
TEST_CASE("a log that is shortened by what another member needs is found") {
  CHECK(found_within(Mutation::greedy_log, 30));
}
TEST_CASE("a primary that hands over without asking is found") {
  CHECK(found_within(Mutation::blind_transfer, 60));
}
