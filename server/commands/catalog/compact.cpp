// compact gives space that a collection's files no longer need back to the file system.
#include "base/error.h"
#include "server/commands/shared/storage_sizes.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/query/views.h"
#include "server/write/target.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/catalog.h"
#include "storage/contents/store_tables.h"
#include "storage/store.h"

namespace server {
namespace {

class Compact : public Command {
 public:
  std::string_view name() const override { return "compact"; }
  std::string_view help() const override { return "compact collection\n{ compact : <collection_name>, [force:<bool>] }"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"force", "freeSpaceTargetMB"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string ns = request.ns();
    storage::Store& store = write::store_of(op);
    const auto collection = store.catalog().find(ns);
    if (!collection && query::find_view(op, ns))
      throw base::OperationError(base::ErrorCode::command_not_supported_on_view, "can't compact a view");
    if (!collection) throw base::OperationError(base::ErrorCode::namespace_not_found, "collection does not exist");
    write::check_writable(*collection);
    const int64_t before = sizes_of(store, *collection).total();
    // The records are one step, and each index is another.
    const auto indexes = collection->indexes();
    Progress progress{.what = "compacting files", .done = 0, .total = static_cast<int64_t>(indexes.size()) + 1};
    op.set_progress(progress);
    store.dedup().tidy(*collection, [&] { op.check_interrupt(); });
    for (const auto& index : indexes) {
      ++progress.done;
      op.set_progress(progress);
      store.engine().compact(index->table().name());
      op.check_interrupt();
    }
    store.engine().trim_files();
    if (collection->dropped()) throw base::OperationError(base::ErrorCode::namespace_not_found, "collection does not exist");
    append_count(reply, "bytesFreed", std::max<int64_t>(0, before - sizes_of(store, *collection).total()));
  }
};

}  // namespace

std::unique_ptr<Command> make_compact_command() {
  return std::make_unique<Compact>();
}

}  // namespace server
