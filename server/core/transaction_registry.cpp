#include "server/core/transaction_registry.h"

#include <algorithm>

#include "base/clock.h"
#include "bson/builder.h"
#include "server/core/client_view.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr auto wait_step = std::chrono::milliseconds(20);
constexpr int64_t no_number = -1;
constexpr uint64_t counted_in_steps_of = 64 << 10;

std::string shown(int64_t number) {
  return "{ txnNumber: " + std::to_string(number) + " }";
}

}  // namespace

struct SessionTransactions {
  explicit SessionTransactions(bson::BytesView key) : session(key) {}

  const bson::Bytes session;
  int64_t number = no_number;
  TransactionState state = TransactionState::none;
  std::unique_ptr<ClientTransaction> transaction;  // in progress
  OperationContext* op = nullptr;                  // it has the entry
};

TransactionHold::TransactionHold(TransactionRegistry& registry, std::shared_ptr<SessionTransactions> session)
    : registry_(registry), session_(std::move(session)) {}
TransactionHold::~TransactionHold() {
  registry_.give_back(*session_);
}
TransactionState TransactionHold::state() const {
  return session_->state;
}
ClientTransaction* TransactionHold::transaction() const {
  return session_->transaction.get();
}
void TransactionHold::committed() {
  registry_.destroy(registry_.end(*session_, TransactionState::committed));
}
void TransactionHold::abort() {
  registry_.destroy(registry_.end(*session_, TransactionState::aborted));
}

TransactionRegistry::TransactionRegistry(base::Clock& clock, Metrics& metrics, CloseCursors close_cursors)
    : clock_(clock), close_cursors_(std::move(close_cursors)), metrics_(metrics) {}

TransactionRegistry::~TransactionRegistry() {
  abort_all(ErrorCode::interrupted_at_shutdown);
}

std::shared_ptr<SessionTransactions> TransactionRegistry::check_out(OperationContext& op, bson::BytesView session) {
  base::MutexLock lock(mutex_);
  for (;;) {
    auto found = entries_.find(session);
    if (found == entries_.end()) found = entries_.emplace(bson::Bytes(session), std::make_shared<Entry>(session)).first;
    const std::shared_ptr<Entry> entry = found->second;
    if (!entry->op) {
      entry->op = &op;
      if (entry->transaction) entry->transaction->life.busy_since_us = clock_.monotonic_us();
      return entry;
    }
    given_back_.wait_for(lock, wait_step);
    lock.unlock();
    op.check_interrupt();
    lock.lock();
  }
}

void TransactionRegistry::give_back(Entry& entry) {
  {
    const base::MutexLock lock(mutex_);
    if (entry.transaction) {
      ClientTransaction::Life& life = entry.transaction->life;
      life.busy_us += clock_.monotonic_us() - life.busy_since_us;
      life.busy_since_us = 0;
      if (const Client& client = entry.op->client(); life.client.empty() || life.client_id != client.id()) {
        bson::Builder shown;
        append_client(shown, client);
        life.client = shown.done();
        life.client_id = client.id();
      }
    }
    entry.op = nullptr;
    // A session that never had a transaction is not remembered.
    if (entry.number == no_number) entries_.erase(entry.session);
  }
  given_back_.notify_all();
}

std::unique_ptr<ClientTransaction> TransactionRegistry::end(Entry& entry, State how) {
  const base::MutexLock lock(mutex_);
  if (!entry.transaction) return nullptr;
  count_end(entry, how);
  return std::move(entry.transaction);
}

void TransactionRegistry::count_end(Entry& entry, State how) {
  const ClientTransaction& transaction = *entry.transaction;
  entry.state = how;
  open_.erase(&entry);
  drafts_bytes_ -= transaction.counted_bytes;
  metrics_.transactions.record(clock_.monotonic_us() - transaction.life.started_us);
  if (how == State::aborted) return aborted_.add();
  committed_.add();
  last_operations_ = static_cast<int64_t>(transaction.changes().size());
}

void TransactionRegistry::destroy(std::unique_ptr<ClientTransaction> transaction) {
  if (transaction) close_cursors_(transaction->session(), transaction->number());
}

std::unique_ptr<TransactionHold> TransactionRegistry::start(OperationContext& op, bson::BytesView session, int64_t number) {
  auto entry = check_out(op, session);
  auto hold = std::make_unique<TransactionHold>(*this, entry);
  if (number < entry->number) {
    throw OperationError(ErrorCode::transaction_too_old, "Cannot start transaction with " + shown(number) + " on session " +
                                                             base::to_hex(session.substr(0, 16)) +
                                                             " because a newer transaction with " + shown(entry->number) +
                                                             " has already started on this session.");
  }
  if (number == entry->number) {
    throw OperationError(ErrorCode::conflicting_operation_in_progress,
                         "Only servers in a sharded cluster can start a new transaction at the active transaction number");
  }
  if (entry->transaction) hold->abort();
  auto transaction = std::make_unique<ClientTransaction>(op, session, number);
  ClientTransaction::Life& life = transaction->life;
  life.started_ms = clock_.wall_ms();
  life.started_us = life.busy_since_us = clock_.monotonic_us();
  life.read_level = op.read_concern.level;
  life.lsid = bson::Document(op.lsid.as_document());
  const base::MutexLock lock(mutex_);
  entry->number = number;
  entry->state = State::in_progress;
  entry->transaction = std::move(transaction);
  open_.insert(entry.get());
  started_.add();
  return hold;
}

