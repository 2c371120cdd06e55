#include "server/core/operation.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock_time.h"
#include "server/core/command.h"
#include "server/core/fail_points.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/write_gate.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

// Returns whether the time is up, or whether a fail point says so.
bool passed(OperationContext::Time deadline, const Services& services) {
  if (services.fail_points.strikes("maxTimeNeverTimeOut")) return false;
  return services.fail_points.strikes("maxTimeAlwaysTimeOut") || base::now(services.clock) >= deadline;
}

constexpr int shares_before_long = 500;   // some 20 ms
constexpr int shares_between_rests = 25;  // some 1 ms

}  // namespace

OperationContext::OperationContext(Services& services, Client& client, const Request& request, const Command* command)
    : services_(services),
      allowance_(self_, &services.memory),
      client_(client),
      request_(request),
      command_(command),
      started_(base::now(services.clock)),
      started_wall_ms_(services.clock.wall_ms()) {
  services_.operations.add(*this);
}

OperationContext::~OperationContext() {
  end_sharing();
  services_.operations.remove(*this);
}

void OperationContext::end_sharing() {
  if (std::exchange(shares_, 0) >= shares_before_long) services_.operations.computing().fetch_sub(1, std::memory_order_relaxed);
}

void OperationContext::share_processors() {
  std::atomic<int>& computing = services_.operations.computing();
  if (++shares_ < shares_before_long) return;
  if (shares_ == shares_before_long) computing.fetch_add(1, std::memory_order_relaxed);
  if (shares_ % shares_between_rests != 0) return;
  static const int runnable_max = 2 * static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int excess = computing.load(std::memory_order_relaxed) - runnable_max;
  // It rests as many times the length of its work as makes `runnable_max` of them run at a time.
  if (excess > 0) std::this_thread::sleep_for(std::chrono::microseconds(1000) * excess / runnable_max);
}

void OperationContext::begin_writing(bool has_history) {
  if (WriteGate* gate = services_.write_gate; gate && !gate_.owns_lock()) gate_ = gate->pass(interrupted());
  replication::Coordinator* set = services_.replica_set;
  if (!has_history || !set || primary_.owns_lock()) return;
  primary_ = set->hold_primary();
  const base::MutexLock lock(mutex_);
  holds_primary_ = true;
}

// Very many operations may rest, so none keeps memory of the pool or an old snapshot.
void OperationContext::rest() {
  end_sharing();
  primary_ = {};
  {
    const base::MutexLock lock(mutex_);
    holds_primary_ = false;
    auto as_writer = static_cast<int32_t>(ErrorCode::interrupted_due_to_state_change);
    kill_code_.compare_exchange_strong(as_writer, 0);
  }
  gate_ = {};
  retry.reset();
  moment.reset();
  transaction = nullptr;
  transaction_hold = nullptr;
  allowance_.memory().give_back();
}

int64_t OperationContext::elapsed_us() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(base::now(services_.clock) - started_).count();
}

std::optional<std::chrono::milliseconds> OperationContext::remaining() const {
  if (!deadline_) return std::nullopt;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*deadline_ - base::now(services_.clock));
  return std::max(left, std::chrono::milliseconds(0));
}

void OperationContext::kill(ErrorCode code) {
  const base::MutexLock lock(mutex_);
  note_killed(code);
}

void OperationContext::kill_writer(ErrorCode code) {
  const base::MutexLock lock(mutex_);
  if (holds_primary_) note_killed(code);
}

void OperationContext::note_killed(ErrorCode code) {
  int32_t none = 0;
  kill_code_.compare_exchange_strong(none, static_cast<int32_t>(code));
  woken_.notify_all();
  if (const auto callback = std::exchange(when_killed_, nullptr)) callback();
}

void OperationContext::when_killed(std::function<void()> callback) {
  const base::MutexLock lock(mutex_);
  if (killed()) return callback();
  when_killed_ = std::move(callback);
}

void OperationContext::check_killed() const {
  if (const int32_t code = kill_code_.load(std::memory_order_relaxed)) [[unlikely]] {
    const auto why = static_cast<ErrorCode>(code);
    std::string message = "operation was interrupted";
    if (why == ErrorCode::interrupted_at_shutdown) message = "interrupted at shutdown";
    if (why == ErrorCode::interrupted_due_to_state_change)
      message = "operation was interrupted due to a replica set state change";
    if (code == 279) message = "operation was interrupted because a client disconnected";
    throw OperationError(why, message);
  }
}

