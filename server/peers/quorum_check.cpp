#include "server/peers/quorum_check.h"

#include <list>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "server/peers/heartbeat.h"
#include "server/peers/peer_client.h"

namespace server::peers {

using base::ErrorCode;
using base::OperationError;
using replication::MemberConfig;
using replication::SetConfig;

namespace {

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

class QuorumCheck {
 public:
  QuorumCheck(const SetConfig& config, bool initiating, const MemberConfig& self, const base::tls::Contexts* tls,
              const MemberLogin* login)
      : config_(config), initiating_(initiating), self_(self), tls_(tls), login_(login) {
    for (const MemberConfig& member : config.members) voters_ += member.votes;
    count(self);
  }

  void run() {
    HeartbeatRequest request;
    request.set = config_.name;
    request.config = place_of(&config_);
    request.from = self_.host;
    request.from_id = self_.id;
    request.term = 0;
    request.check_empty = initiating_;
    const bson::Document question = request.document();
    std::list<PeerClient> clients;
    std::vector<std::thread> threads;
    const int64_t time_ms = config_.heartbeat_timeout_s * 1000;
    for (const MemberConfig& member : config_.members) {
      if (&member == &self_) continue;
      clients.emplace_back(member.host, PeerOptions{.connect_ms = time_ms, .call_ms = time_ms, .tls = tls_, .login = login_});
    }
    {
      const base::MutexLock lock(mutex_);
      missing_ = clients.size();
    }
    auto client = clients.begin();
    for (const MemberConfig& member : config_.members) {
      if (&member == &self_) continue;
      threads.emplace_back([this, &member, &question, &client = *client++] { ask(member, question, client); });
    }
    {
      base::MutexLock lock(mutex_);
      woken_.wait(lock, [this]() REQUIRES(mutex_) { return missing_ == 0 || decided(); });
      decided_ = true;
    }
    for (PeerClient& each : clients) each.interrupt();
    for (std::thread& thread : threads) thread.join();
    const base::MutexLock lock(mutex_);
    conclude();
  }

 private:
  void ask(const MemberConfig& member, const bson::Document& question, PeerClient& client) {
    std::optional<HeartbeatReply> reply;
    std::optional<OperationError> failed;
    try {
      reply = HeartbeatReply::parse(client.run("admin", question));
    } catch (const OperationError& error) {
      failed = error;
    }
    {
      const base::MutexLock lock(mutex_);
      --missing_;
      if (decided_) return;
      if (failed)
        note_failure(member, *failed);
      else
        note(member, *reply);
    }
    woken_.notify_all();
  }

  void note_failure(const MemberConfig& member, const OperationError& error) REQUIRES(mutex_) {
    if (error.code() == ErrorCode::inconsistent_set_names)
      return refuse(ErrorCode::new_config_incompatible, "Our set name did not match that of " + member.host);
    base::log(base::Severity::warning, base::LogComponent::repl, 23722, "Failed to complete heartbeat request to target",
              base::Attributes().add("hostAndPort", member.host).add("error", error.what()));
    failures_.push_back(member.host + " failed with " + error.what());
  }

  void note(const MemberConfig& member, const HeartbeatReply& reply) REQUIRES(mutex_) {
    if (reply.config.version >= config_.version) {
      return refuse(ErrorCode::new_config_incompatible, "Our config version of " + std::to_string(config_.version) +
                                                            " is no larger than the version on " + member.host + ", which is " +
                                                            std::to_string(reply.config.version));
    }
    if (config_.set_id != bson::ObjectId() && reply.set_id != bson::ObjectId() && reply.set_id != config_.set_id) {
      return refuse(ErrorCode::new_config_incompatible, "Our replica set ID of " + config_.set_id.to_hex() +
                                                            " did not match that of " + member.host + ", which is " +
                                                            reply.set_id.to_hex());
    }
    if (initiating_ && reply.has_data) {
      return refuse(ErrorCode::cannot_initialize_node_with_data, "'" + member.host + "' has data already, cannot initiate set.");
    }
    count(member);
  }

  void refuse(ErrorCode code, const std::string& why) REQUIRES(mutex_) {
    if (!veto_) veto_ = OperationError(code, why);
  }

  void count(const MemberConfig& member) REQUIRES(mutex_) {
    electable_ = electable_ || member.electable();
    if (member.votes > 0) voted_.push_back(member.host);
  }

  bool enough() const REQUIRES(mutex_) { return electable_ && static_cast<int>(voted_.size()) >= voters_ / 2 + 1; }
  bool decided() const REQUIRES(mutex_) { return veto_ || (!initiating_ && enough()); }

  void conclude() REQUIRES(mutex_) {
    if (veto_) throw *veto_;
    const auto not_found = [](const std::string& why) { throw OperationError(ErrorCode::node_not_found, why); };
    if (initiating_ && !failures_.empty()) {
      not_found("replSetInitiate quorum check failed because not all proposed set members responded affirmatively: " +
                joined(failures_, ", "));
    }
    if (!electable_) not_found("Quorum check failed because no electable nodes responded; at least one required for config");
    if (!enough()) {
      not_found("Quorum check failed because not enough voting nodes responded; required " + std::to_string(voters_ / 2 + 1) +
                " but only the following " + std::to_string(voted_.size()) + " voting nodes responded: " + joined(voted_, ", ") +
                (failures_.empty() ? "" : "; the following nodes did not respond affirmatively: " + joined(failures_, ", ")));
    }
  }

  const SetConfig& config_;
  const bool initiating_;
  const MemberConfig& self_;
  const base::tls::Contexts* const tls_;
  const MemberLogin* const login_;
  int voters_ = 0;
  base::Mutex mutex_;
  base::Condition woken_;
  size_t missing_ GUARDED_BY(mutex_) = 0;
  bool decided_ GUARDED_BY(mutex_) = false;  // later answers don't count
  bool electable_ GUARDED_BY(mutex_) = false;
  std::vector<std::string> voted_ GUARDED_BY(mutex_);
  std::vector<std::string> failures_ GUARDED_BY(mutex_);
  std::optional<OperationError> veto_ GUARDED_BY(mutex_);
};

}  // namespace

void check_quorum(const SetConfig& config, bool initiating, const std::function<bool(const std::string& host)>& is_self,
                  const base::tls::Contexts* tls, const MemberLogin* login) {
  const MemberConfig* self = nullptr;
  for (const MemberConfig& member : config.members) {
    if (!self && is_self(member.host)) self = &member;
  }
  if (!self) {
    throw OperationError(ErrorCode::invalid_replica_set_config,
                         "No host described in the new configuration for replica set " + config.name + " maps to this node");
  }
  QuorumCheck(config, initiating, *self, tls, login).run();
}

}  // namespace server::peers
