#include "replication/write_acks.h"

#include <catch2/catch.hpp>

#include <map>
#include <string>

using namespace replication;
using base::ErrorCode;

namespace {

constexpr int64_t second = 1'000'000;

struct Clients {
  WriteAcks acks;
  std::map<int, std::string> told;  // by timestamp of the write

  void wait(int stamp, const std::string& mode, int64_t members = 1, int64_t timeout_ms = 0) {
    WriteConcern concern;
    concern.mode = mode;
    concern.members = members;
    concern.timeout_ms = timeout_ms;
    acks.wait({static_cast<storage::Stamp>(stamp), 1}, concern, 0, [this, stamp](const auto& failure) {
      told[stamp] = failure ? std::to_string(static_cast<int>(failure->code)) : "acknowledged";
    });
  }
};

using Told = std::map<int, std::string>;

}  // namespace

TEST_CASE("the majority acknowledges writes in the order of the log") {
  Clients clients;
  clients.wait(3, "majority");
  clients.wait(1, "majority");
  clients.wait(2, "majority");
  clients.acks.committed(2);
  CHECK(clients.told == Told{{1, "acknowledged"}, {2, "acknowledged"}});
  CHECK(!clients.acks.empty());
  clients.acks.committed(3);
  CHECK(clients.acks.empty());
  clients.wait(2, "majority");  // it has been committed for long
  CHECK(clients.told.size() == 3);
}

TEST_CASE("a write that waits too long is told so") {
  Clients clients;
  clients.wait(1, "majority", 1, 50);
  clients.wait(2, "", 2, 1000);
  clients.wait(3, "majority");
  clients.acks.expire(second / 20 - 1);
  CHECK(clients.told.empty());
  clients.acks.expire(second / 20);
  CHECK(clients.told == Told{{1, "64"}});
  clients.acks.expire(second);
  CHECK(clients.told == Told{{1, "64"}, {2, "64"}});
}

TEST_CASE("writes can still be acknowledged until they are given up") {
  Clients clients;
  const WriteConcernFailure stepped_down{ErrorCode::primary_stepped_down, "stepped down"};
  clients.wait(1, "majority");
  clients.wait(2, "majority");
  clients.wait(3, "", 2);
  clients.wait(4, "majority", 1, 10);
  clients.acks.give_up_at(second, stepped_down);
  clients.acks.give_up_at(2 * second, stepped_down);  // a later one postpones nothing
  clients.wait(5, "majority");
  CHECK(clients.told.empty());
  clients.acks.committed(1);
  clients.acks.expire(second / 100);
  CHECK(clients.told == Told{{1, "acknowledged"}, {4, "64"}});
  clients.acks.expire(second);
  CHECK(clients.told == Told{{1, "acknowledged"}, {2, "189"}, {3, "189"}, {4, "64"}});
  CHECK(!clients.acks.empty());
}
