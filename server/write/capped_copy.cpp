#include "server/write/capped_copy.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "bson/builder.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/copy.h"
#include "server/write/namespaces.h"
#include "server/write/replacement.h"
#include "server/write/target.h"
#include "server/write/views.h"
#include "storage/collections/catalog.h"
#include "storage/collections/clustered.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr int64_t capped_bytes_min = 4096;
constexpr int64_t capped_bytes_max = int64_t{1} << 50;
constexpr int copy_left_behind = 7200403;

storage::CollectionOptions capped_options(const storage::CollectionOptions& source, int64_t bytes) {
  if (source.document[storage::clustered_index_option].exists())
    throw OperationError(ErrorCode::illegal_operation, "a clustered collection can't become a capped one");
  storage::CollectionOptions options;
  options.capped = true;
  options.capped_bytes = capped_size(bytes);
  options.capped_records = source.capped_records;
  bson::Builder shown;
  shown.append("capped", true).append("size", options.capped_bytes);
  for (const auto& field : source.document) {
    // A capped collection has no commits.
    if (field.name != "capped" && field.name != "size" && field.name != "commits") shown.append_element(field);
  }
  options.document = shown.done();
  return options;
}

std::shared_ptr<storage::Collection> find_source(OperationContext& op, const std::string& ns) {
  storage::Catalog& catalog = store_of(op).catalog();
  if (auto found = catalog.find(ns)) return found;
  check_writable(op, ns);
  const std::string db(database_of(ns));
  if (catalog.found(db).empty()) throw OperationError(ErrorCode::namespace_not_found, "database " + db + " not found");
  throw OperationError(ErrorCode::namespace_not_found, "source collection " + ns + " does not exist");
}

// A capped collection under a temporary name, which the next start removes unless it was renamed until then.
class Unfinished {
 public:
  Unfinished(OperationContext& op, std::string_view db, const storage::CollectionOptions& options)
      : catalog_(store_of(op).catalog()) {
    const std::string ns = std::string(db) + "." + unfinished_name();
    collection_ = catalog_.create(ns, options);
    ns_ = ns;
  }
  ~Unfinished() {
    if (ns_.empty()) return;
    const storage::InterruptibleWaits uninterrupted(nullptr);
    try {
      catalog_.drop(ns_);
    } catch (const std::exception& error) {
      base::log(base::Severity::warning, base::LogComponent::command, copy_left_behind,
                "An unfinished capped collection could not be dropped; the next start drops it",
                base::Attributes().add("namespace", ns_).add("error", error.what()));
    }
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const std::string& ns() const { return ns_; }
  const std::shared_ptr<storage::Collection>& collection() const { return collection_; }
  void finished() { ns_.clear(); }

 private:
  storage::Catalog& catalog_;
  std::string ns_;
  std::shared_ptr<storage::Collection> collection_;
};

// Documents that don't fit are not even written.
void copy_newest(OperationContext& op, storage::Collection& from, const std::shared_ptr<storage::Collection>& into) {
  copy_documents(op, from, into, std::max<int64_t>(0, from.logical_bytes() - into->options().capped_bytes));
}

}  // namespace

int64_t capped_size(int64_t bytes) {
  if (bytes > capped_bytes_max) throw OperationError(ErrorCode::bad_value, "size cannot exceed 1 PB");
  return std::max(capped_bytes_min, (bytes + 255) / 256 * 256);
}

void convert_to_capped(OperationContext& op, const std::string& ns, int64_t bytes) {
  check_writable(ns);
  const auto source = find_source(op, ns);
  check_writable(*source);
  const std::string db(database_of(ns));
  versions::Databases* const databases = op.services().databases;
  if (databases && !source->options().capped) databases->check_alone(db, "converting a collection to a capped one");
  Unfinished capped(op, db, capped_options(source->options(), bytes));
  store_of(op).catalog().rename(capped.ns(), ns, true,
                                [&](storage::Collection*, storage::Collection* replaced) {
                                  if (!replaced)
                                    throw OperationError(ErrorCode::namespace_not_found,
                                                         "source collection " + ns + " does not exist");
                                  copy_newest(op, *replaced, capped.collection());
                                },
                                {.interrupted = op.interrupted()});
  capped.finished();
}

void clone_as_capped(OperationContext& op, const std::string& from, const std::string& to, int64_t bytes) {
  check_creatable(to);
  const auto source = find_source(op, from);
  storage::Catalog& catalog = store_of(op).catalog();
  if (catalog.open(to)) {
    throw OperationError(ErrorCode::namespace_exists, "cloneCollectionAsCapped failed - destination collection " + to +
                                                          " already exists. source collection: " + from);
  }
  check_no_view_has(op, to);
  const std::string db(database_of(to));
  if (db.find('@') != db.npos) {
    check_writable(op, to);
    throw OperationError(ErrorCode::illegal_operation, "a capped collection has no branches, so there can't be " + to);
  }
  Unfinished capped(op, db, capped_options(source->options(), bytes));
  {
    const auto alone = hold_both(op, *source, *capped.collection());
    if (source->dropped()) throw OperationError(ErrorCode::namespace_not_found, "source collection " + from + " does not exist");
    copy_newest(op, *source, capped.collection());
  }
  catalog.rename(capped.ns(), to, false, nullptr, {.interrupted = op.interrupted()});
  capped.finished();
}

}  // namespace server::write
