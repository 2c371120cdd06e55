// _initialSyncFiles lists the files of a lent backup, page by page.
#include "server/commands/replication/initial_sync_source.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"

namespace server {
namespace {

constexpr size_t page_bytes_max = 8 << 20;

class InitialSyncFiles : public InitialSyncSource {
 public:
  std::string_view name() const override { return "_initialSyncFiles"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"backupId", "skip"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto backup = host_of(op).use(arguments.required_integer("backupId"));
    const std::vector<storage::BackupFile>& all = backup->files();
    auto listed = reply.array("files");
    for (size_t i = static_cast<size_t>(arguments.unsigned_integer("skip").value_or(0));
         i < all.size() && listed.size() < page_bytes_max; ++i) {
      auto one = listed.object();
      one.append("name", all[i].name).append("bytes", static_cast<int64_t>(all[i].bytes));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_initial_sync_files_command() {
  return std::make_unique<InitialSyncFiles>();
}

}  // namespace server
