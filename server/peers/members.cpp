#include "server/peers/members.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "server/peers/peer_client.h"

namespace server::peers {

using base::Attributes;
using base::LogComponent;
using base::Severity;
using replication::Standing;

namespace {

constexpr auto look_again = std::chrono::milliseconds(500);  // for changes that nobody reported
constexpr int attempts_max = 3;                              // tries within a heartbeat's time before a member is down
constexpr int64_t ping_weight = 5;                           // the past weighs four fifths

}  // namespace

// A watch asks one member, over and over, on a thread of its own.
class Members::Watch {
 public:
  Watch(Members& owner, const std::string& host)
      : owner_(owner), host_(host), client_(host, {.tls = owner.tls_, .login = owner.login_}), thread_([this] { run(); }) {}
  ~Watch() {
    {
      const base::MutexLock lock(mutex_);
      stopping_ = true;
    }
    client_.interrupt();
    woken_.notify_one();
    thread_.join();
  }
  // With `anew` it uses another connection.
  void nudge(bool anew) {
    {
      const base::MutexLock lock(mutex_);
      nudged_ = true;
      anew_ = anew_ || anew;
    }
    woken_.notify_one();
  }

 private:
  void run() {
    base::LogContext context("ReplHeartbeat");
    base::MutexLock lock(mutex_);
    while (!stopping_) {
      nudged_ = false;
      const bool anew = std::exchange(anew_, false);
      lock.unlock();
      if (anew) client_.close();
      const std::chrono::milliseconds pause = beat();
      owner_.note_connection(host_, client_.connected(), client_.connections_made());
      lock.lock();
      woken_.wait_for(lock, pause, [this]() REQUIRES(mutex_) { return stopping_ || nudged_; });
    }
  }

  // Sends one heartbeat, and returns how long to wait until the next.
  std::chrono::milliseconds beat() {
    const Standing now = owner_.set_.standing();
    if (!now.config || !now.self) return look_again;
    const replication::SetConfig& config = *now.config;
    HeartbeatRequest request;
    request.set = config.name;
    request.config = place_of(&config);
    request.from = now.self->host;
    request.from_id = now.self->id;
    request.term = now.term;
    if (now.primary) request.primary_id = now.primary->id;
    if (needs_config_ && request.config.newer_than(*needs_config_)) request.new_config = config.document();
    const auto reply = ask(request, config.heartbeat_timeout_s * 1000);
    if (!reply) return std::chrono::milliseconds(config.heartbeat_interval_ms);
    if (reply->new_config && reply->config.newer_than(request.config)) learn(*reply->new_config);
    // The member gets the newer configuration at once, and again at the next heartbeat if that didn't help.
    const bool behind = request.config.newer_than(reply->config);
    const bool send_now = behind && !request.new_config;
    needs_config_ = behind ? std::optional(reply->config) : std::nullopt;
    return std::chrono::milliseconds(send_now ? 0 : config.heartbeat_interval_ms);
  }

  // Returns nullopt if the member is down.
  std::optional<HeartbeatReply> ask(const HeartbeatRequest& request, int64_t time_ms) {
    const int64_t start_us = owner_.clock_.monotonic_us();
    std::string why;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
      const int64_t sent_us = owner_.clock_.monotonic_us();
      const int64_t left_ms = time_ms - (sent_us - start_us) / 1000;
      if (left_ms <= 0) break;
      try {
        HeartbeatReply reply = HeartbeatReply::parse(client_.run("admin", request.document(), left_ms));
        if (reply.set != request.set)
          throw base::OperationError(base::ErrorCode::protocol_error, host_ + " answers for another set");
        owner_.note(host_, reply, (owner_.clock_.monotonic_us() - sent_us) / 1000);
        return reply;
      } catch (const base::OperationError& error) {
        why = error.what();
        // The connection works, so the reply wouldn't change.
        if (client_.connected()) break;
      }
    }
    owner_.note_down(host_, why);
    return std::nullopt;
  }

  void learn(bson::DocumentView document) {
    try {
      owner_.set_.learn_config(replication::parse_set_config(document), host_);
    } catch (const base::OperationError& error) {
      base::log(Severity::warning, LogComponent::repl, 7100020, "A member's configuration can't be taken over",
                Attributes().add("from", host_).add("error", error.what()));
    }
  }

  Members& owner_;
  const std::string host_;
  PeerClient client_;
  std::optional<ConfigPlace> needs_config_;  // the member's configuration, which is older than ours
  base::Mutex mutex_;
  base::Condition woken_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool nudged_ GUARDED_BY(mutex_) = false;
  bool anew_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

Members::Members(replication::Coordinator& set, base::Clock& clock, const base::tls::Contexts* tls, const MemberLogin* login)
    : set_(set), clock_(clock), tls_(tls), login_(login) {}

Members::~Members() {
  stop();
}

void Members::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
  watches_.clear();
}

