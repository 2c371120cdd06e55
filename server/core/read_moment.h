// A read moment is the moment whose data a read shows, if its readConcern asks for one: {level: "snapshot"}.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "storage/engine/record_id.h"

namespace storage {
struct Snapshot;
}

namespace server {

struct ReadMoment {
  storage::Stamp stamp = 0;                           // atClusterTime
  std::shared_ptr<const storage::Snapshot> snapshot;  // nullptr: the moment is that of a declared snapshot
  uint64_t declared = 0;                              // the declared snapshot's number

  bool is_declared() const { return snapshot == nullptr; }
};

class OperationContext;

// Returns the name under which the catalog has the collection as of the operation's moment: "shop@main@s42.c" for "shop.c". A
// name that says a snapshot already stays as it is. Throws InvalidOptions for a name that no snapshot shows.
std::string name_at(const OperationContext& op, std::string_view ns);

}  // namespace server
