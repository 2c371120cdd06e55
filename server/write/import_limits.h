// These limits say how much of a commit of another server is held in memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace server {
class OperationContext;
class ServerParameters;
}  // namespace server

namespace server::write {

// The server has one. It must live as long as the parameters.
struct ImportLimits {
  std::atomic<int64_t> bytes{256 << 20};  // commitImportMemoryBytes

  void add_to(ServerParameters& parameters);
};

// Returns the memory that the rows of a commit may take which is made in one transaction, and the documents that they make.
int64_t import_bytes_max(const OperationContext& op);

}  // namespace server::write
