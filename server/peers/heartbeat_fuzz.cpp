// The input is taken as another member's heartbeat, and as the answer to one. It is refused as an operation is, or written back
// as one that reads the same.
#include "base/fuzz_target.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "server/peers/heartbeat.h"

namespace {

using namespace server::peers;

bool check_request(bson::DocumentView body) {
  HeartbeatRequest request;
  if (base::refuses([&] { request = HeartbeatRequest::parse(body); })) return false;
  const auto once = request.document();
  base::check(HeartbeatRequest::parse(once.view()).document().bytes() == once.bytes());
  return true;
}

bson::Document written(const HeartbeatReply& reply) {
  bson::Builder out;
  reply.append_to(out);
  return out.done();
}

bool check_reply(bson::DocumentView body) {
  HeartbeatReply reply;
  if (base::refuses([&] { reply = HeartbeatReply::parse(body); })) return false;
  const auto once = written(reply);
  base::check(written(HeartbeatReply::parse(once.view())).bytes() == once.bytes());
  return true;
}

bool run(base::BytesView input) {
  const auto document = bson::validate(input);
  if (!document.ok()) return false;
  const bool request = check_request(document.value()), reply = check_reply(document.value());
  return request || reply;
}

std::vector<base::Bytes> seeds() {
  HeartbeatRequest request;
  request.set = "rs", request.config = {3, 2}, request.from = "a:1", request.from_id = 0, request.term = 5,
  request.check_empty = true;
  request.new_config = bson::json("{_id: 'rs', members: [{_id: 0, host: 'a:1'}]}");
  HeartbeatReply reply;
  reply.set = "rs", reply.state = replication::MemberState::primary, reply.config = {3, 2}, reply.term = 5, reply.primary_id = 0;
  reply.election_time = bson::Timestamp{9, 1}, reply.sync_source = "b:2", reply.electable = true, reply.has_data = true;
  return {request.document().bytes(), written(reply).bytes()};
}

const base::FuzzTarget target("heartbeat", run, seeds);

}  // namespace
