#include "replication/log_places.h"

#include <catch2/catch.hpp>

using namespace replication;
using consensus::Index;
using consensus::PeerProgress;

namespace {

LogPlaces three_places() {
  LogPlaces places;
  for (const auto& [index, stamp] : {std::pair<Index, storage::Stamp>{17, 5}, {18, 7}, {20, 8}})
    places.note(index, {{stamp, 1}, 0});
  return places;
}

PeerProgress member(consensus::MemberId id, Index matched, bool active = true) {
  PeerProgress one;
  one.id = id;
  one.matched = matched;
  one.recently_active = active;
  return one;
}

}  // namespace

TEST_CASE("a place in the log says up to which timestamp a member has the data") {
  const LogPlaces places = three_places();
  CHECK(places.stamp_upto(16) == 0);
  CHECK(places.stamp_upto(17) == 5);
  CHECK(places.stamp_upto(19) == 7);
  CHECK(places.stamp_upto(100) == 8);
  CHECK(places.at(18)->optime.ts == 7);
  CHECK_FALSE(places.at(19));
}

TEST_CASE("what everybody in reach is past is forgotten, but the newest of it") {
  LogPlaces places = three_places();
  places.forget(20, {member(1, 20), member(2, 19)});
  CHECK(places.size() == 2);
  CHECK(places.stamp_upto(19) == 7);
  CHECK_FALSE(places.at(17));
  // Members out of reach and arbiters aren't waited for.
  places.forget(20, {member(1, 20), member(2, 0, false), member(3 | consensus::arbiter_bit, 0)});
  CHECK(places.size() == 1);
  CHECK(places.stamp_upto(20) == 8);
}

TEST_CASE("a member that lags for long doesn't keep more places than the bound") {
  LogPlaces places;
  for (Index index = 1; index <= LogPlaces::places_max + 10; ++index) places.note(index, {{index, 1}, 0});
  places.forget(LogPlaces::places_max, {member(1, 0)});
  CHECK(places.size() == LogPlaces::places_max);
}
