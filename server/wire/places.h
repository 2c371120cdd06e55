// Places bound how many commands may occupy threads, so that some threads are
// always left for the commands by which somebody finds out what blocks the
// others, and ends it.
//
//   places taken    0 ................ ordinary_max ..... ending_max ..... threads
//   Use::ordinary   |------------------|
//   Use::ending     |------------------------------------|
//   Use::urgent     |------------------------------------------------------------->
//
// Commands for which there is no place stand in line, without a thread. The first
// in its line gets the next place, and what ends something goes before ordinary
// commands. What comes later overtakes nobody in its line.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>

#include "base/mutex.h"

namespace server::wire {

// This class is thread-safe.
class Places {
 public:
  enum class Use : uint8_t {
    ordinary,
    ending,  // it ends transactions, sessions or cursors, or the lead of a primary; it may wait for what others hold
    urgent,  // it shows what others do, or tells them to end, and never waits itself
  };
  struct Limits {
    int ordinary_max;
    int ending_max;
  };
  explicit Places(const Limits& limits) : limits_(limits) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  int taken() const { return taken_.load(std::memory_order_relaxed); }
  int waiting() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  friend class Place;
  using Line = std::list<class Place*>;

  bool take();  // an ordinary one; returns false if there is none, or others wait already
  bool take_below(int max);
  void leave();
  void serve() REQUIRES(mutex_);  // gives free places to those who wait

  const Limits limits_;
  std::atomic<int> taken_{0};
  // It counts those in both lines. Whoever takes or leaves a place looks at it before taking the lock.
  std::atomic<int> waiting_{0};
  base::Mutex mutex_;
  Line ordinary_ GUARDED_BY(mutex_), ending_ GUARDED_BY(mutex_);
};

// The place of one command, which is left when the object is destroyed. One thread at a time uses it.
class Place {
 public:
  // nullptr: places aren't counted, and there is always one.
  explicit Place(Places* places) : places_(places), state_(places ? State::none : State::uncounted) {}
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // Takes a place for an ordinary command. Returns false if there is none.
  bool take();
  // Takes a place, or stands in line and calls `given` when there is one, from any thread; it must be brief.
  void take(Places::Use use, std::function<void()> given);
  bool taken() const { return state_ >= State::taken; }
  // Takes a place even if all are taken.
  void insist();

 private:
  friend class Places;
  enum class State : uint8_t { none, waits, taken, uncounted };
  void leave_line();

  Places* const places_;
  std::atomic<State> state_;
  // Whoever has the lock of `places_` owns these while the place is in line.
  Places::Line* line_ = nullptr;
  Places::Line::iterator at_;
  std::function<void()> given_;
};

}  // namespace server::wire
