// _initialSyncRead reads part of a file of a lent backup.
#include "base/hash.h"
#include "server/commands/replication/initial_sync_source.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"

namespace server {
namespace {

constexpr uint64_t read_bytes_max = 8 << 20;

class InitialSyncRead : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncRead"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupId", "file", "offset", "bytes"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto backup = host_of(op).use(arguments.required_integer("backupId"));
    const auto offset = static_cast<uint64_t>(arguments.unsigned_integer("offset").value_or(0));
    const auto bytes = static_cast<uint64_t>(arguments.unsigned_integer("bytes").value_or(read_bytes_max));
    if (bytes == 0 || bytes > read_bytes_max) {
      throw base::OperationError(base::ErrorCode::bad_value, "bytes must be between 1 and " + std::to_string(read_bytes_max));
    }
    const base::Bytes part = backup->read(std::string(arguments.required_string("file")), offset, bytes);
    // The journal's files are allocated long before they are needed, so most of a new one is zeros.
    const size_t data_bytes = part.find_last_not_of('\0') + 1;
    const base::BytesView data(part.data(), data_bytes);
    const uint64_t zeros = part.size() - data_bytes;
    reply.append("data", bson::Binary{0, data}).append("zeros", static_cast<int64_t>(zeros));
    reply.append("checksum", static_cast<int64_t>(base::hash64(data, zeros)));
  }
};

}  // namespace

std::unique_ptr<Command> make_initial_sync_read_command() {
  return std::make_unique<InitialSyncRead>();
}

}  // namespace server
