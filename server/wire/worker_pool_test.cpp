#include "server/wire/worker_pool.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <future>
#include <vector>

namespace server::wire {

TEST_CASE("everything submitted runs, also what is queued when the pool ends") {
  std::atomic<int> ran{0};
  {
    WorkerPool pool({.threads_min = 2, .threads_max = 4});
    for (int i = 0; i < 1000; ++i) pool.submit([&] { ++ran; });
  }
  CHECK(ran == 1000);
}

TEST_CASE("a few stuck operations do not starve the others") {
  WorkerPool pool({.threads_min = 2, .threads_max = 8});
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  for (int i = 0; i < 5; ++i) pool.submit([released] { released.wait(); });
  std::promise<void> quick;
  pool.submit([&] { quick.set_value(); });
  CHECK(quick.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready);
  CHECK(pool.threads() >= 6);
  release.set_value();
}

TEST_CASE("the pool grows no further than its limit") {
  WorkerPool pool({.threads_min = 1, .threads_max = 3});
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  for (int i = 0; i < 10; ++i) pool.submit([released] { released.wait(); });
  while (pool.threads() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  CHECK(pool.threads() == 3);
  CHECK(pool.queued() == 7);
  release.set_value();
}

}  // namespace server::wire
