#include "server/wire/reactors.h"

#include <asio/post.hpp>
#include <catch2/catch.hpp>

#include <future>
#include <thread>
#include <vector>

#include "base/testing.h"

namespace server::wire {
namespace {

// Commands on a reactor that last until they are released.
class Blocked {
 public:
  ~Blocked() { release(); }
  void on(Reactors& reactors, size_t reactor, int count) {
    for (int i = 0; i < count; ++i) {
      asio::post(reactors.context(reactor), [this, released = released_] {
        Reactors::Running running([](void* self) { ++static_cast<Blocked*>(self)->looks_; }, this);
        ++begun_;
        released.wait();
      });
    }
  }
  int begun() const { return begun_; }
  int64_t looks() const { return looks_; }  // of the supervisor at any of them
  void release() {
    if (!std::exchange(done_, true)) release_.set_value();
  }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  std::atomic<int> begun_{0};
  std::atomic<int64_t> looks_{0};
  bool done_ = false;
};

bool runs(Reactors& reactors, size_t reactor) {
  auto quick = std::make_shared<std::promise<void>>();
  asio::post(reactors.context(reactor), [quick] { quick->set_value(); });
  return quick->get_future().wait_for(base::testing::deadline) == std::future_status::ready;
}

void wait_for(const std::function<bool()>& condition) {
  REQUIRE(base::testing::wait_until(condition));
}

}  // namespace

TEST_CASE("blocked commands keep their threads, and others run all the same", "[reactors]") {
  Reactors reactors({.reactors = 2, .threads_max = 256});
  reactors.start();
  Blocked blocked;
  blocked.on(reactors, 0, 20);
  blocked.on(reactors, 1, 3);
  wait_for([&] { return blocked.begun() == 23; });
  CHECK(runs(reactors, 0));
  CHECK(runs(reactors, 1));
  blocked.release();
}

TEST_CASE("a reactor keeps a thread, however long its threads take to leave", "[reactors]") {
  Reactors reactors({.reactors = 2, .threads_max = 3});
  reactors.start();
  Blocked blocked, watched;
  blocked.on(reactors, 0, 1);
  wait_for([&] { return blocked.begun() == 1; });
  CHECK(runs(reactors, 0));  // by a second thread
  watched.on(reactors, 1, 1);
  wait_for([&] { return watched.begun() == 1; });
  // Both threads are busy without a command, while the supervisor finds again and again that one of them is too many. It looks at
  // the other reactor's command at every tenth look.
  std::atomic<int> in_time{0};
  for (int i = 0; i < 2; ++i) {
    asio::post(reactors.context(0), [&] {
      const int64_t before = watched.looks();
      in_time += base::testing::wait_until([&] { return watched.looks() >= before + 40; });
    });
  }
  blocked.release();
  CHECK(runs(reactors, 0));
  CHECK(in_time > 0);
  wait_for([&] { return in_time == 2; });
  watched.release();
  wait_for([&] { return reactors.threads() == 2; });
  CHECK(runs(reactors, 0));
}

TEST_CASE("no more threads are lent than allowed, and what waits runs later", "[reactors]") {
  Reactors reactors({.reactors = 1, .threads_max = 3});
  reactors.start();
  Blocked blocked;
  blocked.on(reactors, 0, 10);
  wait_for([&] { return blocked.begun() == 3; });
  wait_for([&, before = blocked.looks()] { return blocked.looks() >= before + 30; });
  CHECK(blocked.begun() == 3);
  CHECK(reactors.threads() == 3);
  blocked.release();
  wait_for([&] { return blocked.begun() == 10; });
}

TEST_CASE("a reactor's thread finds the places of all reactors, and others find none", "[reactors]") {
  Reactors reactors({.reactors = 2, .threads_max = 5, .reserved = 2});
  reactors.start();
  std::promise<Places*> found[2];
  for (size_t i : {0, 1}) asio::post(reactors.context(i), [&found, i] { found[i].set_value(Reactors::places()); });
  Places* const places = found[0].get_future().get();
  CHECK(places != nullptr);
  CHECK(places == found[1].get_future().get());
  CHECK(Reactors::places() == nullptr);
}

TEST_CASE("lent threads leave after a quiet while", "[reactors]") {
  Reactors reactors({.reactors = 1, .threads_max = 16});
  reactors.start();
  Blocked blocked;
  blocked.on(reactors, 0, 5);
  wait_for([&] { return blocked.begun() == 5; });
  CHECK(reactors.threads() >= 5);
  blocked.release();
  wait_for([&] { return reactors.threads() == 1; });
  CHECK(runs(reactors, 0));
  // Parked threads are used again.
  Blocked again;
  again.on(reactors, 0, 5);
  wait_for([&] { return again.begun() == 5; });
  CHECK(runs(reactors, 0));
}

TEST_CASE("a supervisor that sleeps is woken by a command that lasts", "[reactors]") {
  Reactors reactors({.reactors = 1, .threads_max = 8});
  reactors.start();
  wait_for([&] { return reactors.supervisor_sleeps(); });
  Blocked blocked;
  blocked.on(reactors, 0, 2);
  wait_for([&] { return blocked.begun() == 2; });
  CHECK(runs(reactors, 0));
}

TEST_CASE("a command that lasts is watched", "[reactors]") {
  Reactors reactors({.reactors = 1, .threads_max = 8});
  reactors.start();
  struct Subject {
    std::promise<void> watched;
    std::atomic<bool> first{true};
  } subject;
  const auto seen = subject.watched.get_future().share();
  std::promise<std::future_status> outcome;
  asio::post(reactors.context(0), [&] {
    Reactors::Running running(
        [](void* given) {
          auto& one = *static_cast<Subject*>(given);
          if (one.first.exchange(false)) one.watched.set_value();
        },
        &subject);
    outcome.set_value(seen.wait_for(base::testing::deadline));
  });
  CHECK(outcome.get_future().get() == std::future_status::ready);
  CHECK(runs(reactors, 0));
}

TEST_CASE("connections go where the fewest are", "[reactors]") {
  Reactors reactors({.reactors = 3, .threads_max = 8});
  CHECK(reactors.join() == 0);
  CHECK(reactors.join() == 1);
  CHECK(reactors.join() == 2);
  reactors.leave(1);
  CHECK(reactors.join() == 1);
}

}  // namespace server::wire
