#include "storage/store.h"

#include <shared_mutex>

#include "storage/background/dedup_service.h"
#include "storage/collections/past_catalog.h"
#include "storage/collections/stored_catalog.h"
#include "storage/contents/contents.h"
#include "storage/contents/store_tables.h"
#include "storage/engine/directory.h"
#include "storage/engine/transaction.h"
#include "storage/format/page_compressor.h"

namespace storage {
// The parts are made in this order and destroyed in the opposite one.
struct Store::Parts {
  explicit Parts(const StoreOptions& given)
      : options(given),
        encryption(prepare_directory(given.path, given.encryption, given.salvage)),
        page_compressors(given.path, page_layout(given.dedup.profile).settled_level, encryption ? &encryption->files() : nullptr),
        engine(given, {.extension = page_compressors.registering(),
                       .table_gone = [this](const std::string& table) { page_compressors.table_gone(table); }}),
        contents(engine, page_compressors, given.dedup.profile),
        past_catalog(engine),
        catalog(contents, past_catalog),
        dedup(contents, catalog, given.dedup) {
    catalog.set_write_observer(&dedup);
    dedup.start();
  }
  ~Parts() {
    dedup.stop();
    catalog.set_write_observer(nullptr);
  }

  const StoreOptions options;
  const std::shared_ptr<const Encryption> encryption;  // nullptr: there is none
  PageCompressors page_compressors;
  Engine engine;
  Contents contents;
  PastCatalog past_catalog;
  StoredCatalog catalog;
  DedupService dedup;
};

Store::Store(const StoreOptions& options) : parts_(std::make_unique<Parts>(options)) {}
Store::~Store() = default;

const StoreOptions& Store::options() const {
  return parts_->options;
}
Engine& Store::engine() {
  return parts_->engine;
}
const Engine& Store::engine() const {
  return parts_->engine;
}
Catalog& Store::catalog() {
  return parts_->catalog;
}
DedupService& Store::dedup() {
  return parts_->dedup;
}
DeclaredSnapshots& Store::declared_snapshots() {
  return parts_->contents.snapshots;
}
PastCatalog& Store::past_catalog() {
  return parts_->past_catalog;
}
void Store::set_pre_states(PreStates* keeper) {
  parts_->contents.pre_states = keeper;
}
Contents& Store::contents() {
  return parts_->contents;
}

std::optional<bson::Document> find_document(Store& store, std::string_view ns, const bson::ValueView& id) {
  const auto collection = store.catalog().open(ns);
  if (!collection) return std::nullopt;
  const std::shared_lock schema(collection->schema_mutex());
  Transaction transaction(store, Transaction::Mode::read);
  const auto record = collection->find_id(transaction, id);
  return record ? collection->find(transaction, *record) : std::nullopt;
}

}  // namespace storage
