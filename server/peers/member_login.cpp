#include "server/peers/member_login.h"

#include "bson/builder.h"
#include "server/access/authority.h"
#include "server/access/scram.h"

namespace server::peers {

using access::ScramHash;

namespace {

// The address is in the channel's own errors.
bson::Document run(PeerChannel& channel, const char* db, bson::Builder& command, PeerChannel::Time deadline) {
  return checked_reply(channel.call(db, command.done(), deadline), "another member");
}

base::Bytes payload_of(bson::DocumentView reply) {
  const auto payload = reply.find("payload");
  if (payload.type() != bson::Type::binary)
    throw base::OperationError(base::ErrorCode::protocol_error, "another member's answer to a login has no payload");
  return base::Bytes(payload.as_binary().bytes);
}

void log_in_with_key(PeerChannel& channel, const std::string& key, PeerChannel::Time deadline) {
  const auto secret = access::scram_secret(ScramHash::sha256, access::system_user, key);
  access::ScramClient client(ScramHash::sha256, access::system_user, secret.value_or(key));
  bson::Builder start;
  start.append("saslStart", 1)
      .append("mechanism", access::mechanism_name(ScramHash::sha256))
      .append("payload", bson::Binary{0, client.first()});
  start.object("options").append("skipEmptyExchange", true);
  const bson::Document first = run(channel, "local", start, deadline);
  const base::Bytes proof = client.proof(payload_of(first));
  bson::Builder next;
  next.append("saslContinue", 1)
      .append("conversationId", static_cast<int32_t>(first.view().find("conversationId").to_int64()))
      .append("payload", bson::Binary{0, proof});
  const bson::Document last = run(channel, "local", next, deadline);
  client.check(payload_of(last));
}

}  // namespace

void log_in(PeerChannel& channel, const MemberLogin& login, PeerChannel::Time deadline) {
  if (!login.by_certificate) return log_in_with_key(channel, login.key, deadline);
  bson::Builder command;
  command.append("authenticate", 1).append("mechanism", "MONGODB-X509");
  run(channel, "$external", command, deadline);
}

}  // namespace server::peers
