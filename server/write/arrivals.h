// An arrival is a database whose history comes from another server for the first time, in one pack or in several.
//
//   admin.system.arrivals   {_id: "shop", at: <when something of it came last>}
//
//   first document of the first commit     the arrival begins
//   each piece and each commit that comes  it is renewed
//   branches or tags move to what came     it ends
//
// No document of the database expires (TTL) meanwhile: the first commit would be another one, or main would have a change that
// nobody made, and couldn't move to what comes next. The document goes through the log, so an arrival outlives a restart and a
// change of primary. If nothing comes for an hour, documents expire again, until something comes.
#pragma once

#include <cstdint>
#include <string>

namespace server {
class OperationContext;
struct Services;
}  // namespace server

namespace server::write {

constexpr int64_t arrival_idle_ms_max = 3'600'000;

void begin_arrival(OperationContext& op, const std::string& db);
// Returns whether the database is an arrival, and says that something of it came.
bool renew_arrival(OperationContext& op, const std::string& db);
// Returns whether it is one, however long ago something of it came.
bool is_arrival(const Services& services, const std::string& db);
// Returns whether its documents must not expire yet.
bool is_arriving(const Services& services, const std::string& db);
void end_arrival(OperationContext& op, const std::string& db);

}  // namespace server::write
