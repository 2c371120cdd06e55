// fetch and pull share this: commits come from a remote.
#pragma once

#include <string>
#include <vector>

#include "server/commands/versions/remotes.h"

namespace server {

class OperationContext;
struct Request;

struct Fetched {
  uint64_t made = 0;                       // commits
  std::vector<versions::pack::Ref> refs;   // as the remote has them
  std::vector<versions::pack::Ref> moved;  // the tags here that moved
};

// Makes the commits that the remote has and this database lacks, and lets the remote's tags here name what its refs name: these,
// or all that it has (nullopt). `db` has no ref. It needs one command there if there is nothing new. Throws Unauthorized if a
// view comes that the client of the request may not define.
Fetched fetch_from(OperationContext& op, const Request& request, const std::string& db, const Remote& remote,
                   const std::optional<std::vector<std::string>>& names);

}  // namespace server
