#include "server/access/privileges.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "bson/json.h"
#include "server/access/builtin_roles.h"
#include "server/access/restriction.h"

namespace server::access {
namespace {

using enum Action;

ResourcePattern pattern(const char* text) {
  return ResourcePattern::parse(bson::json(text));
}
Resource of(const char* db, const char* collection) {
  return Resource::of_collection(db, collection);
}

TEST_CASE("a pattern covers what it is about, and nothing else") {
  struct Case {
    const char* pattern;
    const char* db;
    const char* collection;
    bool covers;
  };
  for (const Case& one : {
           Case{"{db: 'shop', collection: 'a'}", "shop", "a", true},
           {"{db: 'shop', collection: 'a'}", "shop", "b", false},
           {"{db: 'shop', collection: 'a'}", "other", "a", false},
           {"{db: 'shop', collection: 'a'}", "shop@dev", "a", false},
           {"{db: 'shop', collection: ''}", "shop", "a", true},
           {"{db: 'shop', collection: ''}", "shop", "system.profile", false},
           {"{db: 'shop', collection: ''}", "shop@dev", "a", false},
           {"{db: 'shop', collection: 'system.profile'}", "shop", "system.profile", true},
           {"{db: '', collection: 'a'}", "shop", "a", true},
           {"{db: '', collection: 'a'}", "local", "a", true},
           {"{db: '', collection: ''}", "shop", "a", true},
           {"{db: '', collection: ''}", "shop@dev", "a", true},
           {"{db: '', collection: ''}", "local", "a", false},
           {"{db: '', collection: ''}", "config", "a", false},
           {"{db: '', collection: ''}", "shop", "system.users", false},
           {"{db: 'shop@dev', collection: ''}", "shop@dev", "a", true},
           {"{db: 'shop@dev', collection: ''}", "shop@dev~1", "a", false},
           {"{db: 'shop@dev', collection: ''}", "shop", "a", false},
           {"{db: 'shop@*', collection: ''}", "shop@dev", "a", true},
           {"{db: 'shop@*', collection: ''}", "shop@dev~1", "a", true},
           {"{db: 'shop@*', collection: ''}", "shop", "a", false},
           {"{db: 'shop@*', collection: ''}", "shopping@dev", "a", false},
           {"{anyResource: true}", "local", "system.replset", true},
           {"{cluster: true}", "shop", "a", false},
       }) {
    INFO(one.pattern << " " << one.db << "." << one.collection);
    CHECK(pattern(one.pattern).covers(of(one.db, one.collection)) == one.covers);
  }
  CHECK(pattern("{cluster: true}").covers(Resource::of_cluster()));
  CHECK(pattern("{anyResource: true}").covers(Resource::of_cluster()));
  CHECK_FALSE(pattern("{db: '', collection: ''}").covers(Resource::of_cluster()));
  CHECK(pattern("{db: 'shop', collection: ''}").covers(Resource::of_database("shop")));
  CHECK_FALSE(pattern("{db: 'shop', collection: 'a'}").covers(Resource::of_database("shop")));
}

TEST_CASE("patterns and privileges of another form are refused") {
  for (const char* text : {"{}", "{db: 'x'}", "{db: 5, collection: ''}", "{cluster: true, anyResource: true}", "{cluster: 1}",
                           "{db: 'a.b', collection: ''}", "{x: 1}", "{cluster: false}"})
    CHECK_THROWS_AS(pattern(text), base::OperationError);
  for (const char* text : {"{}", "{resource: {cluster: true}}", "{resource: {cluster: true}, actions: ['nosuch']}",
                           "{resource: {cluster: true}, actions: [5]}", "{resource: {cluster: true}, actions: [], x: 1}"})
    CHECK_THROWS_AS(Privilege::parse(bson::json(text)), base::OperationError);
}

TEST_CASE("privileges may cover an operation together, and lose actions") {
  Privileges all;
  all.add({pattern("{db: 'shop', collection: 'a'}"), {find}});
  all.add({pattern("{db: 'shop', collection: ''}"), {insert}});
  CHECK(all.allow({find, insert}, of("shop", "a")));
  CHECK_FALSE(all.allow({find, insert}, of("shop", "b")));
  CHECK(all.touch("shop"));
  CHECK_FALSE(all.touch("other"));
  CHECK(all.use("shop", "b"));
  all.remove({pattern("{db: 'shop', collection: ''}"), {insert}});
  CHECK_FALSE(all.allow({insert}, of("shop", "a")));
  CHECK(all.all().size() == 1);
  CHECK(Privilege::parse(all.all()[0].document()).actions == all.all()[0].actions);
}

TEST_CASE("every action has its name") {
  for (size_t i = 0; i < action_count; ++i) {
    const auto action = static_cast<Action>(i);
    CHECK(find_action(action_name(action)) == action);
  }
  CHECK_FALSE(find_action("nosuch"));
  CHECK(action_name(Action::find) == "find");
}

TEST_CASE("roles of a database are about it alone") {
  const auto read = builtin_role({"read", "shop"});
  REQUIRE(read);
  CHECK(read->allow({find}, of("shop", "a")));
  CHECK_FALSE(read->allow({find}, of("other", "a")));
  CHECK_FALSE(read->allow({insert}, of("shop", "a")));
  CHECK_FALSE(read->allow({serverStatus}, Resource::of_cluster()));
  CHECK_FALSE(builtin_role({"root", "shop"}));
  CHECK_FALSE(builtin_role({"nosuch", "admin"}));
  CHECK(builtin_role({"root", "admin"})->allow({find, purge, createUser}, of("shop", "a")));
  CHECK_FALSE(builtin_role({"root", "admin"})->allow({internal}, of("shop", "a")));
  CHECK(builtin_role({"__system", "admin"})->allow({internal}, of("local", "system.replset")));
  for (const std::string& name : builtin_roles_of("admin")) CHECK_FALSE(builtin_role({name, "admin"})->all().empty());
}

TEST_CASE("addresses are compared as CIDR ranges") {
  const auto covers = [](const char* range, const char* address) { return AddressRange::parse(range).covers(address); };
  CHECK(covers("10.0.0.0/8", "10.255.1.2"));
  CHECK_FALSE(covers("10.0.0.0/8", "11.0.0.1"));
  CHECK(covers("10.1.2.3", "10.1.2.3"));
  CHECK(covers("10.1.2.3", "::ffff:10.1.2.3"));
  CHECK_FALSE(covers("10.1.2.3", "10.1.2.4"));
  CHECK(covers("0.0.0.0/0", "1.2.3.4"));
  CHECK(covers("fd00::/12", "fd0f::1"));
  CHECK_FALSE(covers("fd00::/12", "fe00::1"));
  CHECK_FALSE(covers("fd00::/12", "10.0.0.1"));
  CHECK_FALSE(covers("10.0.0.0/8", "no address"));
  for (const char* text : {"", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "fd00::/129"})
    CHECK_THROWS_AS(AddressRange::parse(text), base::OperationError);
  constexpr std::string_view with_more("10.1.2.3\0x", 10);
  CHECK_THROWS_AS(AddressRange::parse(with_more), base::OperationError);
  CHECK_FALSE(AddressRange::parse("10.1.2.3").covers(with_more));
}

}  // namespace
}  // namespace server::access
