// The moment that a read is as of, where its readConcern asks for one: {level: "snapshot"}.
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
  std::shared_ptr<const storage::Snapshot> snapshot;  // nullptr: a declared one
  uint64_t declared = 0;                              // its number

  bool is_declared() const { return snapshot == nullptr; }
};

class OperationContext;

// By which name the catalog has the collection as of the operation's moment: "shop@s42.c" of "shop.c"; what names a declared
// snapshot is the same at any. Throws InvalidOptions for what no snapshot shows.
std::string name_at(const OperationContext& op, std::string_view ns);

}  // namespace server
