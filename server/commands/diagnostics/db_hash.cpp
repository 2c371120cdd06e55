// dbHash returns a hash of each collection's documents, by which members are
// compared.
#include <bson/bson.h>

#include <set>

#include "base/bytes.h"
#include "base/error.h"
#include "bson/json.h"
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/query/reader.h"
#include "server/query/series/series_options.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

// MongoDB's tools compare MD5 hashes; nothing here relies on the strength of MD5.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
class Md5 {
 public:
  Md5() { bson_md5_init(&state_); }
  void add(base::BytesView bytes) { bson_md5_append(&state_, base::as_u8(bytes), static_cast<uint32_t>(bytes.size())); }
  std::string hex() {
    uint8_t digest[16];
    bson_md5_finish(&state_, digest);
    return base::to_hex({reinterpret_cast<const char*>(digest), sizeof digest});
  }

 private:
  bson_md5_t state_;
};
#pragma GCC diagnostic pop

// Documents come in the order of their _id; those of a capped collection in the order of insertion.
std::string hash_collection(OperationContext& op, const std::shared_ptr<storage::Collection>& collection) {
  query::Query query;
  if (!collection->options().capped) query.sort = bson::json("{_id: 1}");
  Md5 md5;
  for (query::Reader reader(op, collection, collection->ns(), query); reader.next();) md5.add(reader.document().bytes());
  return md5.hex();
}

bool is_wanted(const std::set<std::string, std::less<>>& wanted, std::string_view name) {
  return wanted.empty() || wanted.contains(name);
}

// For a database with branches, the last commit has the collections' roots: a client that compares these needs no document.
void append_roots(OperationContext& op, const Request& request, const std::set<std::string, std::less<>>& wanted,
                  bson::Builder& reply) {
  auto database = op.services().databases->find(database_of(request));
  if (!database || op.services().databases->names_snapshot(request.db)) return;
  const query::States states(op, std::move(database));
  const auto commit = states.branches().graph().commit(states.transaction(), states.place(ref_of(request)).commit);
  bson::Builder roots;
  for (const auto& collection : write::store_of(op).catalog().collections(states.database().name())) {
    const std::string ns = collection->ns(), name(write::collection_of(ns));
    const versions::CollectionState* state = commit->state_of(collection->id());
    const auto root = state != nullptr && is_wanted(wanted, name) ? commit->root_of(*state) : std::nullopt;
    if (root) roots.append(name, hex(*root));
  }
  reply.append("commit", hex(commit->id)).append("roots", roots.done());
}

class DbHash : public Command {
 public:
  std::string_view name() const override { return "dbHash"; }
  std::vector<std::string_view> aliases() const override { return {"dbhash"}; }
  std::string_view help() const override {
    return "hash of each collection's documents\n{ dbHash: 1, collections: [ <name>, ... ] }";
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    std::set<std::string, std::less<>> wanted;
    if (const auto names = arguments.array("collections")) {
      for (const auto& name : *names) {
        if (!name.is_string()) {
          throw base::OperationError(base::ErrorCode::bad_value, "collections entries have to be strings");
        }
        wanted.emplace(name.as_string());
      }
    }
    const auto collections = write::store_of(op).catalog().found(request.db);
    Md5 all;
    bson::Builder hashes, uuids;
    bson::ArrayBuilder capped;
    for (const auto& collection : collections) {
      const std::string ns = collection->ns();
      const std::string name(write::collection_of(ns));
      if (!is_wanted(wanted, name) || (write::is_system(ns) && !query::is_buckets(ns))) continue;
      const std::string hash = hash_collection(op, collection);
      hashes.append(name, hash);
      uuids.append(name, bson::Binary{4, collection->uuid_bytes()});
      if (collection->options().capped) capped.append(name);
      all.add(hash);
    }
    reply.append("collections", hashes.done()).append("capped", capped.done_value()).append("uuids", uuids.done());
    reply.append("md5", all.hex());
    append_roots(op, request, wanted, reply);
    append_count(reply, "timeMillis", op.elapsed_us() / 1000);
  }
};

}  // namespace

std::unique_ptr<Command> make_db_hash_command() {
  return std::make_unique<DbHash>();
}

}  // namespace server
