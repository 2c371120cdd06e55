// What setParameter says about all queries.
#pragma once

#include <atomic>

namespace server {
class OperationContext;
class ServerParameters;
}  // namespace server

namespace server::query {

// The server has one. It must live as long as the parameters.
struct QueryParameters {
  std::atomic<bool> refuses_scans{false};       // notablescan
  std::atomic<bool> disk_use_by_default{true};  // allowDiskUseByDefault

  void add_to(ServerParameters& parameters);
};

// Returns whether a query with a filter must find an index for it.
bool refuses_scans(const OperationContext& op);
// Returns whether sorts and groups may use the disk when the command doesn't say.
bool uses_disk_by_default(const OperationContext& op);

}  // namespace server::query
