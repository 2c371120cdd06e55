// A member logs in to the other members of its set, as __system: with the set's key, or with its certificate.
#pragma once

#include <string>

#include "server/peers/peer_channel.h"

namespace server::peers {

struct MemberLogin {
  std::string key;              // of the key file
  bool by_certificate = false;  // then the key isn't used
};

// Throws OperationError: AuthenticationFailed, or as PeerChannel::call does.
void log_in(PeerChannel& channel, const MemberLogin& login, PeerChannel::Time deadline);

}  // namespace server::peers