void OperationContext::check_interrupt() const {
  check_killed();
  if (deadline_ && passed(*deadline_, services_)) [[unlikely]] {
    throw OperationError(ErrorCode::max_time_ms_expired, "operation exceeded time limit");
  }
}

void OperationContext::sleep(std::chrono::milliseconds duration) {
  const auto until = base::now(services_.clock) + duration;
  wait_until(deadline_ ? std::min(until, *deadline_) : until);
  check_interrupt();
}

void OperationContext::block(std::chrono::milliseconds duration) {
  wait_until(base::now(services_.clock) + duration);
  check_killed();
}

void OperationContext::wait_until(Time end) {
  base::MutexLock lock(mutex_);
  woken_.wait_for(lock, end - base::now(services_.clock), [this] { return killed(); });
}

void OperationContext::set_plan_summary(std::string text) {
  const base::MutexLock lock(mutex_);
  plan_summary_ = std::move(text);
}

std::string OperationContext::plan_summary() const {
  const base::MutexLock lock(mutex_);
  return plan_summary_;
}

void OperationContext::set_progress(Progress progress) {
  const base::MutexLock lock(mutex_);
  progress_ = std::move(progress);
}

Progress OperationContext::progress() const {
  const base::MutexLock lock(mutex_);
  return progress_;
}

void OperationRegistry::add(OperationContext& op) {
  const base::MutexLock lock(mutex_);
  running_.push_front(&op);
  op.place_ = running_.begin();
  if (last_id_ == INT32_MAX) last_id_ = 0;
  op.id_ = ++last_id_;
}

void OperationRegistry::remove(OperationContext& op) {
  const base::MutexLock lock(mutex_);
  running_.erase(op.place_);
}

bool OperationRegistry::kill(int32_t id, ErrorCode code) {
  const base::MutexLock lock(mutex_);
  for (OperationContext* op : running_) {
    if (op->id() == id) return op->kill(code), true;
  }
  return false;
}

void OperationRegistry::kill_all(ErrorCode code) {
  const base::MutexLock lock(mutex_);
  for (OperationContext* op : running_) op->kill(code);
}

void OperationRegistry::kill_client(ClientId client, ErrorCode code) {
  if (client == ClientId{0}) return;  // the server's own operations have it, and connections that aren't known to be clients
  const base::MutexLock lock(mutex_);
  for (OperationContext* op : running_) {
    if (op->client().id() == client) op->kill(code);
  }
}

void OperationRegistry::kill_writers(ErrorCode code) {
  const base::MutexLock lock(mutex_);
  for (OperationContext* op : running_) op->kill_writer(code);
}

void OperationRegistry::kill_sessions(bson::BytesView pattern, int32_t but) {
  const base::MutexLock lock(mutex_);
  for (OperationContext* op : running_) {
    // Read from the request: op->lsid belongs to the thread that runs it.
    const auto lsid = op->request().body.find("lsid");
    if (!lsid.is_object() || op->id() == but || lsid.as_document().find("id").type() != bson::Type::binary) continue;
    if (fits_session(session_key(lsid.as_document(), op->client()), pattern)) op->kill(ErrorCode::interrupted);
  }
}

size_t OperationRegistry::size() const {
  const base::MutexLock lock(mutex_);
  return running_.size();
}

void OperationRegistry::visit(const std::function<void(const OperationContext&)>& visitor) const {
  const base::MutexLock lock(mutex_);
  for (const OperationContext* op : running_) visitor(*op);
}

void OperationRegistry::add_client(const Client& client) {
  const base::MutexLock lock(mutex_);
  clients_[client.id()] = &client;
}

void OperationRegistry::remove_client(const Client& client) {
  const base::MutexLock lock(mutex_);
  clients_.erase(client.id());
}

void OperationRegistry::visit_clients(const std::function<void(const Client&)>& visitor) const {
  const base::MutexLock lock(mutex_);
  for (const auto& [id, client] : clients_) visitor(*client);
}

}  // namespace server
