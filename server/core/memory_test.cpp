#include "server/core/memory.h"

#include <catch2/catch.hpp>

#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/testing.h"

namespace server {
namespace {

constexpr size_t mb = 1 << 20;

int refused(MemoryBudget& budget, size_t bytes) {
  return base::testing::code_of([&] { budget.hold(bytes); });
}

constexpr int exceeded_memory_limit = 146;

}  // namespace

TEST_CASE("a budget ends at the limit of one operation") {
  MemoryPool pool(100 * mb, 10 * mb);
  MemoryBudget budget(&pool);
  budget.hold(10 * mb);
  CHECK(refused(budget, 1) == exceeded_memory_limit);
  CHECK(budget.held() == 10 * mb);
  budget.release(mb);
  CHECK(refused(budget, mb) == 0);
}

TEST_CASE("budgets end together at the limit of the pool") {
  MemoryPool pool(10 * mb, 8 * mb);
  MemoryBudget first(&pool), second(&pool);
  first.hold(7 * mb);
  CHECK(refused(second, 4 * mb) == exceeded_memory_limit);
  CHECK(second.held() == 0);
  CHECK(refused(second, 3 * mb) == 0);
  CHECK(pool.used() == 10 * mb);
  CHECK(pool.refused() == 1);
}

TEST_CASE("a budget that is asked to gives back what it took ahead, and takes it again when it needs it") {
  MemoryPool pool(10 * mb, 8 * mb);
  MemoryBudget budget(&pool);
  budget.hold(3 * mb + 1);
  budget.release(2 * mb + 1);
  CHECK(pool.used() == 4 * mb);
  budget.give_back();
  CHECK(pool.used() == mb);
  budget.release(mb);
  budget.give_back();
  CHECK(pool.used() == 0);
  CHECK(refused(budget, 8 * mb) == 0);
}

TEST_CASE("what a budget took goes back with it") {
  MemoryPool pool(100 * mb, 100 * mb);
  {
    MemoryBudget budget(&pool);
    budget.hold(50 * mb + 1);
    CHECK(pool.used() == 51 * mb);
    budget.release(40 * mb);
    CHECK(pool.used() == 11 * mb);
  }
  CHECK(pool.used() == 0);
  CHECK(pool.peak() == 51 * mb);
}

TEST_CASE("arriving messages leave half of the pool to operations") {
  MemoryPool pool(10 * mb, 10 * mb);
  CHECK(pool.take_for_message(5 * mb));
  CHECK_FALSE(pool.take_for_message(1));
  CHECK(pool.take(5 * mb));
  pool.give_back(10 * mb);
}

TEST_CASE("an object that fails to grow holds what it held") {
  MemoryPool pool(10 * mb, 10 * mb);
  MemoryBudget budget(&pool);
  {
    Held held(budget);
    held.set(4 * mb);
    CHECK_THROWS_AS(held.set(11 * mb), base::OperationError);
    CHECK(held.bytes() == 4 * mb);
    CHECK(budget.held() == 4 * mb);
    held.set(2 * mb);
    CHECK(budget.held() == 2 * mb);
  }
  CHECK(budget.held() == 0);
}

TEST_CASE("a holder that can do with less asks whether there is room") {
  MemoryPool pool(10 * mb, 8 * mb);
  MemoryBudget first(&pool), second(&pool);
  Held held(first);
  CHECK(held.add_if_room(7 * mb));
  CHECK_FALSE(held.add_if_room(2 * mb));  // the limit of one operation
  CHECK(held.bytes() == 7 * mb);
  CHECK_FALSE(second.hold_if_room(4 * mb));  // the pool's
  CHECK(second.held() == 0);
  CHECK(second.hold_if_room(3 * mb));
}

TEST_CASE("a budget without a pool has no limit") {
  MemoryBudget budget(nullptr);
  budget.hold(SIZE_MAX / 2);
  budget.release(SIZE_MAX / 2);
  CHECK(budget.held() == 0);
}

TEST_CASE("threads share a pool and leave nothing in it") {
  MemoryPool pool(64 * mb, 16 * mb);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&pool, thread] {
      for (size_t round = 0; round < 2000; ++round) {
        MemoryBudget budget(&pool);
        for (size_t step = 1; step < 20; ++step) {
          if (refused(budget, (step * 37 + static_cast<size_t>(thread)) % 5 * mb) != 0) break;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.used() == 0);
  CHECK(pool.peak() <= 64 * mb);
}

}  // namespace server
