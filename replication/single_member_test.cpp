#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "bson/json.h"
#include "replication/error_codes.h"
#include "replication/local_document.h"
#include "replication/single_member.h"
#include "storage/temporary_engine.h"

using namespace replication;
using storage::Engine;
using storage::TemporaryDirectory;

namespace {

struct Alone {
  explicit Alone(const std::string& path, const std::string& name = "rs") : engine(storage::test_options(path)), oplog(engine, 100 << 20) {
    SingleMemberOptions options;
    options.set_name = name;
    options.default_host = "here:1";
    options.is_self = [](const std::string& host) { return host.starts_with("here:"); };
    options.changed = [this] { ++changes; };
    member = std::make_unique<SingleMember>(engine, oplog, std::move(options));
    member->start();
  }
  bool becomes(MemberState state, int64_t within_ms) const {
    for (int64_t waited = 0; waited < within_ms && member->state() != state; waited += 5) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return member->state() == state;
  }

  Engine engine;
  Oplog oplog;
  std::atomic<int> changes{0};
  std::unique_ptr<SingleMember> member;
};

int code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const base::OperationError& error) {
    return static_cast<int>(error.code());
  }
  return 0;
}

}  // namespace

TEST_CASE("a member of no set yet writes nothing; initiated it is primary, after each restart in a later term") {
  const TemporaryDirectory directory;
  {
    Alone alone(directory.path());
    CHECK(alone.member->state() == MemberState::startup);
    CHECK(code_of([&] { alone.member->hold_primary(); }) == 10107);
    CHECK(code_of([&] { alone.member->write_term(); }) == 10107);
    const int before = alone.changes;
    alone.member->initiate(alone.member->default_config());
    CHECK(alone.changes == before + 1);
    CHECK(alone.member->write_term() == 1);
    CHECK(alone.member->standing().primary->host == "here:1");
    CHECK(code_of([&] { alone.member->initiate(alone.member->default_config()); }) == 23);
  }
  for (int64_t term = 2; term < 5; ++term) {
    Alone alone(directory.path());
    CHECK(alone.member->write_term() == term);
    CHECK(alone.oplog.newest().optime.term == term);
    CHECK(alone.member->standing().config->term == term);
    CHECK(stored_term(alone.engine) == term);
  }
  CHECK(code_of([&] { Alone other(directory.path(), "other"); }) == 93);
}

TEST_CASE("members beyond one, and one that is not here, are refused") {
  const TemporaryDirectory directory;
  Alone alone(directory.path());
  const auto initiate = [&](const std::string& members) {
    return code_of([&] { alone.member->initiate(parse_set_config(bson::json("{_id: \"rs\", members: [" + members + "]}"))); });
  };
  CHECK(initiate(R"({_id: 0, host: "there:1"})") == 93);
  CHECK(initiate(R"({_id: 0, host: "here:1"}, {_id: 1, host: "there:1"})") == 74);
  CHECK(initiate(R"({_id: 0, host: "here:1"}, {_id: 1, host: "here:2"})") == 93);
  CHECK(alone.member->state() == MemberState::startup);
  CHECK_FALSE(read_local(alone.engine, "local.system.replset").has_value());
}

TEST_CASE("a step-down waits for the writes that run, and is over after its time") {
  const TemporaryDirectory directory;
  Alone alone(directory.path());
  alone.member->initiate(alone.member->default_config());
  CHECK(code_of([&] { alone.member->step_down({}); }) == 262);
  const int changes = alone.changes;
  auto writing = alone.member->hold_primary();
  std::atomic<bool> down{false};
  std::thread stepping([&] {
    alone.member->step_down({.period_ms = 300, .force = true});
    down = true;
  });
  REQUIRE(alone.becomes(MemberState::secondary, 2000));
  CHECK(code_of([&] { alone.member->write_term(); }) == 10107);  // new ones are refused already
  CHECK(alone.member->standing().state == MemberState::secondary);
  CHECK(alone.changes > changes);  // and who was refused can see that something has changed
  CHECK_FALSE(down);
  writing.unlock();
  stepping.join();
  CHECK(code_of([&] { alone.member->step_down({.force = true}); }) == 10107);
  REQUIRE(alone.becomes(MemberState::primary, 5000));
  CHECK(alone.member->write_term() == 2);
}

TEST_CASE("a frozen member stays secondary until it is let go") {
  const TemporaryDirectory directory;
  Alone alone(directory.path());
  alone.member->initiate(alone.member->default_config());
  CHECK(code_of([&] { alone.member->freeze(1000); }) == 95);
  alone.member->step_down({.period_ms = 100, .force = true});
  alone.member->freeze(60'000);
  CHECK_FALSE(alone.becomes(MemberState::primary, 400));
  alone.member->freeze(0);
  CHECK(alone.becomes(MemberState::primary, 5000));
}

TEST_CASE("what can be acknowledged by one member") {
  const TemporaryDirectory directory;
  Alone alone(directory.path());
  SetConfig config = parse_set_config(bson::json(R"({_id: "rs", members: [{_id: 0, host: "here:1", tags: {dc: "east"}}],
      settings: {getLastErrorModes: {one: {dc: 1}, two: {dc: 2}}}})"));
  alone.member->initiate(config);
  const auto code = [&](int64_t members, const std::string& mode = "", const std::string& tags = "{}") {
    WriteConcern concern;
    concern.members = members;
    concern.mode = mode;
    concern.tags = bson::json(tags);
    const auto failure = alone.member->unsatisfiable(concern);
    return failure ? static_cast<int>(failure->code) : 0;
  };
  CHECK(code(1) == 0);
  CHECK(code(2) == 100);
  CHECK(code(1, "majority") == 0);
  CHECK(code(1, "one") == 0);
  CHECK(code(1, "two") == 100);
  CHECK(code(1, "three") == 79);
  CHECK(code(1, "", "{dc: 1}") == 0);
  CHECK(code(1, "", "{dc: 2}") == 100);
  CHECK(code(1, "", "{rack: 1}") == 100);
}
