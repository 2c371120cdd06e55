// dbStats shows a database's counts and sizes.
#include <filesystem>

#include "server/commands/shared/storage_sizes.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/query/views.h"
#include "server/write/target.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

// Sizes are shown with fractions of the scale.
void append_size(bson::Builder& out, std::string_view name, int64_t bytes, int64_t scale) {
  out.append(name, static_cast<double>(bytes) / static_cast<double>(scale));
}

class DbStats : public Command {
 public:
  std::string_view name() const override { return "dbStats"; }
  std::vector<std::string_view> aliases() const override { return {"dbstats"}; }
  std::string_view help() const override {
    return "Get stats on a database. Not instantaneous. Slower for databases with large .ns files.\n"
           "Example: { dbStats:1, scale:1 }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"scale", "freeStorage"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const int64_t scale = scale_of(arguments);
    const bool free_storage = arguments.loose_boolean("freeStorage").value_or(false);
    storage::Store& store = write::store_of(op);
    StorageSizes sizes;
    int64_t collections = 0, objects = 0, bytes = 0, indexes = 0;
    for (const auto& collection : store.catalog().found(request.db)) {
      op.check_interrupt();
      ++collections;
      bytes += collection->logical_bytes();  // it comes first, because a snapshot counts both with it
      objects += collection->record_count();
      indexes += static_cast<int64_t>(collection->indexes().size());
      sizes += sizes_of(store, *collection);
    }
    reply.append("db", request.db);
    reply.append("collections", collections);
    {
      Held held(op.allowance().memory());
      reply.append("views", static_cast<int64_t>(query::all_views(op, request.db, held).size()));
    }
    reply.append("objects", objects);
    reply.append("avgObjSize", objects > 0 ? static_cast<double>(bytes) / static_cast<double>(objects) : 0.0);
    append_size(reply, "dataSize", bytes, scale);
    append_size(reply, "storageSize", sizes.records_bytes, scale);
    if (free_storage) append_size(reply, "freeStorageSize", sizes.records_free_bytes, scale);
    reply.append("indexes", indexes);
    append_size(reply, "indexSize", sizes.indexes_bytes, scale);
    if (free_storage) append_size(reply, "indexFreeStorageSize", sizes.indexes_free_bytes, scale);
    append_size(reply, "totalSize", sizes.total(), scale);
    if (free_storage) {
      append_size(reply, "totalFreeStorageSize", sizes.records_free_bytes + sizes.indexes_free_bytes, scale);
    }
    reply.append("scaleFactor", scale);
    append_file_system(store, scale, collections, reply);
    auto dedup = reply.object("dedup");
    store.dedup().append_database_stats(request.db, dedup);
  }

 private:
  static void append_file_system(const storage::Store& store, int64_t scale, int64_t collections, bson::Builder& reply) {
    std::error_code error;
    const auto space = std::filesystem::space(store.options().path, error);
    // The reply shows no disk of a database that doesn't exist, as mongod's does.
    if (error || collections == 0) return;
    append_size(reply, "fsUsedSize", static_cast<int64_t>(space.capacity - space.free), scale);
    append_size(reply, "fsTotalSize", static_cast<int64_t>(space.capacity), scale);
  }
};

}  // namespace

std::unique_ptr<Command> make_db_stats_command() {
  return std::make_unique<DbStats>();
}

}  // namespace server
