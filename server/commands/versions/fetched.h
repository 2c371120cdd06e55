// fetch and pull share this: commits come from a remote.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/commands/versions/remotes.h"

namespace server {

class Arguments;
class OperationContext;
struct Request;

struct FetchRequest {
  std::optional<std::vector<std::string>> names = {};  // of branches and tags; nullopt: all that the remote has
  std::optional<uint64_t> depth = {};  // so many commits of each, those behind commits that are here too; UINT64_MAX: all of them
};

// Reads the fields `depth` and `unshallow`. Throws BadValue.
std::optional<uint64_t> depth_of(const Arguments& arguments);

// The remote's commits come with this selection alone, from now on; an empty one: as before. Throws IllegalOperation if commits
// came from the remote with another one.
void select(OperationContext& op, const std::string& db, Remote& remote, versions::Selection selection);

struct Fetched {
  uint64_t made = 0;                       // commits
  std::vector<versions::pack::Ref> refs;   // as the remote has them
  std::vector<versions::pack::Ref> moved;  // the tags here that moved
  bool main_left = false;                  // main left the first commit (leave_first)
};

// Makes the commits that the remote has and this database lacks, and lets the remote's tags here name what its refs name. `db`
// has no ref. It needs one command there if there is nothing new. Throws Unauthorized if a view comes that the client of the
// request may not define; IllegalOperation if the remote's history is shallow, and this one's isn't and nothing asks for that.
Fetched fetch_from(OperationContext& op, const Request& request, const std::string& db, const Remote& remote,
                   const FetchRequest& what);

}  // namespace server
