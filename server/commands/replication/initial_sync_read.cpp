// _initialSyncRead reads part of a file of a lent backup, or, of the part, the blocks that the asker doesn't have.
#include "server/commands/replication/initial_sync_source.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/peers/file_blocks.h"

namespace server {
namespace {

constexpr uint64_t read_bytes_max = 8 << 20;

class InitialSyncRead : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncRead"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupId", "file", "offset", "bytes", "have"};
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
    const bson::Element have = arguments.any("have");
    if (have.exists()) return append_others(part, have, reply);
    append_bytes("", part, reply);
  }

 private:
  static void append_others(base::BytesView part, bson::Element have, bson::Builder& reply) {
    if (have.type() != bson::Type::binary) throw base::OperationError(base::ErrorCode::type_mismatch, "have must be binary");
    const auto others = peers::other_blocks(part, have.as_binary().bytes);
    if (!others) throw base::OperationError(base::ErrorCode::bad_value, "have isn't of the part's blocks");
    reply.append("same", bson::Binary{0, others->same});
    append_bytes(others->same, others->data, reply);
  }

  static void append_bytes(base::BytesView same, base::BytesView bytes, bson::Builder& reply) {
    // The journal's files are allocated long before they are needed, so most of a new one is zeros.
    const base::BytesView data = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
    const uint64_t zeros = bytes.size() - data.size();
    reply.append("data", bson::Binary{0, data}).append("zeros", static_cast<int64_t>(zeros));
    reply.append("checksum", static_cast<int64_t>(peers::part_checksum(same, data, zeros)));
  }
};

}  // namespace

std::unique_ptr<Command> make_initial_sync_read_command() {
  return std::make_unique<InitialSyncRead>();
}

}  // namespace server
