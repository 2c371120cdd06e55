// The audit log as the options ask for it, and the changes of schemas that it records.
#pragma once

#include <memory>

namespace base {
class Clock;
}
namespace replication {
class LocalCommitter;
}
namespace storage {
class Catalog;
}

namespace server {

class Audit;
struct Options;

// Returns nullptr if the options ask for none. Throws OperationError: BadValue for a filter that can't be parsed, and others if
// the file can't be opened.
std::unique_ptr<Audit> make_audit(const Options& options, base::Clock& clock);

// Records every change of a schema that this member makes itself. All three live as long as such changes are made.
void audit_schemas(Audit& audit, replication::LocalCommitter& committer, const storage::Catalog& catalog);

}  // namespace server