std::unique_ptr<TransactionHold> TransactionRegistry::resume(OperationContext& op, bson::BytesView session, int64_t number) {
  auto entry = check_out(op, session);
  auto hold = std::make_unique<TransactionHold>(*this, entry);
  if (number < entry->number) {
    throw OperationError(ErrorCode::transaction_too_old, "Cannot continue transaction with " + shown(number) + " on session " +
                                                             base::to_hex(session.substr(0, 16)) +
                                                             " because a newer transaction with " + shown(entry->number) +
                                                             " has already started on this session.");
  }
  if (number > entry->number) {
    throw OperationError(ErrorCode::no_such_transaction,
                         "Given transaction number " + shown(number) +
                             " does not match any in-progress transactions. The active transaction number is " +
                             std::to_string(entry->number));
  }
  return hold;
}

bool TransactionRegistry::knows(bson::BytesView session, int64_t number) const {
  const base::MutexLock lock(mutex_);
  const auto found = entries_.find(session);
  return found != entries_.end() && found->second->number >= number;
}

void TransactionRegistry::passed(OperationContext& op, bson::BytesView session, int64_t number) {
  {
    const base::MutexLock lock(mutex_);
    const auto found = entries_.find(session);
    if (found == entries_.end() || found->second->number > number) return;
    if (found->second->number == number && found->second->state != State::none) {
      throw OperationError(ErrorCode::invalid_options,
                           "Must specify autocommit=false on all operations of a multi-statement transaction.");
    }
  }
  const auto entry = check_out(op, session);
  TransactionHold hold(*this, entry);
  if (entry->number >= number) return;
  hold.abort();
  const base::MutexLock lock(mutex_);
  entry->number = number;
  entry->state = State::none;
}

void TransactionRegistry::abort_idle(const std::function<bool(const Entry& entry)>& which, ErrorCode code) {
  std::vector<std::unique_ptr<ClientTransaction>> ended;
  {
    const base::MutexLock lock(mutex_);
    for (auto next = open_.begin(); next != open_.end();) {
      Entry& entry = **next++;  // its end takes it out of the set
      if (!which(entry)) continue;
      if (entry.op) {
        entry.op->kill(code);
        continue;
      }
      count_end(entry, State::aborted);
      ended.push_back(std::move(entry.transaction));
    }
  }
  for (auto& transaction : ended) destroy(std::move(transaction));
}

void TransactionRegistry::abort_all(ErrorCode code) {
  abort_idle([](const Entry&) { return true; }, code);
}

void TransactionRegistry::forget(bson::BytesView pattern, ErrorCode code) {
  abort_idle([&](const Entry& entry) { return fits_session(entry.session, pattern); }, code);
  const base::MutexLock lock(mutex_);
  std::erase_if(entries_, [&](const auto& one) { return !one.second->op && fits_session(one.first, pattern); });
}

void TransactionRegistry::expire() {
  const int64_t oldest_us = clock_.monotonic_us() - lifetime_seconds * 1'000'000;
  abort_idle([&](const Entry& entry) { return entry.transaction->life.started_us < oldest_us; },
             ErrorCode::transaction_exceeded_lifetime_limit_seconds);
}

void TransactionRegistry::check_size(ClientTransaction& writing) {
  const uint64_t bytes = writing.draft()->written_bytes();
  if (bytes < writing.counted_bytes + counted_in_steps_of) return;
  std::unique_ptr<ClientTransaction> oldest;
  {
    const base::MutexLock lock(mutex_);
    drafts_bytes_ += bytes - std::exchange(writing.counted_bytes, bytes);
    if (drafts_bytes_ <= drafts_bytes_max) return;
    Entry* found = nullptr;
    for (Entry* entry : open_) {
      if (entry->op || entry->transaction->counted_bytes == 0) continue;
      if (!found || entry->transaction->life.started_us < found->transaction->life.started_us) found = entry;
    }
    if (found) {
      count_end(*found, State::aborted);
      oldest = std::move(found->transaction);
    }
  }
  if (!oldest) {
    throw OperationError(ErrorCode::transaction_too_large_for_cache,
                         "transaction is too large and will not fit in the storage engine cache");
  }
  destroy(std::move(oldest));
}

TransactionRegistry::Counts TransactionRegistry::counts() const {
  Counts counts;
  counts.started = started_.get();
  counts.committed = committed_.get();
  counts.aborted = aborted_.get();
  const base::MutexLock lock(mutex_);
  counts.last_operations = last_operations_;
  counts.open = static_cast<int64_t>(open_.size());
  for (const Entry* entry : open_) ++(entry->op ? counts.active : counts.inactive);
  return counts;
}

void TransactionRegistry::visit(const std::function<void(const View&)>& visitor) const {
  const base::MutexLock lock(mutex_);
  for (const Entry* entry : open_) {
    const ClientTransaction& transaction = *entry->transaction;
    visitor({transaction, transaction.life, clock_.monotonic_us(), entry->op ? entry->op->id() : 0});
  }
}

}  // namespace server
