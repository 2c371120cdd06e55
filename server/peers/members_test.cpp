#include "server/peers/members.h"

#include <poll.h>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "replication/stub_coordinator.h"
#include "server/peers/quorum_check.h"
#include "server/wire/test_server.h"

namespace server::peers {
namespace {

using base::ErrorCode;
using namespace replication;

// A set's member that only says what the test tells it to.
class SaidMember final : public replication::test::StubCoordinator {
 public:
  Standing standing() const override {
    std::lock_guard lock(mutex_);
    return standing_;
  }
  Progress progress() const override {
    std::lock_guard lock(mutex_);
    return progress_;
  }
  LogEnd log_end() const override { return {7, 20}; }
  // Since this server has no storage, the server mustn't use the member for reads and writes.
  MemberState state() const override { return MemberState::startup; }
  void learn_config(const SetConfig& config, const std::string& from) override {
    std::lock_guard lock(mutex_);
    learned_from_ = from;
    adopt(config);
  }
  void say(const SetConfig& config, MemberState state, const std::string& primary = "") {
    std::lock_guard lock(mutex_);
    adopt(config);
    standing_.state = state;
    standing_.term = 7;
    standing_.primary = standing_.config->member(primary);
    standing_.elected_ms = standing_.primary ? 1'700'000'000'000 : 0;
  }
  void has(storage::Stamp applied, storage::Stamp durable) {
    std::lock_guard lock(mutex_);
    progress_.applied = {{applied, 7}, 1'600'000'000'000};
    progress_.durable = {{durable, 7}, 1'500'000'000'000};
  }
  std::string learned_from() const {
    std::lock_guard lock(mutex_);
    return learned_from_;
  }
  int64_t version() const { return place_of(standing().config.get()).version; }

  std::string host;

 private:
  void adopt(const SetConfig& config) {
    standing_.config = std::make_shared<const SetConfig>(config);
    standing_.self = standing_.config->member(host);
    if (standing_.state == MemberState::startup) standing_.state = MemberState::startup2;
  }
  mutable std::mutex mutex_;
  Standing standing_;
  Progress progress_;
  std::string learned_from_;
};

// A Machine is a member behind a server's port.
struct Machine {
  explicit Machine(int port = 0)
      : assembly(options_with(port)), members(set, base::system_clock()), listener(assembly.services(), assembly.dispatcher()) {
    assembly.services().replica_set = &set;
    assembly.services().members = &members;
    listener.start();
    set.host = "127.0.0.1:" + std::to_string(listener.port());
  }
  ~Machine() {
    members.stop();
    listener.stop();
  }
  static Options options_with(int port) {
    Options options = wire::test_options();
    options.port = port;
    return options;
  }
  const std::string& host() const { return set.host; }

