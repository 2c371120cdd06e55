#include "server/wire/reactors.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>

#include "base/log.h"

namespace server::wire {

namespace {
constexpr auto look_interval = std::chrono::milliseconds(2);
constexpr int looks_runnable_max = 3;    // inside one command, before a thread that isn't blocked counts as stuck
constexpr int looks_before_sleep = 500;  // without a command
constexpr int surplus_looks_max = 10;    // before lent threads leave: each one more costs a command another wake-up
constexpr int looks_between_watches = 10;
constexpr int lent_at_once_max = 16;
constexpr auto parked_time_max = std::chrono::seconds(30);
}  // namespace

thread_local Reactors::Seat* Reactors::seat_ = nullptr;

// ---- what a thread records about itself ------------------------------------------

Reactors::Seat::Seat(Reactors* of)
    : reactors(of), state(::open(("/proc/self/task/" + std::to_string(::gettid()) + "/stat").c_str(), O_RDONLY | O_CLOEXEC)) {}

Reactors::Seat::~Seat() {
  if (state >= 0) ::close(state);
}

bool Reactors::Seat::runnable() const {
  char text[64];  // 4711 (reactor) S …
  const ssize_t bytes = state < 0 ? -1 : ::pread(state, text, sizeof text, 0);
  return bytes > 0 && std::string_view(text, static_cast<size_t>(bytes)).find(") R") != std::string_view::npos;
}

Places* Reactors::places() {
  return seat_ ? &seat_->reactors->places_ : nullptr;
}

Reactors::Running::Running(Watch watch, void* subject) {
  Seat* seat = seat_;
  if (!seat) return;
  {
    const base::MutexLock lock(seat->mutex);
    seat->watch = watch;
    seat->subject = subject;
  }
  // This is in one total order with the supervisor, which first records that it sleeps and then looks once more.
  seat->turns.fetch_add(1, std::memory_order_seq_cst);
  if (seat->reactors->supervisor_sleeps_.load(std::memory_order_seq_cst)) seat->reactors->wake_supervisor();
}

Reactors::Running::~Running() {
  Seat* seat = seat_;
  if (!seat) return;
  seat->turns.fetch_add(1, std::memory_order_release);
  const base::MutexLock lock(seat->mutex);
  seat->watch = nullptr;
}

// ---- threads -----------------------------------------------------------------------

Reactors::Reactors(const Size& size)
    : size_(size),
      places_({.ordinary_max = size.threads_max - 2 * size.reserved, .ending_max = size.threads_max - size.reserved}) {
  for (int i = 0; i < size_.reactors; ++i) reactors_.push_back(std::make_unique<Reactor>());
}

Reactors::~Reactors() {
  stop();
}

void Reactors::start() {
  const base::MutexLock lock(mutex_);
  started_ = true;
  for (const auto& reactor : reactors_) {
    if (!lend(*reactor, 1))
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again), "starting a thread");
  }
  supervisor_ = std::thread([this] { supervise(); });
}

void Reactors::stop() {
  {
    const base::MutexLock lock(mutex_);
    if (!started_ || stopping_) return;
    stopping_ = true;
    assignment_.notify_all();
    supervision_.notify_all();
  }
  if (supervisor_.joinable()) supervisor_.join();
  for (const auto& reactor : reactors_) reactor->context.stop();
  base::MutexLock lock(mutex_);
  ended_.wait(lock, [this]() REQUIRES(mutex_) { return threads_ == 0; });
}

size_t Reactors::join() {
  size_t least = 0;
  for (size_t i = 1; i < reactors_.size(); ++i) {
    if (reactors_[i]->connections < reactors_[least]->connections) least = i;
  }
  ++reactors_[least]->connections;
  return least;
}

void Reactors::leave(size_t reactor) {
  --reactors_[reactor]->connections;
}

int Reactors::threads() const {
  const base::MutexLock lock(mutex_);
  return threads_ - parked_;
}

// A system that has no room for another thread is asked again at the next look.
bool Reactors::lend(Reactor& reactor, int count) try {
  for (int i = 0; i < count; ++i) {
    if (parked_ > static_cast<int>(assignments_.size())) {
      assignments_.push_back(&reactor);
      assignment_.notify_one();
    } else {
      std::thread([this, &reactor] { serve(&reactor); }).detach();
      ++threads_;
    }
    ++reactor.coming;
  }
  return true;
} catch (const std::exception& error) {  // std::system_error, std::bad_alloc
  if (base::log_enabled(base::Severity::debug1, base::LogComponent::network)) {
    base::log(base::Severity::debug1, base::LogComponent::network, 7100040, "There is no room for another thread",
              base::Attributes().add("error", error.what()));
  }
  return false;
}

