#include "replication/write_acks.h"

#include <limits>
#include <set>
#include <string>

namespace replication {

using base::ErrorCode;
using storage::Stamp;

namespace {

// The tags a concern asks for: its own, or those of the set's mode of that name.
bson::DocumentView tags_of(const SetConfig& config, const WriteConcern& concern) {
  if (concern.mode.empty()) return concern.tags;
  const auto mode = config.write_modes.find(concern.mode);
  return mode.is_object() ? mode.as_document() : bson::DocumentView();
}

bool by_tags(const WriteConcern& concern) {
  return !concern.tags.empty() || (!concern.mode.empty() && !concern.majority());
}

bool satisfied(const SetConfig& config, const WriteConcern& concern, Stamp stamp, const std::vector<MemberReached>& members) {
  const auto has = [&](const MemberReached& one) { return (concern.journal ? one.upto : one.in_memory) >= stamp; };
  if (!by_tags(concern)) {
    int64_t count = 0;
    for (const MemberReached& one : members) count += has(one);
    return count >= concern.members;
  }
  // Each tag wants so many different values among those who have it.
  for (const auto& tag : tags_of(config, concern)) {
    std::set<std::string_view> values;
    for (const MemberReached& one : members) {
      const auto value = one.member->tags.find(tag.name);
      if (has(one) && value.is_string()) values.insert(value.as_string());
    }
    if (static_cast<int64_t>(values.size()) < tag.to_int64()) return false;
  }
  return true;
}

}  // namespace

std::optional<WriteConcernFailure> never_satisfied(const SetConfig& config, const WriteConcern& concern) {
  const WriteConcernFailure too_few{ErrorCode::unsatisfiable_write_concern, "Not enough data-bearing nodes"};
  if (concern.majority()) return std::nullopt;
  if (!concern.mode.empty() && !config.write_modes.find(concern.mode).is_object()) {
    return WriteConcernFailure{ErrorCode::unknown_repl_write_concern,
                               "No write concern mode named '" + concern.mode + "' found in replica set configuration"};
  }
  std::vector<MemberReached> all;
  for (const MemberConfig& member : config.members) {
    if (!member.arbiter) all.push_back({&member, 1, 1});
  }
  if (!satisfied(config, concern, 1, all)) return too_few;
  return std::nullopt;
}

void WriteAcks::call(Ready& ready) {
  for (auto& [done, failure] : ready) done(std::move(failure));
}

void WriteAcks::wait(OpTime optime, const WriteConcern& concern, int64_t now_us, Done done) {
  {
    const base::MutexLock lock(mutex_);
    if (!concern.majority() || optime.ts > committed_) {
      const int64_t deadline = concern.timeout_ms > 0 ? now_us + concern.timeout_ms * 1000 : std::numeric_limits<int64_t>::max();
      (concern.majority() ? majority_ : counting_).emplace(optime.ts, Waiter{concern, deadline, std::nullopt, std::move(done)});
      return;
    }
  }
  done(std::nullopt);
}

void WriteAcks::committed(Stamp upto) {
  Ready ready;
  {
    const base::MutexLock lock(mutex_);
    committed_ = std::max(committed_, upto);
    const auto end = majority_.upper_bound(committed_);
    for (auto at = majority_.begin(); at != end; ++at) ready.emplace_back(std::move(at->second.done), std::nullopt);
    majority_.erase(majority_.begin(), end);
  }
  call(ready);
}

bool WriteAcks::counts_members() const {
  const base::MutexLock lock(mutex_);
  return !counting_.empty();
}

void WriteAcks::reached(const SetConfig& config, const std::vector<MemberReached>& members) {
  Ready ready;
  {
    const base::MutexLock lock(mutex_);
    for (auto at = counting_.begin(); at != counting_.end();) {
      if (satisfied(config, at->second.concern, at->first, members)) {
        ready.emplace_back(std::move(at->second.done), std::nullopt);
        at = counting_.erase(at);
      } else {
        ++at;
      }
    }
  }
  call(ready);
}

void WriteAcks::give_up_at(int64_t deadline_us, const WriteConcernFailure& why) {
  const base::MutexLock lock(mutex_);
  for (Waiters* waiters : {&majority_, &counting_}) {
    for (auto& [stamp, waiter] : *waiters) {
      if (waiter.deadline_us <= deadline_us) continue;
      waiter.deadline_us = deadline_us;
      waiter.given_up = why;
    }
  }
}

void WriteAcks::expire(int64_t now_us) {
  Ready ready;
  {
    const base::MutexLock lock(mutex_);
    for (Waiters* waiters : {&majority_, &counting_}) {
      for (auto at = waiters->begin(); at != waiters->end();) {
        if (at->second.deadline_us > now_us) {
          ++at;
          continue;
        }
        auto& why = at->second.given_up;
        if (!why) why = {ErrorCode::write_concern_failed, "waiting for replication timed out"};
        ready.emplace_back(std::move(at->second.done), std::move(why));
        at = waiters->erase(at);
      }
    }
  }
  call(ready);
}

bool WriteAcks::empty() const {
  const base::MutexLock lock(mutex_);
  return majority_.empty() && counting_.empty();
}

}  // namespace replication
