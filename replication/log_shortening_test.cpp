#include "replication/log_shortening.h"

#include <catch2/catch.hpp>

#include "replication/log_record.h"

using namespace replication;
using consensus::Index;
using consensus::PeerProgress;

namespace {

// The log begins behind index 10. 0: an entry without a timestamp.
struct Log {
  std::vector<storage::Stamp> stamps;
  Index last() const { return 10 + stamps.size(); }
  Index newest_with(storage::Stamp upto) const {
    return newest_index_with(upto, 10, last(), [this](Index at) {
      consensus::LogEntry entry;
      entry.index = at;
      if (const storage::Stamp stamp = stamps.at(at - 11)) entry.context = stamp_context(stamp);
      return std::make_shared<const consensus::LogEntry>(entry);
    });
  }
};

PeerProgress has(Index matched, bool active = true) {
  PeerProgress one;
  one.matched = matched;
  one.recently_active = active;
  return one;
}

}  // namespace

TEST_CASE("entries without a timestamp go with those before them, and not at the end") {
  const Log log{{0, 5, 0, 0, 7, 9, 0}};
  CHECK(log.newest_with(4) == 10);
  CHECK(log.newest_with(5) == 12);
  CHECK(log.newest_with(6) == 12);
  CHECK(log.newest_with(7) == 15);
  CHECK(log.newest_with(100) == 16);
  CHECK(Log{}.newest_with(5) == 10);
}

TEST_CASE("a leader's log keeps what a member lacks, in reach or not, until it is too long") {
  LogToShorten log{.checkpointed = 50, .compacted = 10, .applied = 60, .leads = true};
  CHECK(shorten_upto(log, {has(55), has(52)}) == 50);
  CHECK(shorten_upto(log, {has(55), has(30)}) == 30);
  CHECK(shorten_upto(log, {has(55), has(20, false)}) == 20);
  CHECK_FALSE(shorten_upto(log, {has(55), has(0)}));
  log.too_long = true;
  CHECK(shorten_upto(log, {has(55), has(0)}) == 50);
}

TEST_CASE("a member that doesn't lead shortens its log only when it is too long") {
  LogToShorten log{.checkpointed = 50, .compacted = 10, .applied = 60};
  CHECK_FALSE(shorten_upto(log, {}));
  log.too_long = true;
  CHECK(shorten_upto(log, {}) == 50);
  log.applied = 40;
  CHECK(shorten_upto(log, {}) == 40);
  log.checkpointed = 10;
  CHECK_FALSE(shorten_upto(log, {}));
}