  SaidMember set;
  Assembly assembly;
  Members members;
  wire::Listener listener;
};

SetConfig config_of(const std::vector<std::string>& hosts, int64_t version = 1) {
  SetConfig config;
  config.name = "rs";
  config.version = version;
  config.term = 7;
  config.heartbeat_interval_ms = 50;
  config.heartbeat_timeout_s = 600;
  for (const std::string& host : hosts) {
    MemberConfig member;
    member.id = static_cast<int32_t>(config.members.size());
    member.host = host;
    config.members.push_back(member);
  }
  return config;
}

using base::testing::wait_until;

bool is(const Machine& machine, const std::string& other, MemberView::Health health) {
  return machine.members.view(other).health == health;
}

std::pair<ErrorCode, std::string> thrown(const std::function<void()>& act) {
  std::string message;
  const ErrorCode code = base::testing::error_of(act, &message);
  return {code, message};
}

// A server that accepts connections and never answers.
struct Deaf {
  Deaf() : descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    REQUIRE(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(descriptor, 16) == 0);
    REQUIRE(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    host = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Deaf() { ::close(descriptor); }
  bool called() const {
    pollfd waiting{descriptor, POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
  }
  int descriptor;
  std::string host;
};

std::string free_host() {
  return Deaf().host;
}

HeartbeatRequest question(const std::string& set = "rs") {
  HeartbeatRequest request;
  request.set = set;
  request.config = {3, 7};
  request.from = "there:1";
  request.from_id = 9;
  return request;
}

HeartbeatReply full_reply() {
  HeartbeatReply reply;
  reply.set = "rs";
  reply.state = MemberState::primary;
  reply.config = {4, 7};
  reply.term = 7;
  reply.primary_id = 2;
  reply.applied = {{5ull << 32 | 3, 7}, 5000};
  reply.durable = {{5ull << 32 | 2, 7}, 4000};
  reply.log_end = {7, 41};
  reply.election_time = bson::Timestamp{4, 1};
  reply.sync_source = "b:1";
  reply.electable = true;
  reply.has_data = true;
  reply.set_id = bson::ObjectId::generate();
  reply.new_config = bson::json("{_id: 'rs', version: 4}");
  return reply;
}

bson::Document document_of(const HeartbeatReply& reply) {
  bson::Builder out;
  reply.append_to(out);
  return out.done();
}

}  // namespace

TEST_CASE("configurations are ordered by term, then by version") {
  CHECK(ConfigPlace{1, 2}.newer_than({9, 1}));
  CHECK_FALSE(ConfigPlace{9, 1}.newer_than({1, 2}));
  CHECK(ConfigPlace{2, 2}.newer_than({1, 2}));
  CHECK_FALSE(ConfigPlace{2, 2}.newer_than({2, 2}));
  CHECK(ConfigPlace{3, -1}.newer_than({2, 5}));  // forced: no term
  CHECK(ConfigPlace{1, 1}.newer_than(ConfigPlace()));
}

TEST_CASE("a heartbeat and its answer come out as they went in") {
  HeartbeatRequest request = question();
  request.primary_id = 4;
  request.check_empty = true;
  request.new_config = bson::json("{_id: 'rs'}");
  CHECK(HeartbeatRequest::parse(request.document()).document().bytes() == request.document().bytes());
  for (const HeartbeatReply& reply : {full_reply(), [] {
                                        HeartbeatReply least;
                                        least.set = "rs";
                                        return least;
                                      }()}) {
    const bson::Document document = document_of(reply);
    CHECK(document_of(HeartbeatReply::parse(document)).bytes() == document.bytes());
  }
}

TEST_CASE("an answer with a field of another type is no answer") {
  const bson::Document right = document_of(full_reply());
  for (const char* field : {"state", "v", "configTerm", "set", "term", "primaryId", "durableOpTime", "durableWallTime", "opTime",
                            "logTerm", "logIndex", "wallTime", "syncingTo", "electionTime", "replicaSetId", "config"}) {
    INFO(field);
    bson::Builder wrong;
    for (const auto& each : right) {
      if (each.name == field)
        wrong.append(field, true);
      else
        wrong.append_element(each);
    }
    CHECK(thrown([&] { HeartbeatReply::parse(wrong.done()); }).first == ErrorCode::protocol_error);
  }
  CHECK(thrown([] { HeartbeatReply::parse(bson::json("{ok: 1}")); }).first == ErrorCode::protocol_error);
  CHECK(thrown([] { HeartbeatReply::parse(bson::json("{set: 'rs', state: 4, v: 1}")); }).first == ErrorCode::protocol_error);
}

TEST_CASE("a member that isn't initiated says so, and whom it belongs to") {
  SaidMember set;
  const HeartbeatReply reply = answer_heartbeat(question(), set);
  CHECK(reply.state == MemberState::startup);
  CHECK(reply.config.version == -2);
  CHECK(reply.set == "rs");
  CHECK_FALSE(reply.new_config);
}

TEST_CASE("heartbeats that can't be right are refused as MongoDB does") {
  SaidMember set;
  CHECK(thrown([&] { answer_heartbeat(question("other"), set); }) ==
        std::pair(ErrorCode(108), std::string("Our set name of rs does not match name other reported by remote node")));
  set.host = "a:1";
  set.say(config_of({"a:1", "b:1"}), MemberState::secondary);
  HeartbeatRequest twin = question();
  twin.from_id = 0;
  CHECK(thrown([&] { answer_heartbeat(twin, set); }).first == ErrorCode::bad_value);
  set.host = "c:1";
  set.say(config_of({"a:1", "b:1"}, 3), MemberState::removed);
  CHECK(thrown([&] { answer_heartbeat(question(), set); }).first == ErrorCode::invalid_replica_set_config);
}

TEST_CASE("a newer configuration comes with the answer, an older one doesn't") {
  SaidMember set;
  set.host = "a:1";
  for (const int64_t version : {2, 3, 4}) {
    set.say(config_of({"a:1", "b:1"}, version), MemberState::secondary, "b:1");
    const HeartbeatReply reply = answer_heartbeat(question(), set);
    CHECK(reply.new_config.has_value() == (version == 4));
    CHECK(reply.primary_id == 1);
    CHECK(reply.sync_source == "b:1");
  }
}

TEST_CASE("members see how the others are, one that goes away, and that it is back") {
  Machine a, b;
  auto c = std::make_unique<Machine>();
  const std::string c_host = c->host();
  const SetConfig config = config_of({a.host(), b.host(), c_host});
  a.set.say(config, MemberState::primary, a.host());
  b.set.say(config, MemberState::secondary, a.host());
  c->set.say(config, MemberState::recovering, a.host());
  b.set.has(1000, 900);
  for (Machine* machine : {&a, &b, c.get()}) machine->members.start();
  REQUIRE(wait_until([&] {
    return is(a, b.host(), MemberView::Health::up) && is(a, c_host, MemberView::Health::up) &&
           is(b, a.host(), MemberView::Health::up);
  }));
  const MemberView seen = a.members.view(b.host());
  CHECK(seen.reply.state == MemberState::secondary);
  CHECK(seen.reply.applied.optime == OpTime{1000, 7});
  CHECK(seen.reply.durable.optime == OpTime{900, 7});
  CHECK(seen.reply.applied.wall_ms == 1'600'000'000'000);
  CHECK(seen.reply.sync_source == a.host());
  CHECK(seen.last_heartbeat_ms > 0);
  CHECK(a.members.view(c_host).reply.state == MemberState::recovering);
  CHECK(b.members.view(a.host()).reply.election_time == bson::Timestamp{1'700'000'000, 1});
  CHECK(wait_until([&] { return a.members.view(b.host()).last_heard_ms > 0; }));

  const int c_port = c->listener.port();
  c.reset();
  REQUIRE(wait_until([&] { return is(a, c_host, MemberView::Health::down); }));
  CHECK(a.members.view(c_host).message ==
        "Error connecting to " + c_host + " (" + c_host + ") :: caused by :: Connection refused");
  CHECK(is(a, b.host(), MemberView::Health::up));
  c = std::make_unique<Machine>(c_port);
  c->set.say(config, MemberState::secondary, a.host());
  CHECK(wait_until(
      [&] { return is(a, c_host, MemberView::Health::up) && a.members.view(c_host).reply.state == MemberState::secondary; }));
}

TEST_CASE("a member that hangs delays the news of no other") {
  Machine a, b;
  const Deaf deaf;
  const SetConfig config = config_of({a.host(), deaf.host, b.host()});
  a.set.say(config, MemberState::primary, a.host());
  b.set.say(config, MemberState::secondary, a.host());
  a.members.start();
  REQUIRE(wait_until([&] { return is(a, b.host(), MemberView::Health::up); }));
  CHECK(is(a, deaf.host, MemberView::Health::unknown));
  b.set.say(config, MemberState::recovering, a.host());
  REQUIRE(wait_until([&] { return a.members.view(b.host()).reply.state == MemberState::recovering; }));
  CHECK(is(a, deaf.host, MemberView::Health::unknown));
}

TEST_CASE("a member that hangs is down when its time is over") {
  Machine a;
  const Deaf deaf;
  SetConfig config = config_of({a.host(), deaf.host});
  config.heartbeat_timeout_s = 1;
  a.set.say(config, MemberState::primary, a.host());
  a.members.start();
  CHECK(wait_until([&] { return is(a, deaf.host, MemberView::Health::down); }));
  CHECK_THAT(a.members.view(deaf.host).message, Catch::StartsWith("time ran out"));
}

TEST_CASE("a member ends at once though another hangs") {
  auto a = std::make_unique<Machine>();
  const Deaf deaf;
  const SetConfig config = config_of({a->host(), deaf.host});
  a->set.say(config, MemberState::secondary);
  a->members.start();
  REQUIRE(wait_until([&] { return deaf.called(); }));
  const auto start = std::chrono::steady_clock::now();
  a.reset();
  CHECK(std::chrono::steady_clock::now() - start < base::testing::deadline);
}

TEST_CASE("a member with no configuration or an older one gets the newer by heartbeats, from either side") {
  Machine a, b, c;
  const SetConfig old = config_of({a.host(), b.host(), c.host()}, 3), fresh = config_of({a.host(), b.host(), c.host()}, 4);
  a.set.say(old, MemberState::secondary);
  c.set.say(fresh, MemberState::secondary);
  a.members.start();
  CHECK(wait_until([&] { return a.set.version() == 4; }));  // it came with c's answer
  CHECK(a.set.learned_from() == c.host());
  CHECK(wait_until([&] { return b.set.version() == 4; }));  // it came with a's heartbeat
  CHECK(b.set.learned_from() == a.host());
  CHECK(b.set.standing().self->host == b.host());
}

TEST_CASE("a member that its own configuration doesn't name learns of one that does") {
  Machine a, b;
  b.set.say(config_of({a.host()}, 3), MemberState::removed);
  a.set.say(config_of({a.host(), b.host()}, 4), MemberState::secondary);
  CHECK(b.set.standing().self == nullptr);
  a.members.start();
  CHECK(wait_until([&] { return b.set.version() == 4; }));
  CHECK(b.set.standing().self->host == b.host());
}

TEST_CASE("a configuration of another set is learned by nobody") {
  Machine a;
  HeartbeatRequest request = question();
  SetConfig config = config_of({a.host()});
  config.name = "other";
  request.new_config = config.document();
  CHECK(a.assembly.run("admin", request.document()).find("ok").truthy());
  CHECK(a.set.version() == -2);
  request.new_config = bson::json("{_id: 'rs', members: 5}");
  CHECK(a.assembly.run("admin", request.document()).find("ok").truthy());
  CHECK(a.set.version() == -2);
}

TEST_CASE("watches follow the configuration") {
  Machine a, b, c;
  a.set.say(config_of({a.host(), b.host()}, 1), MemberState::secondary);
  b.set.say(config_of({a.host(), b.host()}, 1), MemberState::secondary);
  a.members.start();
  REQUIRE(wait_until([&] { return is(a, b.host(), MemberView::Health::up); }));
  a.set.say(config_of({a.host(), c.host()}, 2), MemberState::secondary);
  a.members.nudge();
  REQUIRE(wait_until([&] { return is(a, c.host(), MemberView::Health::up); }));
  CHECK(is(a, b.host(), MemberView::Health::unknown));
}

TEST_CASE("the status shows others as MongoDB does, those that are down too") {
  Machine a, b;
  const std::string nobody = free_host();
  const SetConfig config = config_of({a.host(), b.host(), nobody});
  a.set.say(config, MemberState::secondary, b.host());
  b.set.say(config, MemberState::primary, b.host());
  b.set.has(7ull << 32 | 1, 6ull << 32 | 1);
  a.members.start();
  REQUIRE(wait_until([&] { return is(a, b.host(), MemberView::Health::up) && is(a, nobody, MemberView::Health::down); }));
  const bson::Document status = a.assembly.run("admin", bson::json("{replSetGetStatus: 1}"));
  CHECK(status.find("syncSourceHost").as_string() == b.host());
  CHECK(status.find("syncSourceId").to_int64() == 1);
  CHECK(status.find("majorityVoteCount").to_int64() == 2);
  std::vector<bson::DocumentView> members;
  for (const auto& each : status.find("members").as_document()) members.push_back(each.as_document());
  REQUIRE(members.size() == 3);
  const auto names = [](bson::DocumentView document) {
    std::string out;
    for (const auto& field : document) out += (out.empty() ? "" : " ") + std::string(field.name);
    return out;
  };
  CHECK(names(members[0]) ==
        "_id name health state stateStr uptime optime optimeDate lastAppliedWallTime lastDurableWallTime syncSourceHost "
        "syncSourceId "
        "infoMessage configVersion configTerm self lastHeartbeatMessage");
  CHECK(names(members[1]) ==
        "_id name health state stateStr uptime optime optimeDurable optimeDate optimeDurableDate lastAppliedWallTime "
        "lastDurableWallTime lastHeartbeat lastHeartbeatRecv pingMs lastHeartbeatMessage syncSourceHost syncSourceId infoMessage "
        "electionTime electionDate configVersion configTerm");
  CHECK(members[1].find("stateStr").as_string() == "PRIMARY");
  CHECK(members[1].find("health").to_double() == 1);
  CHECK(members[1].find("optimeDate").as_date().ms == 7000);
  CHECK(members[1].find("optimeDurableDate").as_date().ms == 6000);
  CHECK(members[2].find("health").to_double() == 0);
  CHECK(members[2].find("state").to_int64() == 8);
  CHECK(members[2].find("stateStr").as_string() == "(not reachable/healthy)");
  CHECK(members[2].find("configVersion").to_int64() == -1);
  CHECK(bson::to_json(members[2].find("optime")) ==
        bson::to_json(bson::json("{o: {ts: {$timestamp: {t: 0, i: 0}}, t: -1}}").find("o")));
  CHECK_THAT(std::string(members[2].find("lastHeartbeatMessage").as_string()), Catch::Contains("Connection refused"));
}

// ---- the check before a configuration is accepted ----------------------------------

TEST_CASE("a set is initiated with members that are there and free") {
  Machine a, b, c;
  const auto self = [&](const std::string& host) { return host == a.host(); };
  const SetConfig config = config_of({a.host(), b.host(), c.host()});
  CHECK(thrown([&] { check_quorum(config, true, self); }).second == "");
  CHECK(b.set.version() == -2);  // it was asked, and got no configuration
  CHECK(thrown([&] { check_quorum(config, true, [](const std::string&) { return false; }); }).first ==
        ErrorCode::invalid_replica_set_config);

  const std::string nobody = free_host();
  CHECK(thrown([&] {
          check_quorum(config_of({a.host(), b.host(), nobody}), true, self);
        }) ==
        std::pair(ErrorCode::node_not_found,
                  "replSetInitiate quorum check failed because not all proposed set members responded affirmatively: " + nobody +
                      " failed with Error connecting to " + nobody + " (" + nobody + ") :: caused by :: Connection refused"));
  c.set.name = "another";
  CHECK(thrown([&] { check_quorum(config, true, self); }) ==
        std::pair(ErrorCode::new_config_incompatible, "Our set name did not match that of " + c.host()));
  c.set.name = "rs";
  c.set.say(config, MemberState::secondary);
  CHECK(thrown([&] { check_quorum(config, true, self); }) ==
        std::pair(ErrorCode::new_config_incompatible,
                  "Our config version of 1 is no larger than the version on " + c.host() + ", which is 1"));
}

TEST_CASE("a server that is no member of any set is named with what it says") {
  Machine a;
  wire::TestServer alone;
  const std::string host = "127.0.0.1:" + std::to_string(alone.listener.port());
  CHECK(thrown([&] {
          check_quorum(config_of({a.host(), host}), true, [&](const std::string& each) { return each == a.host(); });
        }) == std::pair(ErrorCode::node_not_found,
                        "replSetInitiate quorum check failed because not all proposed set members responded affirmatively: " +
                            host + " failed with not running with --replSet"));
}

TEST_CASE("another configuration needs a majority of the voters, and somebody to elect") {
  Machine a, b;
  const auto self = [&](const std::string& host) { return host == a.host(); };
  const std::string nobody = free_host(), none = free_host();
  b.set.say(config_of({a.host(), b.host()}, 4), MemberState::secondary);
  CHECK(thrown([&] { check_quorum(config_of({a.host(), b.host(), nobody}, 5), false, self); }).second == "");
  const auto [code, message] = thrown([&] { check_quorum(config_of({a.host(), nobody, none}, 5), false, self); });
  CHECK(code == ErrorCode::node_not_found);
  CHECK_THAT(message, Catch::StartsWith("Quorum check failed because not enough voting nodes responded; required 2 but only the "
                                        "following 1 voting nodes responded: " +
                                        a.host() + "; the following nodes did not respond affirmatively: "));
  SetConfig unelectable = config_of({a.host(), b.host(), nobody}, 5);
  unelectable.members[0].priority = unelectable.members[1].priority = 0;
  CHECK(thrown([&] { check_quorum(unelectable, false, self); }) ==
        std::pair(ErrorCode::node_not_found,
                  std::string("Quorum check failed because no electable nodes responded; at least one required for config")));
  SetConfig other_set = config_of({a.host(), b.host()}, 5);
  other_set.set_id = bson::ObjectId::generate();
  SetConfig theirs = config_of({a.host(), b.host()}, 4);
  theirs.set_id = bson::ObjectId::generate();
  b.set.say(theirs, MemberState::secondary);
  CHECK(thrown([&] { check_quorum(other_set, false, self); }) ==
        std::pair(ErrorCode::new_config_incompatible, "Our replica set ID of " + other_set.set_id.to_hex() +
                                                          " did not match that of " + b.host() + ", which is " +
                                                          theirs.set_id.to_hex()));
}

TEST_CASE("a member that hangs doesn't delay a majority that answers") {
  Machine a, b;
  const Deaf deaf;
  const SetConfig config = config_of({a.host(), b.host(), deaf.host}, 5);
  const auto start = std::chrono::steady_clock::now();
  check_quorum(config, false, [&](const std::string& host) { return host == a.host(); });
  CHECK(std::chrono::steady_clock::now() - start < base::testing::deadline);
}

}  // namespace server::peers
