#include "server/core/passes.h"

#include <algorithm>

#include "base/clock_time.h"
#include "base/log.h"

namespace server {

Passes::Passes(base::Clock& clock, std::string name, std::function<std::chrono::milliseconds()> pause, std::function<void()> pass)
    : clock_(clock), name_(std::move(name)), pause_(std::move(pause)), pass_(std::move(pass)) {}

Passes::~Passes() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    for (OperationContext* operation : operations_) operation->kill(base::ErrorCode::interrupted_at_shutdown);
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Passes::start() {
  thread_ = std::thread([this] { run(); });
}

bool Passes::stopping() const {
  const base::MutexLock lock(mutex_);
  return stopping_;
}

void Passes::run() {
  const base::LogContext context(name_);
  base::MutexLock lock(mutex_);
  constexpr std::chrono::milliseconds look_again(1000);
  for (auto begun = base::now(clock_);;) {
    const auto left = pause_() - std::chrono::floor<std::chrono::milliseconds>(base::now(clock_) - begun);
    if (woken_.wait_for(lock, std::min(left, look_again), [this]() REQUIRES(mutex_) { return stopping_; })) return;
    if (left > look_again) continue;
    lock.unlock();
    pass_();
    lock.lock();
    begun = base::now(clock_);
  }
}

Passes::Operation::Operation(Passes& passes, Services& services, std::string db, bson::Document command)
    : passes_(passes),
      command_(std::move(command)),
      request_{std::string(command_.view().first().name), std::move(db), command_, {}},
      client_(ClientId{0}, "", "", false),
      context_(services, client_, request_, nullptr) {
  const base::MutexLock lock(passes_.mutex_);
  passes_.operations_.push_back(&context_);
  if (passes_.stopping_) context_.kill(base::ErrorCode::interrupted_at_shutdown);
}

Passes::Operation::~Operation() {
  const base::MutexLock lock(passes_.mutex_);
  std::erase(passes_.operations_, &context_);
}

}  // namespace server
