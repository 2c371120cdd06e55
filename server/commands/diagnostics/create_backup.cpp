// createBackup copies the data directory to another folder of the machine while the server is in use.
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/write/target.h"
#include "storage/store.h"
#include "storage/upkeep/backup_folder.h"

namespace server {
namespace {

class CreateBackup : public Command {
 public:
  std::string_view name() const override { return "createBackup"; }
  std::string_view help() const override {
    return "copies all data, with branches and snapshots, to a folder of the server's machine\n"
           "{ createBackup: 1, backupDir: <absolute path> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupDir"};
    return names;
  }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string folder(Arguments(request).required_string("backupDir"));
    const auto made = storage::back_up_to_folder(write::store_of(op).engine(), folder, [&](uint64_t done, uint64_t total) {
      op.check_interrupt();
      op.set_progress(
          {.what = "copying the data directory", .done = static_cast<int64_t>(done), .total = static_cast<int64_t>(total)});
    });
    reply.append("files", static_cast<int64_t>(made.files)).append("bytes", static_cast<int64_t>(made.bytes));
  }
};

}  // namespace

std::unique_ptr<Command> make_create_backup_command() {
  return std::make_unique<CreateBackup>();
}

}  // namespace server
