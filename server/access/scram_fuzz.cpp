// Messages of a login that nobody should send, to the server's side and to the client's, of SCRAM-SHA-1 and SCRAM-SHA-256: each
// is refused, or answered as RFC 5802 says. Nobody is logged in by any other message than the one that the right password makes.
//
//   number   bit 0: the hash; bit 1: the empty exchange at the end is left out; bits 2 and 3: what the message is (Kind)
//   rest     the message; for an edited proof pairs of bytes, where and what
#include <algorithm>

#include "base/fuzz_target.h"
#include "bson/json.h"
#include "server/access/scram.h"

namespace {

using namespace server::access;
using base::Bytes;
using base::BytesView;
using base::check;

enum class Kind { client_first, client_final, server_first, edited_final };

const std::string user = "ada", password = "pencil";

const ScramCredentials& known(ScramHash hash) {
  static const auto make = [](ScramHash each) {
    return make_scram_credentials(each, *scram_secret(each, user, password), scram_iterations_min);
  };
  static const ScramCredentials sha1 = make(ScramHash::sha1), sha256 = make(ScramHash::sha256);
  return hash == ScramHash::sha1 ? sha1 : sha256;
}

std::unique_ptr<Conversation> conversation(ScramHash hash, bool skip_empty) {
  return make_scram_conversation(hash, "admin", skip_empty, [hash](const Name& name) {
    return name.name == user ? std::vector<ScramCredentials>{known(hash)} : std::vector<ScramCredentials>{};
  });
}

ScramClient client(ScramHash hash) {
  return {hash, user, *scram_secret(hash, user, password)};
}

// An answer to a first message begins with the client's own nonce, and the next message, which proves nothing, is refused.
bool first_to_server(ScramHash hash, bool skip_empty, BytesView message) {
  const auto server = conversation(hash, skip_empty);
  Conversation::Step step;
  if (base::refuses([&] { step = server->step(message); })) return false;
  check(!step.done && step.reply.starts_with("r=") && !server->user().name.empty());
  check(base::refuses([&] { (void)server->step(Bytes(message)); }), "a first message is no proof");
  return true;
}

// The client's first message is right; the fuzzer's text comes in place of the proof. "NONCE" in it becomes the server's nonce.
bool final_to_server(ScramHash hash, bool skip_empty, BytesView message) {
  const auto server = conversation(hash, skip_empty);
  const Bytes challenge = server->step(client(hash).first()).reply;
  Bytes text(message);
  const Bytes nonce = challenge.substr(2, challenge.find(',') - 2);
  if (const size_t at = text.find("NONCE"); at != Bytes::npos) text.replace(at, 5, nonce);
  check(base::refuses([&] { (void)server->step(text); }), "a proof that no password made is refused");
  return true;
}

// The client asks itself to make at most 9999 rounds here: more are right, and take long.
bool first_to_client(ScramHash hash, BytesView message) {
  size_t digits = 0;
  for (const char c : message) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 4) return false;
  }
  ScramClient ours = client(hash);
  const Bytes first = ours.first();
  Bytes challenge(message);
  if (const size_t at = challenge.find("NONCE"); at != Bytes::npos) challenge.replace(at, 5, first.substr(first.find("r=") + 2));
  if (base::refuses([&] { (void)ours.proof(challenge); })) return false;
  check(base::refuses([&] { ours.check(message); }), "a server that doesn't know the password can't say the end");
  return true;
}

bool edited_final(ScramHash hash, bool skip_empty, BytesView edits) {
  const auto server = conversation(hash, skip_empty);
  ScramClient ours = client(hash);
  const Bytes right = ours.proof(server->step(ours.first()).reply);
  Bytes text = right;
  for (size_t i = 0; i + 1 < edits.size(); i += 2) text[static_cast<uint8_t>(edits[i]) % text.size()] = edits[i + 1];
  Conversation::Step step;
  const bool refused = base::refuses([&] { step = server->step(text); });
  // Base64 has several spellings of the same bytes.
  const size_t at = right.rfind(",p=") + 3;
  const bool same =
      text.substr(0, at) == right.substr(0, at) && bson::base64_decode(text.substr(at)) == bson::base64_decode(right.substr(at));
  check(refused == !same, "one proof alone is right");
  if (refused) return false;
  ours.check(step.reply);
  check(step.done == skip_empty && (step.done || server->step({}).done));
  return true;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const uint64_t number = reader.number();
  const ScramHash hash = (number & 1) != 0 ? ScramHash::sha256 : ScramHash::sha1;
  const bool skip_empty = (number & 2) != 0;
  switch (static_cast<Kind>(number >> 2 & 3)) {
    case Kind::client_first: return first_to_server(hash, skip_empty, reader.rest());
    case Kind::client_final: return final_to_server(hash, skip_empty, reader.rest());
    case Kind::server_first: return first_to_client(hash, reader.rest());
    case Kind::edited_final: return edited_final(hash, skip_empty, reader.rest());
  }
  return false;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  const auto add = [&](Kind kind, BytesView message) {
    for (const uint64_t how : {0, 1, 2, 3}) {
      out.push_back(base::FuzzWriter().number(static_cast<uint64_t>(kind) << 2 | how).rest(message));
    }
  };
  add(Kind::client_first, "n,,n=ada,r=rOprNGfwEbeRWgbNEkqO");
  add(Kind::client_first, "y,a=o=2Chara=3D,n=o=2Chara=3D,r=abc,x=more");
  add(Kind::client_final, "c=biws,r=NONCE,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
  add(Kind::server_first, "r=NONCE%hvYDpWUa2RaTCAfuxFIlj)hNlF,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
  add(Kind::edited_final, "");
  return out;
}

const base::FuzzTarget target("scram", run, seeds);

}  // namespace
