// A conversation is how a client proves who it is, in several messages.
#pragma once

#include <string>

#include "base/bytes.h"
#include "server/access/builtin_roles.h"

namespace server::access {

class Conversation {
 public:
  virtual ~Conversation() = default;
  struct Step {
    base::Bytes reply;
    bool done = false;  // the client has proved that it is user()
  };
  // Throws AuthenticationFailed (18); then the conversation is over.
  virtual Step step(base::BytesView message) = 0;
  // Returns the user that the client claims to be; step() says when that is proved. The name is empty before the first message.
  virtual const Name& user() const = 0;
  virtual std::string_view mechanism() const = 0;
};

}  // namespace server::access
