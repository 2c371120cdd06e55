// reIndex builds a collection's indexes anew. A member of a replica set refuses it, as with MongoDB.
#include "base/error.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/target.h"
#include "storage/collections/index_rebuild.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class ReIndex : public Command {
 public:
  std::string_view name() const override { return "reIndex"; }
  std::string_view help() const override { return "re-index a collection (can only be run on a standalone mongod)"; }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string ns = request.ns();
    if (op.services().replica_set) {
      throw OperationError(ErrorCode::illegal_operation,
                           "reIndex is only allowed on a standalone mongod instance. Cannot reIndex collection '" + ns +
                               "' while replication is active");
    }
    op.begin_writing(false);
    storage::Catalog& catalog = write::store_of(op).catalog();
    const auto collection = catalog.find(ns);
    if (!collection) {
      write::check_writable(op, ns);
      throw OperationError(ErrorCode::namespace_not_found, "collection does not exist");
    }
    write::check_writable(*collection);
    const auto count = [&] { return static_cast<int32_t>(collection->indexes().size()); };
    reply.append("nIndexesWas", count());
    const auto progress = [&op](int64_t done, int64_t total) {
      op.set_progress(
          {.what = "Index Build: scanning collection Index Build: scanning collection", .done = done, .total = total});
    };
    storage::rebuild_indexes(catalog, collection, {.interrupted = op.interrupted(), .replayed = nullptr, .progress = progress});
    reply.append("nIndexes", count());
    auto indexes = reply.array("indexes");
    for (const auto& index : collection->indexes()) indexes.append(index->spec().document);
  }
};

}  // namespace

std::unique_ptr<Command> make_re_index_command() {
  return std::make_unique<ReIndex>();
}

}  // namespace server
