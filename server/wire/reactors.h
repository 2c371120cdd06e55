// The threads that serve connections. Internal to wire/.
//
// A reactor is an io_context with connections of its own. Ordinarily one thread
// runs it: the thread waits for all its sockets, and runs each command where it
// read it, so a quick command costs one wake-up and no hand-over. A command that
// lasts keeps its thread. The supervisor sees that within a few milliseconds and
// lends the reactor another thread, which serves the other connections; lent
// threads leave after a quiet while. A thread that computes, or waits for a CPU,
// is given longer than one that is blocked: on a busy machine quick commands
// would look as if they lasted.
//
//   supervisor, every 2 ms while commands run
//     reactor 0   [thread: in the same command as at the last look]   -> lend one
//     reactor 1   [thread: waits for its sockets]
//
// So what a connection's coroutine touches is touched by one thread at a time,
// but not always by the same one.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace server::wire {

class Reactors {
 public:
  struct Size {
    int reactors = 2;
    int threads_max = 1000;  // of all reactors together; at least one each
  };
  explicit Reactors(const Size& size);
  ~Reactors();  // stop()
  Reactors(const Reactors&) = delete;
  Reactors& operator=(const Reactors&) = delete;

  void start();
  // Ends every thread once the handler it runs has returned. Handlers that wait are dropped.
  void stop();

  size_t size() const { return reactors_.size(); }
  asio::io_context& context(size_t reactor) { return reactors_[reactor]->context; }
  // The reactor with the fewest connections gets the next one. Thread-safe.
  size_t join();
  void leave(size_t reactor);

  int threads() const;  // that run a reactor now

  // A command that is being run on this thread, which must be a reactor's, or nobody supervises it. While it lasts, `watch` is
  // called now and then from the supervisor's thread; it must be brief and must not throw.
  class Running {
   public:
    using Watch = void (*)(void* subject);
    Running(Watch watch, void* subject);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };

 private:
  // What a thread says of itself. Made on that thread.
  struct Seat {
    explicit Seat(Reactors* of);
    ~Seat();
    bool runnable() const;  // on a CPU or waiting for one, not for anything else

    Reactors* reactors = nullptr;
    const int state;                 // where the kernel says how the thread is
    std::atomic<uint64_t> turns{0};  // odd: inside a command
    uint64_t seen = 0;               // at the supervisor's last look
    int looks = 0;                   // that found it inside the same command
    std::mutex mutex;                // guards the two below
    Running::Watch watch = nullptr;
    void* subject = nullptr;
  };
  struct Reactor {
    asio::io_context context{2};  // 2: Asio wakes a second thread where there is one
    asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
    std::vector<Seat*> seats;  // of the threads that run it; guarded by mutex_, as what follows
    int coming = 0;            // threads on their way to it
    int surplus_looks = 0;
    int leaving = 0;  // threads that were asked to leave and haven't left yet: always fewer than there are
    std::atomic<int> connections{0};
  };
  struct Leave {};  // thrown by the handler that makes a thread leave its reactor

  void serve(Reactor* reactor);
  Reactor* next_assignment(std::unique_lock<std::mutex>& lock);
  void lend(Reactor& reactor, int count);  // mutex_ held
  void supervise();
  static bool is_stuck(const Seat& seat, bool inside, bool storm);
  bool look(Reactor& reactor);  // mutex_ held; true: something runs there, or a lent thread is to leave
  void wake_supervisor();

  static thread_local Seat* seat_;

  const Size size_;
  std::vector<std::unique_ptr<Reactor>> reactors_;
  mutable std::mutex mutex_;
  std::condition_variable assignment_;
  std::condition_variable supervision_;
  std::condition_variable ended_;
  std::vector<Reactor*> assignments_;  // that parked threads are to take up
  int parked_ = 0;
  int threads_ = 0;  // parked ones too
  bool stopping_ = false;
  bool started_ = false;
  std::atomic<bool> supervisor_sleeps_{false};
  std::thread supervisor_;
};

}  // namespace server::wire
