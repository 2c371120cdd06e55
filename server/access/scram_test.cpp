#include "server/access/scram.h"

#include <catch2/catch.hpp>

#include "base/bytes.h"
#include "base/cipher.h"
#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/access/saslprep.h"

namespace server::access {
namespace {

FindCredentials knows(ScramHash hash, const std::string& user, const std::string& password) {
  const auto made = make_scram_credentials(hash, *scram_secret(hash, user, password), scram_iterations_min);
  return [made, user](const Name& name) {
    return name.name == user ? std::vector<ScramCredentials>{made} : std::vector<ScramCredentials>{};
  };
}

std::vector<ScramCredentials> nobody(const Name&) {
  return {};
}

bool fails(const std::function<void()>& work) {
  try {
    work();
  } catch (const base::OperationError& error) {
    return error.code() == base::ErrorCode::authentication_failed && std::string(error.what()) == "Authentication failed.";
  }
  return false;
}

// Runs a whole login. Returns whether the server was convinced, and the client by it.
bool logs_in(ScramHash hash, const FindCredentials& find, const std::string& user, const std::string& password,
             bool skip = true) {
  const auto server = make_scram_conversation(hash, "admin", skip, find);
  ScramClient client(hash, user, *scram_secret(hash, user, password));
  const auto first = server->step(client.first());
  CHECK_FALSE(first.done);
  try {
    const auto last = server->step(client.proof(first.reply));
    client.check(last.reply);
    if (skip) return last.done;
    CHECK_FALSE(last.done);
    return server->step({}).done;
  } catch (const base::OperationError&) {
    return false;
  }
}

TEST_CASE("credentials are those of RFC 5802's example") {
  const auto made = make_scram_credentials(ScramHash::sha1, "pencil", *bson::base64_decode("QSXCR+Q6sek8bf92"), 4096);
  CHECK(base::to_hex(made.stored_key) == "e9d94660c39d65c38fbad91c358f14da0eef2bd6");
  CHECK(base::to_hex(made.server_key) == "0fe09258b3ac852ba502cc62ba903eaacdbf7d31");
  const auto again = ScramCredentials::parse(made.document());
  REQUIRE(again);
  CHECK(again->iterations == 4096);
  CHECK(again->salt == made.salt);
  CHECK(again->stored_key == made.stored_key);
  CHECK(again->server_key == made.server_key);
}

TEST_CASE("credentials of another form are none") {
  for (const char* text : {"{}", "{iterationCount: 'x', salt: 'QQ==', storedKey: 'QQ==', serverKey: 'QQ=='}",
                           "{iterationCount: 0, salt: 'QQ==', storedKey: 'QQ==', serverKey: 'QQ=='}",
                           "{iterationCount: 5000, salt: '?', storedKey: 'QQ==', serverKey: 'QQ=='}",
                           "{iterationCount: 5000, salt: 'QQ==', storedKey: 5, serverKey: 'QQ=='}",
                           "{iterationCount: 5000, salt: 'QQ==', storedKey: 'QQ=='}"})
    CHECK_FALSE(ScramCredentials::parse(bson::json(text)));
}

TEST_CASE("a client that knows the password gets in, and no other does") {
  for (const ScramHash hash : {ScramHash::sha1, ScramHash::sha256}) {
    const auto find = knows(hash, "a,d=a", "s3cret");
    for (const bool skip : {true, false}) {
      CHECK(logs_in(hash, find, "a,d=a", "s3cret", skip));
      CHECK_FALSE(logs_in(hash, find, "a,d=a", "s3creT", skip));
      CHECK_FALSE(logs_in(hash, find, "eve", "s3cret", skip));
    }
  }
}

TEST_CASE("any of several credentials will do") {
  const base::Bytes salt = base::random_key(28);
  const auto find = [&](const Name&) {
    return std::vector<ScramCredentials>{make_scram_credentials(ScramHash::sha256, "old", salt, scram_iterations_min),
                                         make_scram_credentials(ScramHash::sha256, "new", salt, scram_iterations_min)};
  };
  CHECK(logs_in(ScramHash::sha256, find, "x", "old"));
  CHECK(logs_in(ScramHash::sha256, find, "x", "new"));
  CHECK_FALSE(logs_in(ScramHash::sha256, find, "x", "other"));
}

TEST_CASE("a user who doesn't exist always seems to have the same salt") {
  const auto salt_of = [](const std::string& user) {
    const auto server = make_scram_conversation(ScramHash::sha256, "admin", true, nobody);
    const std::string reply = server->step("n,,n=" + user + ",r=abc").reply;
    return reply.substr(reply.find(",s="));
  };
  CHECK(salt_of("ann") == salt_of("ann"));
  CHECK(salt_of("ann") != salt_of("bob"));
}

TEST_CASE("messages that aren't SCRAM's end the conversation") {
  const auto find = knows(ScramHash::sha256, "ann", "s3cret");
  for (const std::string& text :
       {std::string(), std::string("n"), std::string("n,"), std::string("n,,"), std::string("p=x,,n=a,r=b"),
        std::string("n,,r=b"), std::string("n,,n=a"), std::string("n,,n=,r=b"), std::string("n,,n=a,r="),
        std::string("n,,n=a=2,r=b"), std::string("n,,n=a,n=b,r=c"), std::string("n,,m=x,n=a,r=b"), std::string("n,a=b,n=ann,r=b"),
        std::string(100'000, 'n')}) {
    const auto server = make_scram_conversation(ScramHash::sha256, "admin", true, find);
    CHECK(fails([&] { server->step(text); }));
  }
  const auto after_first = [&](const std::string& text) {
    const auto server = make_scram_conversation(ScramHash::sha256, "admin", true, find);
    const std::string first = server->step("n,,n=ann,r=abc").reply;
    const std::string nonce = first.substr(2, first.find(",s=") - 2);
    std::string message = text;
    if (const size_t at = message.find("NONCE"); at != message.npos) message.replace(at, 5, nonce);
    return fails([&] { server->step(message); });
  };
  const std::string zeros = bson::base64_encode(base::Bytes(32, '\0'));
  CHECK(after_first(""));
  CHECK(after_first("c=biws,r=NONCE"));
  CHECK(after_first("c=biws,r=NONCE,p="));
  CHECK(after_first("c=biws,r=NONCE,p=AAAA"));
  CHECK(after_first("c=biws,r=NONCE,p=" + zeros));
  CHECK(after_first("c=eSws,r=NONCE,p=" + zeros));
  CHECK(after_first("c=biws,r=abc,p=" + zeros));
  CHECK(after_first("r=NONCE,p=" + zeros));
}

TEST_CASE("a client doesn't believe a server that knows no password") {
  ScramClient client(ScramHash::sha256, "ann", "s3cret");
  client.first();
  CHECK(fails([&] { client.proof("r=other,s=QQ==,i=5000"); }));
  CHECK(fails([&] { client.proof("nonsense"); }));
  // Few rounds would let it try passwords fast.
  const auto asks_for = [](const std::string& rounds) {
    ScramClient asked(ScramHash::sha256, "ann", "s3cret");
    const std::string first = asked.first();
    return fails([&] { asked.proof(first.substr(first.find("r=")) + "more,s=QQ==,i=" + rounds); });
  };
  CHECK(asks_for("1"));
  CHECK(asks_for("4095"));
  CHECK_FALSE(asks_for("4096"));
  CHECK(asks_for("10000001"));
  CHECK(fails([&] { client.check("v=AAAA"); }));
  CHECK(fails([&] { client.check("e=no"); }));
}

TEST_CASE("passwords are normalized as RFC 4013 says") {
  CHECK(saslprep("I\xC2\xADX") == "IX");
  CHECK(saslprep("user") == "user");
  CHECK(saslprep("USER") == "USER");
  CHECK(saslprep("\xC2\xAA") == "a");
  CHECK(saslprep("\xE2\x85\xA8") == "IX");
  CHECK_FALSE(saslprep("\x07"));
  CHECK_FALSE(saslprep("\xD8\xA7\x31"));
  CHECK_FALSE(saslprep("\xff\xfe"));
}

}  // namespace
}  // namespace server::access