// A handler that runs out of memory ends its connection, and the thread goes on.
bool Reactors::run(Reactor& reactor) {
  for (;;) {
    try {
      reactor.context.run();
      return false;
    } catch (const Leave&) {
      return true;
    } catch (const std::exception& error) {
      base::log(base::Severity::error, base::LogComponent::network, 7100041, "A handler of connections failed",
                base::Attributes().add("error", error.what()));
    }
  }
}

void Reactors::serve(Reactor* reactor) {
  pthread_setname_np(pthread_self(), "reactor");
  Seat seat(this);
  seat_ = &seat;
  base::MutexLock lock(mutex_);
  while (reactor && !stopping_) {
    --reactor->coming;
    reactor->seats.push_back(&seat);
    lock.unlock();
    const bool left = run(*reactor);
    lock.lock();
    if (left) --reactor->leaving;
    std::erase(reactor->seats, &seat);
    reactor = next_assignment(lock);
  }
  --threads_;
  // This is under the lock, because the thread in stop() may destroy everything as soon as it is released.
  ended_.notify_all();
}

Reactors::Reactor* Reactors::next_assignment(base::MutexLock& lock) {
  ++parked_;
  assignment_.wait_for(lock, parked_time_max, [this]() REQUIRES(mutex_) { return stopping_ || !assignments_.empty(); });
  --parked_;
  if (stopping_ || assignments_.empty()) return nullptr;
  Reactor* reactor = assignments_.back();
  assignments_.pop_back();
  return reactor;
}

// ---- the supervisor ------------------------------------------------------------------

void Reactors::wake_supervisor() {
  const base::MutexLock lock(mutex_);
  supervisor_sleeps_ = false;
  supervision_.notify_one();
}

void Reactors::supervise() {
  pthread_setname_np(pthread_self(), "supervisor");
  base::MutexLock lock(mutex_);
  int idle_looks = 0;
  while (!stopping_) {
    supervision_.wait_for(lock, look_interval, [this]() REQUIRES(mutex_) { return stopping_; });
    bool busy = false;
    for (const auto& reactor : reactors_) busy |= look(*reactor);
    idle_looks = busy ? 0 : idle_looks + 1;
    if (idle_looks < looks_before_sleep) continue;
    supervisor_sleeps_.store(true, std::memory_order_seq_cst);
    for (const auto& reactor : reactors_) busy |= look(*reactor);
    if (!busy) supervision_.wait(lock, [this]() REQUIRES(mutex_) { return stopping_ || !supervisor_sleeps_; });
    supervisor_sleeps_ = false;
    idle_looks = 0;
  }
}

// A blocked thread counts as stuck at the second look. If threads were lent already, a storm of slow commands may be coming, and
// it counts at the first look.
bool Reactors::is_stuck(const Seat& seat, bool inside, bool storm) {
  if (seat.looks >= looks_runnable_max) return true;
  return inside && (seat.looks > 0 || storm) && !seat.runnable();
}

bool Reactors::look(Reactor& reactor) {
  bool busy = false;
  int stuck = 0;
  for (Seat* seat : reactor.seats) {
    const uint64_t turns = seat->turns.load(std::memory_order_seq_cst);
    const bool inside = turns % 2 == 1;
    busy |= inside || turns != seat->seen;
    seat->looks = inside && turns == seat->seen ? seat->looks + 1 : 0;
    seat->seen = turns;
    if (!is_stuck(*seat, inside, reactor.seats.size() > 1)) continue;
    ++stuck;
    if (seat->looks % looks_between_watches != looks_between_watches - 1) continue;
    const base::MutexLock seated(seat->mutex);
    if (seat->watch && seat->turns.load(std::memory_order_relaxed) == turns) seat->watch(seat->subject);
  }
  const int free = static_cast<int>(reactor.seats.size()) + reactor.coming - stuck;
  if (free <= 0) {
    // Lends twice as many threads as are stuck, so that a storm of slow commands triples the threads at each look.
    lend(reactor, std::min({std::max(2 * stuck, 1), lent_at_once_max, std::max(0, size_.threads_max - threads_ + parked_)}));
  }
  // Threads that were asked to leave do so when they are free; not all of them may be asked, or none would be left. After a stall
  // of the engine, which lends many threads, half of them leave at once.
  const int surplus = free - 1 - reactor.leaving;
  reactor.surplus_looks = surplus > 0 ? reactor.surplus_looks + 1 : 0;
  if (reactor.surplus_looks > surplus_looks_max) {
    reactor.surplus_looks = 0;
    for (int i = 0; i < (surplus + 1) / 2; ++i) {
      ++reactor.leaving;
      asio::post(reactor.context, []() { throw Leave{}; });
    }
  }
  return busy || reactor.seats.size() > 1;
}

}  // namespace server::wire
