#include "server/wire/places.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace server::wire {
namespace {

using Use = Places::Use;

// Commands that wait for a place, and the order in which they got one.
class Waiters {
 public:
  explicit Waiters(Places& places) : places_(places) {}
  void add(char name, Use use) {
    places_of_.push_back(std::make_unique<Place>(&places_));
    places_of_.back()->take(use, [this, name] { order_ += name; });
  }
  void leave(size_t which) { places_of_[which].reset(); }
  const std::string& order() const { return order_; }

 private:
  Places& places_;
  std::string order_;
  std::vector<std::unique_ptr<Place>> places_of_;
};

}  // namespace

TEST_CASE("ordinary commands leave places to those that end something, and these leave places to urgent ones", "[places]") {
  Places places({.ordinary_max = 3, .ending_max = 5});
  std::vector<std::unique_ptr<Place>> taken;
  const auto takes = [&](Use use) {
    taken.push_back(std::make_unique<Place>(&places));
    if (!taken.back()->take()) taken.back()->take(use, [] {});
    const bool has = taken.back()->taken();
    if (!has) taken.pop_back();
    return has;
  };
  for (int i = 0; i < 3; ++i) CHECK(takes(Use::ordinary));
  CHECK_FALSE(takes(Use::ordinary));
  for (int i = 0; i < 2; ++i) CHECK(takes(Use::ending));
  CHECK_FALSE(takes(Use::ending));
  for (int i = 0; i < 10; ++i) CHECK(takes(Use::urgent));
  CHECK(places.taken() == 15);
  taken.clear();
  CHECK(places.taken() == 0);
  CHECK(places.waiting() == 0);
  CHECK(takes(Use::ordinary));
}

TEST_CASE("commands that wait get places in their order, and what comes later overtakes nobody", "[places]") {
  Places places({.ordinary_max = 1, .ending_max = 2});
  std::optional<Place> first(&places), second(&places);
  CHECK(first->take());
  second->take(Use::ending, [] {});
  Waiters waiters(places);
  waiters.add('a', Use::ordinary);
  waiters.add('b', Use::ordinary);
  waiters.add('x', Use::ending);
  waiters.add('c', Use::ordinary);
  CHECK(waiters.order().empty());
  CHECK(places.waiting() == 4);
  first.reset();  // a place of the reserve is free
  CHECK(waiters.order() == "x");
  waiters.leave(2);
  CHECK(waiters.order() == "x");
  second.reset();
  CHECK(waiters.order() == "xa");
  {
    Place late(&places);
    CHECK_FALSE(late.take());
  }
  waiters.leave(0);
  CHECK(waiters.order() == "xab");
  Place late(&places);
  CHECK_FALSE(late.take());
  late.take(Use::ordinary, [] {});
  CHECK_FALSE(late.taken());
  waiters.leave(1);
  CHECK(waiters.order() == "xabc");
  waiters.leave(3);
  CHECK(late.taken());
}

TEST_CASE("who leaves the line, or was given a place that isn't used, holds up nobody", "[places]") {
  Places places({.ordinary_max = 1, .ending_max = 1});
  std::optional<Place> holder(&places);
  CHECK(holder->take());
  Waiters waiters(places);
  for (const char name : {'a', 'b', 'c', 'd'}) waiters.add(name, Use::ordinary);
  waiters.leave(0);
  waiters.leave(2);
  holder.reset();
  CHECK(waiters.order() == "b");
  waiters.leave(1);
  CHECK(waiters.order() == "bd");
  waiters.leave(3);
  CHECK(places.taken() == 0);
  CHECK(places.waiting() == 0);
}

TEST_CASE("who insists has a place at once, and others wait until there are fewer than the limit again", "[places]") {
  Places places({.ordinary_max = 1, .ending_max = 1});
  std::optional<Place> holder(&places), insisting(&places);
  CHECK(holder->take());
  insisting->take(Use::ordinary, [] { FAIL("nobody gave it a place"); });
  insisting->insist();
  CHECK(insisting->taken());
  CHECK(places.taken() == 2);
  CHECK(places.waiting() == 0);
  Waiters waiters(places);
  waiters.add('a', Use::ordinary);
  insisting.reset();
  CHECK(waiters.order().empty());
  holder.reset();
  CHECK(waiters.order() == "a");
}

TEST_CASE("places that aren't counted are always there", "[places]") {
  Place place(nullptr);
  CHECK(place.take());
  CHECK(place.taken());
}

TEST_CASE("many threads get places, never more than there are, and all of them in the end", "[places]") {
  constexpr int ordinary_max = 2, ending_max = 3, threads = 8, rounds = 5000;
  Places places({.ordinary_max = ordinary_max, .ending_max = ending_max});
  std::atomic<int> inside{0}, most{0}, missing{0};
  const auto work = [&](Use use) {
    for (int i = 0; i < rounds; ++i) {
      std::mutex mutex;
      std::condition_variable given;
      bool there = false;
      Place place(&places);
      if (!place.take()) {
        place.take(use, [&] {
          const std::lock_guard lock(mutex);
          there = true;
          given.notify_one();
        });
        std::unique_lock lock(mutex);
        given.wait(lock, [&] { return there; });
      }
      if (!place.taken()) ++missing;
      const int now = ++inside;
      for (int known = most; known < now && !most.compare_exchange_weak(known, now);) {
      }
      --inside;
    }
  };
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back(work, i % 2 == 0 ? Use::ordinary : Use::ending);
  for (auto& thread : running) thread.join();
  CHECK(missing == 0);
  CHECK(most <= ending_max);
  CHECK(places.taken() == 0);
  CHECK(places.waiting() == 0);
}

}  // namespace server::wire
