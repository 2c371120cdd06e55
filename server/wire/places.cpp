#include "server/wire/places.h"

#include <utility>

namespace server::wire {

bool Places::take_below(int max) {
  int taken = taken_.load();
  while (taken < max) {
    if (taken_.compare_exchange_weak(taken, taken + 1)) return true;
  }
  return false;
}

bool Places::take() {
  return waiting_.load() == 0 && take_below(limits_.ordinary_max);
}

// These atomics are in one total order: whoever comes into line counts itself and then looks for a place, and whoever leaves a
// place looks for those in line afterwards. So one of the two sees the other.
void Places::leave() {
  taken_.fetch_sub(1);
  if (waiting_.load() == 0) return;
  const base::MutexLock lock(mutex_);
  serve();
}

void Places::serve() {
  const auto serve_line = [this](Line& line, int max) {
    while (!line.empty() && take_below(max)) {
      Place& first = *line.front();
      line.pop_front();
      waiting_.fetch_sub(1);
      // The place may be gone as soon as its owner sees that it has been taken.
      const auto given = std::move(first.given_);
      first.state_ = Place::State::taken;
      given();
    }
  };
  serve_line(ending_, limits_.ending_max);
  serve_line(ordinary_, limits_.ordinary_max);
}

bool Place::take() {
  if (state_ == State::none && places_->take()) state_ = State::taken;
  return taken();
}

void Place::take(Places::Use use, std::function<void()> given) {
  if (taken()) return;
  if (use == Places::Use::urgent) return insist();
  const base::MutexLock lock(places_->mutex_);
  line_ = use == Places::Use::ending ? &places_->ending_ : &places_->ordinary_;
  given_ = std::move(given);
  at_ = line_->insert(line_->end(), this);
  state_ = State::waits;
  places_->waiting_.fetch_add(1);
  places_->serve();
}

void Place::insist() {
  leave_line();
  if (taken()) return;
  places_->taken_.fetch_add(1);
  state_ = State::taken;
}

void Place::leave_line() {
  if (state_ != State::waits) return;
  const base::MutexLock lock(places_->mutex_);
  if (state_ != State::waits) return;  // it was given a place meanwhile
  line_->erase(at_);
  places_->waiting_.fetch_sub(1);
  state_ = State::none;
}

Place::~Place() {
  leave_line();
  if (state_ == State::taken) places_->leave();
}

}  // namespace server::wire
