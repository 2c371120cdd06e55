#include "bench/data/stored.h"

#include <chrono>

#include "bench/measure/scratch.h"
#include "bson/path.h"
#include "datasets/replay/data_directory.h"
#include "datasets/version_key.h"
#include "storage/background/dedup_service.h"
#include "storage/contents/store_tables.h"
#include "storage/store.h"

namespace bench {
namespace {

class WallWatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

uint64_t number(const bson::Document& document, const char* path) {
  const bson::ValueView value = bson::value_at(document, path);
  return value.is_number() ? static_cast<uint64_t>(value.to_int64()) : 0;
}

}  // namespace

Stored::Stored(const std::string& folder, const StoredOptions& options) : folder_(folder), options_(options) {
  open();
}
Stored::~Stored() = default;

void Stored::open() {
  storage::StoreOptions options(base::system_clock());
  options.path = folder_;
  options.cache_bytes = options_.cache_bytes;
  options.block_compressor = options_.block_compressor;
  options.dedup.enabled = options_.dedup;
  options.dedup.profile = options_.profile;
  options.dedup.write_back_bytes = options_.write_back_bytes;
  store_ = std::make_unique<storage::Store>(options);
  collections_ = store_->catalog().collections("bench");
}

storage::CollectionOptions Stored::collection_options(const Workload& workload, const std::string& collection) const {
  storage::CollectionOptions options;
  const std::string key = workload.name == "versions" ? "key" : std::string(datasets::version_key(collection));
  if (!options_.version_keys || key.empty()) return options;
  bson::Builder document;
  document.object("dedup").append("key", key);
  options.document = document.done();
  options.dedup = storage::read_dedup_options(options.document);
  return options;
}

void Stored::load(const Workload& workload, size_t first, size_t last) {
  constexpr size_t batch = 100;
  collections_.clear();
  for (const std::string& name : workload.collections) {
    if (!store_->catalog().open("bench." + name)) store_->catalog().create("bench." + name, collection_options(workload, name));
    collections_.push_back(store_->catalog().open("bench." + name));
  }
  const WallWatch watch;
  last = std::min(last, workload.records.size());
  for (size_t begin = first; begin < last; begin += batch) {
    const size_t end = std::min(begin + batch, last);
    storage::in_transaction(*store_, [&](storage::Transaction& transaction) {
      for (size_t i = begin; i < end; ++i) {
        collections_[workload.records[i].collection]->insert(transaction, bson::DocumentView(workload.records[i].document));
      }
    });
  }
  load_seconds_ += watch.seconds();
  for (size_t i = first; i < last; ++i) logical_bytes_ += workload.records[i].document.size();
}

// Blocks at a file's end only become free at the checkpoint after the one that moved their contents, so this compacts until the
// files don't get smaller any more, as the replay does.
void Stored::settle() {
  const WallWatch watch;
  store_->dedup().drain();
  for (const auto& collection : collections_) store_->dedup().tidy(*collection);  // first: it demotes before it packs
  store_->dedup().drain(true);
  store_->engine().checkpoint();
  uint64_t before = UINT64_MAX;
  for (int round = 0; round < 8; ++round) {
    for (const auto& collection : collections_) {
      store_->dedup().tidy(*collection);
      for (const auto& index : collection->indexes()) store_->engine().compact(index->table().name());
    }
    store_->engine().trim_files();
    const uint64_t now = datasets::replay::measure(folder_).data_bytes;
    if (now + now / 200 >= before) break;
    before = now;
  }
  settle_seconds_ += watch.seconds();
}

bson::Document Stored::status() const {
  bson::Builder out;
  store_->dedup().append_server_status(out);
  return out.done();
}

StoredSizes Stored::sizes() {
  const bson::Document all = status();
  StoredSizes sizes;
  sizes.logical_bytes = logical_bytes_;
  sizes.file_bytes = datasets::replay::measure(folder_).data_bytes;
  sizes.dedup_bytes = number(all, "storedBytes");
  sizes.log_raw_bytes = number(all, "oplog.rawBytes");
  sizes.log_forward_bytes = number(all, "oplog.forwardBytes");
  sizes.log_zstd_bytes = number(all, "oplog.forwardZstdBytes");
  sizes.index_bytes = number(all, "index.bytes");
  sizes.index_records = number(all, "index.records");
  sizes.hops_max = number(all, "hops.max");
  sizes.load_seconds = load_seconds_;
  sizes.settle_seconds = settle_seconds_;
  return sizes;
}

int64_t Stored::reopen() {
  collections_.clear();
  store_.reset();
  open();
  // The index comes back with the first content that is looked for.
  store_->dedup().drain();
  return static_cast<int64_t>(number(status(), "databases.bench.rebuildMillis"));
}

StoredSizes stored_sizes(const Workload& workload, const StoredOptions& options, const std::string& scratch) {
  const Scratch folder(scratch);
  Stored stored(folder.path(), options);
  stored.load(workload);
  stored.settle();
  return stored.sizes();
}

}  // namespace bench
