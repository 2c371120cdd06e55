#include "server/core/audit.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/testing.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/core/client.h"
#include "storage/testing/temporary_store.h"

namespace server {
namespace {

struct Kept {
  std::vector<bson::Document> events;
  bool fails = false;
};

class KeepingSink final : public AuditSink {
 public:
  explicit KeepingSink(Kept& kept) : kept_(kept) {}
  void write(bson::DocumentView event) override {
    if (kept_.fails) throw base::OperationError(base::ErrorCode::operation_failed, "the disk is full");
    kept_.events.emplace_back(event);
  }

 private:
  Kept& kept_;
};

}  // namespace

TEST_CASE("an event names the connection, its ends and the result") {
  Kept kept;
  Audit audit(std::make_unique<KeepingSink>(kept), {}, base::system_clock());
  Client client(ClientId{7}, "10.0.0.7:51234", "127.0.0.1:27017", false);
  const bson::Document param = bson::json("{ns: 'shop.orders'}");
  audit.record("dropCollection", &client, param, base::ErrorCode::namespace_not_found);
  audit.record("dropCollection", &client, param);
  REQUIRE(kept.events.size() == 2);
  const bson::DocumentView event = kept.events[0];
  CHECK(event["atype"].as_string() == "dropCollection");
  CHECK(event["remote"].as_document().bytes() == bson::json("{ip: '10.0.0.7', port: 51234}").bytes());
  CHECK(event["local"].as_document().bytes() == bson::json("{ip: '127.0.0.1', port: 27017}").bytes());
  CHECK(event["param"].as_document().bytes() == param.bytes());
  CHECK(event["result"].as_int32() == 26);
  CHECK(event["uuid"].bytes() == kept.events[1]["uuid"].bytes());
}

TEST_CASE("events of the server itself have no addresses") {
  Kept kept;
  Audit audit(std::make_unique<KeepingSink>(kept), {}, base::system_clock());
  audit.record("startup", nullptr, {});
  REQUIRE(kept.events.size() == 1);
  CHECK(kept.events[0]["remote"].as_document().bytes() == bson::json("{isSystemUser: true}").bytes());
}

TEST_CASE("a filter leaves events out") {
  Kept kept;
  Audit audit(
      std::make_unique<KeepingSink>(kept), [](bson::DocumentView event) { return event["atype"].as_string() == "shutdown"; },
      base::system_clock());
  audit.record("startup", nullptr, {});
  audit.record("shutdown", nullptr, {});
  REQUIRE(kept.events.size() == 1);
  CHECK(kept.events[0]["atype"].as_string() == "shutdown");
}

TEST_CASE("an event that can't be written doesn't end what caused it") {
  Kept kept;
  kept.fails = true;
  Audit audit(std::make_unique<KeepingSink>(kept), {}, base::system_clock());
  CHECK_NOTHROW(audit.record("startup", nullptr, {}));
}

TEST_CASE("a file that is put aside has the clock's time in its name, and what was recorded so far") {
  const storage::TemporaryDirectory directory;
  const std::string path = directory.path() + "/audit.json";
  AuditOptions options;
  options.destination = AuditOptions::Destination::file;
  options.path = path;
  const base::testing::StoppedClock clock(1'700'000'000'000);  // 2023-11-14T22:13:20Z
  const auto sink = make_audit_sink(options, clock);
  const auto events_in = [](const std::string& file) {
    std::ifstream lines(file);
    std::string line;
    int count = 0;
    while (std::getline(lines, line)) ++count;
    return count;
  };
  sink->write(bson::json("{atype: 'startup'}"));
  sink->rotate();
  sink->write(bson::json("{atype: 'dropCollection'}"));
  sink->write(bson::json("{atype: 'shutdown'}"));
  sink->rotate();  // within the same second
  const std::string aside = path + ".2023-11-14T22-13-20";
  CHECK(events_in(aside) == 1);
  CHECK(events_in(aside + "-1") == 2);
  CHECK(std::filesystem::is_empty(path));
}

}  // namespace server
