#include <catch2/catch.hpp>

#include "base/error.h"
#include "server/core/session_registry.h"

using namespace server;

namespace {

bson::Bytes key(char name) {
  return bson::Bytes(48, name);
}

constexpr int64_t minute_ms = 60'000;

}  // namespace

TEST_CASE("a session ends thirty minutes after its last use") {
  SessionRegistry sessions;
  sessions.use(key('a'), 0);
  sessions.use(key('b'), 0);
  sessions.use(key('a'), 10 * minute_ms);
  CHECK(sessions.expire(30 * minute_ms - 1).empty());
  CHECK(sessions.expire(30 * minute_ms) == std::vector{key('b')});
  CHECK(sessions.knows(key('a')));
  CHECK_FALSE(sessions.knows(key('b')));
  CHECK(sessions.expire(40 * minute_ms) == std::vector{key('a')});
}

TEST_CASE("used and ended sessions are reported once") {
  SessionRegistry sessions;
  sessions.use(key('a'), 1);
  sessions.use(key('b'), 2);
  sessions.end(key('b'));
  auto news = sessions.take_news();
  REQUIRE(news.used.size() == 1);
  CHECK(news.used[0].key == key('a'));
  CHECK(news.ended == std::vector{key('b')});
  news = sessions.take_news();
  CHECK(news.used.empty());
  CHECK(news.ended.empty());
  sessions.use(key('a'), 3);
  CHECK(sessions.take_news().used.at(0).used_ms == 3);
}

TEST_CASE("there can be too many sessions, but one that is known is always welcome") {
  SessionRegistry sessions;
  sessions.sessions_max = 1;
  sessions.use(key('a'), 0);
  CHECK_THROWS_AS(sessions.use(key('b'), 0), base::OperationError);
  sessions.use(key('a'), 1);
  CHECK(sessions.active().size() == 1);
}

TEST_CASE("a session's key leads to its lsid and back") {
  const bson::Document lsid = session_document(key('x'));
  CHECK(lsid.find("uid").as_binary().bytes.size() == 32);
  CHECK(session_key_of(lsid).substr(0, 16) == key('x').substr(0, 16));
}