void Members::start() {
  thread_ = std::thread([this] { run(); });
}

void Members::nudge() {
  {
    const base::MutexLock lock(mutex_);
    nudged_ = true;
  }
  woken_.notify_all();
}

void Members::run() {
  base::LogContext context("ReplMembers");
  base::MutexLock lock(mutex_);
  while (!stopping_) {
    const bool nudged = std::exchange(nudged_, false), reconnects = std::exchange(reconnects_, false);
    lock.unlock();
    align();
    if (nudged || reconnects) {
      for (auto& [host, watch] : watches_) watch->nudge(reconnects);
    }
    lock.lock();
    woken_.wait_for(lock, look_again, [this]() REQUIRES(mutex_) { return stopping_ || nudged_ || reconnects_; });
  }
}

void Members::align() {
  const Standing now = set_.standing();
  std::set<std::string> wanted;
  if (now.config && now.self) {
    for (const auto& member : now.config->members) {
      if (&member != now.self) wanted.insert(member.host);
    }
  }
  for (auto at = watches_.begin(); at != watches_.end();) {
    if (wanted.contains(at->first)) {
      ++at;
      continue;
    }
    const std::string host = at->first;
    at = watches_.erase(at);
    const base::MutexLock lock(mutex_);
    views_.erase(host);
    connections_.erase(host);
  }
  for (const std::string& host : wanted) {
    std::unique_ptr<Watch>& watch = watches_[host];
    if (!watch) watch = std::make_unique<Watch>(*this, host);
  }
}

void Members::reconnect() {
  {
    const base::MutexLock lock(mutex_);
    reconnects_ = true;
  }
  woken_.notify_all();
}

std::vector<Members::Connection> Members::connections() const {
  const base::MutexLock lock(mutex_);
  std::vector<Connection> all;
  for (const auto& [host, connection] : connections_) all.push_back(connection);
  return all;
}

void Members::note_connection(const std::string& host, bool connected, int64_t created) {
  const base::MutexLock lock(mutex_);
  if (stopping_) return;
  connections_[host] = {host, connected, created};
}

MemberView Members::view(const std::string& host) const {
  const base::MutexLock lock(mutex_);
  const auto found = views_.find(host);
  return found == views_.end() ? MemberView() : found->second;
}

void Members::heard_from(const std::string& host) {
  const Standing now = set_.standing();
  if (!now.config || !now.config->member(host)) return;
  const base::MutexLock lock(mutex_);
  views_[host].last_heard_ms = clock_.wall_ms();
}

void Members::await_heartbeats(const std::vector<std::string>& hosts, int64_t since_ms, std::chrono::milliseconds within) {
  base::MutexLock lock(mutex_);
  viewed_.wait_for(lock, within, [&]() REQUIRES(mutex_) {
    for (const std::string& host : hosts) {
      const auto found = views_.find(host);
      if (found == views_.end() || found->second.last_heartbeat_ms <= since_ms) return false;
    }
    return true;
  });
}

void Members::note(const std::string& host, HeartbeatReply reply, int64_t took_ms) {
  base::MutexLock lock(mutex_);
  MemberView& view = views_[host];
  const bool was_up = view.health == MemberView::Health::up;
  if (!was_up) view.up_since_us = clock_.monotonic_us();
  view.ping_ms = was_up ? (view.ping_ms * (ping_weight - 1) + took_ms) / ping_weight : took_ms;
  view.health = MemberView::Health::up;
  view.last_heartbeat_ms = clock_.wall_ms();
  view.message.clear();
  const bool changed = !was_up || view.reply.state != reply.state;
  view.reply = std::move(reply);
  const auto state = view.reply.state;
  lock.unlock();
  viewed_.notify_all();
  if (changed) {
    base::log(Severity::info, LogComponent::repl, 21215, "Member is in new state",
              Attributes().add("hostAndPort", host).add("newState", replication::state_name(state)));
  }
}

void Members::note_down(const std::string& host, const std::string& why) {
  base::MutexLock lock(mutex_);
  if (stopping_) return;
  MemberView& view = views_[host];
  const bool changed = view.health != MemberView::Health::down;
  view.health = MemberView::Health::down;
  view.reply = {};
  view.up_since_us = 0;
  view.last_heartbeat_ms = clock_.wall_ms();
  view.message = why;
  lock.unlock();
  viewed_.notify_all();
  if (changed) {
    base::log(Severity::info, LogComponent::repl, 21216, "Member is now in state DOWN",
              Attributes().add("hostAndPort", host).add("heartbeatMessage", why));
  }
}

}  // namespace server::peers
