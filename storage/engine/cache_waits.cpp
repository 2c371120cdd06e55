#include "storage/engine/cache_waits.h"

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "storage/engine/internals.h"

namespace storage {
namespace {

// A call within a transaction waits for operation_timeout_ms. Calls outside of one, beginnings and what comes after a commit,
// know only this limit, which is higher, because WiredTiger wants a transaction rolled back that reaches it.
constexpr char session_settings[] = "cache_max_wait_ms=1000";
constexpr int64_t whole_wait_us = 450'000;  // a wait of this length didn't end because there was room
constexpr int64_t look_every_us = 50'000;
constexpr std::chrono::milliseconds step(20);
constexpr int64_t overfull_percent = 110;

// InterruptibleWaits(nullptr) sets this: the thread's code must not be interrupted.
const base::Interrupted nothing;

thread_local const base::Interrupted* current = nullptr;
thread_local std::exception_ptr interruption;

bool must_end() {
  return current == &nothing;
}

// No exception may cross WiredTiger's calls, so it is kept.
bool interrupted() {
  if (wait_was_interrupted) return true;
  if (!current || !*current) return false;
  try {
    (*current)();
  } catch (...) {
    interruption = std::current_exception();
    wait_was_interrupted = true;
  }
  return wait_was_interrupted;
}

int64_t now_us() {
  return base::system_clock().monotonic_us();
}

bool was_too_long(WT_SESSION* session) {
  const char* reason = session->get_rollback_reason(session);
  return reason && std::string_view(reason).find("cache overflow") != std::string_view::npos;
}

}  // namespace

constinit thread_local bool wait_was_interrupted = false;

std::exception_ptr take_interruption() {
  wait_was_interrupted = false;
  return std::exchange(interruption, nullptr);
}

InterruptibleWaits::InterruptibleWaits(const base::Interrupted* interrupted)
    : outer_(std::exchange(current, interrupted ? interrupted : &nothing)) {
  take_interruption();
}

void ask_interrupted() {
  if (current && *current) (*current)();
}

InterruptibleWaits::~InterruptibleWaits() {
  current = outer_;
  take_interruption();
}

CacheWaits::CacheWaits(wt::Connection& connection) : connection_(connection) {
  WT_CONNECTION* raw = connection.get();
  wt::check(raw->compile_configuration(raw, "WT_SESSION.begin_transaction", transaction_settings_text, &transaction_settings_),
            "compiling the settings of transactions");
}

wt::Session CacheWaits::open_session(SessionWaits& of) {
  wt::Session session = connection_.open_session(session_settings);
  of.waits = this;
  session->app_private = &of;
  return session;
}

bool CacheWaits::overfull() {
  const base::MutexLock lock(mutex_);
  if (const int64_t now = now_us(); now - looked_us_ >= look_every_us) {
    looked_us_ = now;
    overfull_ = engine_statistic(connection_, WT_STAT_CONN_CACHE_BYTES_INUSE) >
                engine_statistic(connection_, WT_STAT_CONN_CACHE_BYTES_MAX) / 100 * overfull_percent;
  }
  return overfull_;
}

template <class Wait>
int CacheWaits::wait_interruptibly(WT_SESSION* session, bool reads, const Wait& wait) {
  if (interrupted()) return 0;
  const int64_t start = now_us();
  for (;;) {
    const int result = wait();
    if (result == WT_ROLLBACK && was_too_long(session)) {
      interrupted();
      return 0;
    }
    if (result == WT_ROLLBACK && (reads || must_end())) {
      // WiredTiger wants the oldest transaction rolled back. A reader has written nothing that its rollback would set free, and
      // its callers know of no conflicts. It goes on, so that it comes to its end. So does what must not be interrupted, which
      // would only begin again.
      interrupted();
      std::this_thread::sleep_for(step);
      return 0;
    }
    if (result != 0 || now_us() - start < whole_wait_us) return result;
    if (interrupted() || must_end() || !overfull()) return 0;
    // From now on WiredTiger waits no more in this call, but says whether the transaction has to be rolled back for others.
    std::this_thread::sleep_for(step);
  }
}

}  // namespace storage

// The linker puts this function in front of WiredTiger's (storage/CMakeLists.txt). Whoever calls it holds none of WiredTiger's
// locks.
int wiredtiger_free_room(WT_SESSION* session, bool busy, bool readonly,
                         double percent_full) __asm__("__real___wti_evict_app_assist_worker");
int free_room(WT_SESSION* session, bool busy, bool readonly, double percent_full) __asm__("__wrap___wti_evict_app_assist_worker");

int free_room(WT_SESSION* session, bool busy, bool readonly, double percent_full) {
  const auto wait = [&] { return wiredtiger_free_room(session, busy, readonly, percent_full); };
  const auto* const of = static_cast<const storage::SessionWaits*>(session->app_private);
  return of ? of->waits->wait_interruptibly(session, of->reads, wait) : wait();
}
