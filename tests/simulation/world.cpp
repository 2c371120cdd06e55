#include "tests/simulation/world.h"

#include <cstdio>

#include "tests/simulation/world_parts.h"

namespace simulation {

World::World(const Plan& plan) : plan_(plan), random_(plan.seed) {
  Membership members{.index = 1, .voters = {}, .learners = {}, .voters_outgoing = {}, .learners_next = {}};
  for (int i = 1; i <= plan.members; ++i) {
    members.voters.push_back(static_cast<MemberId>(i) | (i > plan.members - plan.arbiters ? arbiter_bit : 0));
  }
  for (MemberId id : members.voters) {
    auto member = std::make_unique<Member>();
    member->id = id;
    start_log(member->disk, {1, 0}, members);
    member->checkpoint.applied = 1;
    member->checkpoint.configuration = plan.configured ? 1 : 0;
    members_[id] = std::move(member);
  }
  // Two more members wait to be added.
  for (MemberId id : {MemberId{8}, MemberId{9}}) {
    auto member = std::make_unique<Member>();
    member->id = id;
    start_log(member->disk, {0, 0}, {});
    members_[id] = std::move(member);
  }
  if (plan.configured) configure_first();
}

World::~World() = default;

void World::at(int64_t delay_us, std::function<void()> action) {
  events_.push({now_us_ + delay_us, ++sequence_, std::move(action)});
}

World::Member* World::find(MemberId id) {
  const auto found = members_.find(id);
  return found == members_.end() ? nullptr : found->second.get();
}

std::vector<MemberId> World::up() {
  std::vector<MemberId> out;
  for (auto& [id, member] : members_) {
    if (member->up()) out.push_back(id);
  }
  return out;
}

void World::say(const std::string& line) {
  if (plan_.trace) std::fprintf(stderr, "[%9.3f ms] %s\n", static_cast<double>(now_us_) / 1000, line.c_str());
}

void World::fail(const std::string& what) {
  say("VIOLATION " + what);
  throw Violation(what + " (at " + std::to_string(now_us_ / 1000) + " ms)");
}

Tally World::run() {
  for (auto& [id, member] : members_) start(*member);
  for (int i = 0; i < 5; ++i) at(static_cast<int64_t>(random_.below(500'000)), [this, i] { client(i); });
  disturb();
  const int64_t faults_until = plan_.faults_until_ms * 1000;
  const int64_t end = faults_until + 20'000'000;
  at(faults_until, [this] { heal_everything(); });
  while (!events_.empty() && events_.top().at <= end) {
    const Event event = std::move(const_cast<Event&>(events_.top()));
    events_.pop();
    now_us_ = event.at;
    event.action();
    ++tally_.events;
    if (tally_.events % 200 == 0) check_logs();
  }
  check_logs();
  check_end();
  return tally_;
}

void World::heal_everything() {
  say("everything heals");
  healing_ = true;
  cut_.clear();
  drop_ = duplicate_ = 0;
  delay_max_us_ = 5000;
  for (auto& [id, member] : members_) {
    member->disk_us_max = 2000;
    if (!member->up() && !member->copying) start(*member);
  }
}

}  // namespace simulation
