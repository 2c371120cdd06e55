// Reactors are the threads that serve connections. They are internal to wire/.
//
// A reactor is an io_context with connections of its own. Ordinarily one thread
// runs it: the thread waits for all its sockets, and runs each command where it
// read it, so a quick command costs one wake-up and no hand-over. A long command
// keeps its thread. The supervisor sees that within a few milliseconds and lends
// the reactor another thread, which serves the other connections; lent threads
// leave after a quiet while. A thread that computes, or waits for a CPU, is given
// longer than one that is blocked, because on a busy machine quick commands would
// look like long ones.
//
//   supervisor, every 2 ms while commands run
//     reactor 0   [thread: in the same command as at the last look]   -> lend one
//     reactor 1   [thread: waits for its sockets]
//
// So at any time one thread runs a connection's coroutine, but not always the same
// one.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "server/wire/places.h"

namespace server::wire {

class Reactors {
 public:
  struct Size {
    int reactors = 2;
    int threads_max = 1000;  // of all reactors together; each has at least one
    int reserved = 0;        // so many of them are for urgent commands, and as many for those that end something (places.h)
  };
  explicit Reactors(const Size& size);
  ~Reactors();  // calls stop()
  Reactors(const Reactors&) = delete;
  Reactors& operator=(const Reactors&) = delete;

  void start();
  // Ends every thread once its current handler has returned. Waiting handlers are dropped.
  void stop();

  size_t size() const { return reactors_.size(); }
  asio::io_context& context(size_t reactor) { return reactors_[reactor]->context; }
  // Returns the reactor with the fewest connections, for a new one. Thread-safe.
  size_t join();
  void leave(size_t reactor);

  int threads() const;                                           // the threads that run a reactor now
  bool supervisor_sleeps() const { return supervisor_sleeps_; }  // no command has run for a while

  // Returns the places of the reactors whose thread calls; nullptr: it is none of theirs. A command takes a place before it runs.
  static Places* places();

  // A command that runs on this thread, which must be a reactor's, because the supervisor watches only those. While it lasts, the
  // supervisor's thread calls `watch` now and then; it must be brief and must not throw.
  class Running {
   public:
    using Watch = void (*)(void* subject);
    Running(Watch watch, void* subject);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };

 private:
  // A seat is what a thread records about itself. The thread makes it.
  struct Seat {
    explicit Seat(Reactors* of);
    ~Seat();
    bool runnable() const;  // it is on a CPU or waits for one, and for nothing else

    Reactors* reactors = nullptr;
    const int state;                 // the kernel's file with the thread's state
    std::atomic<uint64_t> turns{0};  // odd: inside a command
    uint64_t seen = 0;               // `turns` at the supervisor's last look
    int looks = 0;                   // how many looks found it inside the same command
    base::Mutex mutex;
    Running::Watch watch GUARDED_BY(mutex) = nullptr;
    void* subject GUARDED_BY(mutex) = nullptr;
  };
  struct Reactor {
    asio::io_context context{2};  // 2: Asio wakes a second thread if there is one
    asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
    std::atomic<int> connections{0};
    // The owner's mutex_ guards the fields below; an annotation can't name another object's mutex here.
    std::vector<Seat*> seats;  // the threads that run it
    int coming = 0;            // threads on their way to it
    int surplus_looks = 0;
    int leaving = 0;  // threads that were asked to leave and haven't yet; there are always more threads than that
  };
  struct Leave {};  // a handler throws it to make its thread leave the reactor

  void serve(Reactor* reactor);
  Reactor* next_assignment(base::MutexLock& lock) REQUIRES(mutex_);
  bool lend(Reactor& reactor, int count) REQUIRES(mutex_);  // false: not all of them
  static bool run(Reactor& reactor);                        // until it stops, or a thread is to leave: true
  void supervise();
  static bool is_stuck(const Seat& seat, bool inside, bool storm);
  bool look(Reactor& reactor) REQUIRES(mutex_);  // true: a command runs there, or a lent thread is to leave
  void wake_supervisor();

  static thread_local Seat* seat_;

  const Size size_;
  Places places_;  // what waits for a place in a reactor is destroyed before it
  std::vector<std::unique_ptr<Reactor>> reactors_;
  mutable base::Mutex mutex_;
  base::Condition assignment_;
  base::Condition supervision_;
  base::Condition ended_;
  std::vector<Reactor*> assignments_ GUARDED_BY(mutex_);  // the reactors that parked threads are to serve
  int parked_ GUARDED_BY(mutex_) = 0;
  int threads_ GUARDED_BY(mutex_) = 0;  // parked threads count too
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool started_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> supervisor_sleeps_{false};
  std::thread supervisor_;
};

}  // namespace server::wire
