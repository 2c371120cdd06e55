#include "server/commands/catalog/commit_quorum.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

#include "base/error.h"
#include "replication/set_config.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using std::chrono::milliseconds;

namespace {

constexpr int64_t quorum_max = 50;
constexpr int32_t unsatisfiable_quorum = 278;
constexpr milliseconds step_min{1}, step_max{50};

// Counts all members that have data, also those without a vote: a write concern counts members, and doesn't ask whether they
// vote.
int64_t members_with_data(const replication::Coordinator& set) {
  const auto standing = set.standing();
  if (!standing.config) return 1;
  return std::ranges::count_if(standing.config->members, [](const replication::MemberConfig& member) { return !member.arbiter; });
}

replication::WriteConcern parse(const replication::Coordinator& set, const bson::ValueView& given) {
  replication::WriteConcern quorum;
  if (given.is_number()) {
    const double members = given.to_double();
    if (!(members >= 0 && members <= quorum_max)) {
      throw OperationError(ErrorCode::failed_to_parse, "commitQuorum has to be a non-negative number and not greater than 50");
    }
    quorum.members = given.to_int64();
  } else if (given.is_string()) {
    const std::string_view mode = given.as_string();
    if (mode == "votingMembers")
      quorum.members = members_with_data(set);
    else
      quorum.mode = mode;
    if (mode.empty()) throw OperationError(ErrorCode::failed_to_parse, "commitQuorum can't be an empty string");
  } else {
    throw OperationError(ErrorCode::failed_to_parse, "commitQuorum has to be a number or a string");
  }
  return quorum;
}

}  // namespace

std::optional<replication::WriteConcern> parse_commit_quorum(const OperationContext& op, const bson::ValueView& given) {
  if (!given.exists()) return std::nullopt;
  const replication::Coordinator* set = op.services().replica_set;
  if (!set) throw OperationError(ErrorCode::bad_value, "Standalones can't specify commitQuorum");
  auto quorum = parse(*set, given);
  if (const auto never = set->unsatisfiable(quorum)) {
    if (never->code != ErrorCode::unsatisfiable_write_concern) throw OperationError(never->code, never->message);
    throw OperationError(unsatisfiable_quorum, "Commit quorum cannot be satisfied with the current replica set configuration");
  }
  return quorum;
}

void await_commit_quorum(OperationContext& op, const replication::WriteConcern& quorum) {
  replication::Coordinator& set = *op.services().replica_set;
  const auto written =
      op.last_write != 0 ? replication::OpTime{op.last_write, set.standing().term} : set.progress().applied.optime;
  struct Outcome {
    std::optional<replication::WriteConcernFailure> failure;
    std::atomic<bool> known{false};
  };
  const auto outcome = std::make_shared<Outcome>();  // the wait may outlive the operation
  set.when_acknowledged(written, quorum, [outcome](std::optional<replication::WriteConcernFailure> failure) {
    outcome->failure = std::move(failure);
    outcome->known = true;
  });
  for (auto step = step_min; !outcome->known; step = std::min(step * 2, step_max)) op.sleep(step);
  if (outcome->failure) throw OperationError(outcome->failure->code, outcome->failure->message);
}

}  // namespace server
