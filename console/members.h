// The members of a set, as the driver library knows them from what they have answered.
#pragma once

#include <mongoc/mongoc.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"

namespace console {

struct DestroyMember {
  void operator()(mongoc_server_description_t* one) const { mongoc_server_description_destroy(one); }
};
using Member = std::unique_ptr<mongoc_server_description_t, DestroyMember>;

// Returns the member with this address, "host:port", once it has answered. Fails with NodeNotFound as soon as a server has
// answered and neither it nor the connection string names such a member, and with HostUnreachable after `patience`. The client
// comes from a pool, whose threads ask the members. The client is used by one thread.
base::Result<Member> wait_for_member(mongoc_client_t* client, const std::string& address, std::chrono::milliseconds patience);

}  // namespace console
