#include "base/interruptible_mutex.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace base {
namespace {

struct Stop : std::runtime_error {
  Stop() : std::runtime_error("stop") {}
};

const Interrupted stops = [] { throw Stop(); };

}  // namespace

TEST_CASE("an interruptible mutex is held shared or exclusively") {
  InterruptibleMutex mutex;
  {
    const SharedHold one(mutex), another(mutex);
    CHECK_FALSE(mutex.try_lock());
  }
  const ExclusiveHold alone(mutex);
  CHECK_FALSE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock_shared());
}

TEST_CASE("a wait for an interruptible mutex ends when it is interrupted, and leaves nothing behind") {
  InterruptibleMutex mutex;
  {
    const SharedHold held(mutex);
    CHECK_THROWS_AS(hold_exclusively(mutex, stops), Stop);
    CHECK(mutex.try_lock_shared());  // nobody waits for it exclusively any more
    mutex.unlock_shared();
  }
  {
    const ExclusiveHold held(mutex);
    CHECK_THROWS_AS(hold_exclusively(mutex, stops), Stop);
    CHECK_THROWS_AS(hold_shared(mutex, stops), Stop);
  }
  CHECK(mutex.try_lock());
}

TEST_CASE("a thread that holds an interruptible mutex shared takes it once more beside one that waits") {
  InterruptibleMutex mutex;
  std::thread waiting;
  {
    const SharedHold held(mutex);
    waiting = std::thread([&] { const ExclusiveHold alone(mutex); });
    while (mutex.try_lock_shared()) {
      mutex.unlock_shared();
      std::this_thread::yield();
    }
    const SharedHold again(mutex);
    CHECK(again.owns_lock());
  }
  waiting.join();
}

TEST_CASE("readers that follow one another don't keep a writer out") {
  InterruptibleMutex mutex;
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const SharedHold held(mutex);
        std::this_thread::yield();
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    const ExclusiveHold alone(mutex);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(mutex.try_lock());
}

TEST_CASE("several interruptible mutexes are taken by many threads, in any order") {
  InterruptibleMutex a, b, c;
  int written = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const std::vector<InterruptibleMutex*> orders[] = {{&a, &b, &c}, {&c, &b, &a}, {&b, &a, &c}, {&a, &c, &b}};
      for (int n = 0; n < 200; ++n) {
        const auto held = hold_exclusively(orders[i], nullptr);
        ++written;
      }
    });
  }
  std::thread reader([&] {
    for (int n = 0; n < 200; ++n) {
      const SharedHold first(b), second(a);
      CHECK(written >= 0);
    }
  });
  for (std::thread& thread : threads) thread.join();
  reader.join();
  CHECK(written == 800);
  {
    const SharedHold held(b);
    CHECK_THROWS_AS(hold_exclusively(std::vector<InterruptibleMutex*>{&a, &b, &c}, stops), Stop);
  }
  CHECK(a.try_lock());
  CHECK(b.try_lock());
  CHECK(c.try_lock());
}

}  // namespace base
