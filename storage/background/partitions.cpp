#include "storage/background/partitions.h"

#include <algorithm>

#include "base/log.h"
#include "storage/engine/engine.h"
#include "storage/engine/names.h"

namespace storage {

namespace {
constexpr int log_rebuilt = 7200202;
constexpr size_t metadata_cache_bytes_min = 128 << 10;  // This is enough for a few pages.
}  // namespace

Partitions::Partitions(Engine& engine, const DedupState& state, const LiveOptions& options)
    : engine_(engine), state_(state), options_(options), metadata_(MetadataPages::open_table(engine)) {}

std::string Partitions::name_of(const Collection& collection) const {
  return std::string(database_of(collection.ns())) + '.' + options_.profile_of(collection);
}

const Partition* Partitions::find(const Collection& collection) const {
  const auto found = partitions_.find(name_of(collection));
  return found == partitions_.end() ? nullptr : found->second.get();
}

Partition& Partitions::of(const Collection& collection) {
  const std::string name = name_of(collection);
  if (const auto found = partitions_.find(name); found != partitions_.end()) return *found->second;
  if (partitions_.empty()) MetadataPages::check_table(engine_, metadata_);
  const DatabaseState stored = state_.database(name);
  auto made = std::make_unique<Partition>();
  made->database = database_of(collection.ns());
  made->profile = options_.profile_of(collection);
  made->share = partitions_.size() + 1;
  made->pages = std::make_unique<MetadataPages>(engine_, metadata_, stored.number);
  made->encoder = std::make_unique<dedup::Encoder>(options_of(*made), stored.seed, *made->pages);
  const int64_t start = engine_.clock().monotonic_us();
  made->encoder->rebuild();
  made->rebuild_ms = (engine_.clock().monotonic_us() - start) / 1000;
  const auto stats = made->encoder->stats();
  if (stats.live_entries > 0) {
    base::log(base::Severity::info, base::LogComponent::storage, log_rebuilt, "Feature index rebuilt",
              base::Attributes()
                  .add("db", made->database)
                  .add("profile", made->profile)
                  .add("records", stats.live_entries)
                  .add("indexBytes", uint64_t{stats.index_bytes})
                  .add("durationMillis", made->rebuild_ms));
  }
  return *partitions_.emplace(name, std::move(made)).first->second;
}

// The first databases get most of the caches; later ones share what would be the budget of one.
dedup::Options Partitions::options_of(const Partition& partition) const {
  dedup::Options options = options_.of(partition.profile, options_.in_force());
  options.source_cache_bytes /= partition.share;
  options.metadata_cache_bytes = std::max(options.metadata_cache_bytes / partition.share, metadata_cache_bytes_min);
  return options;
}

void Partitions::take_options() {
  for (auto& [name, partition] : partitions_) partition->encoder->set_options(options_of(*partition));
}

void Partitions::set_pressure(bool pressure) {
  for (auto& [name, partition] : partitions_) partition->encoder->set_pressure(pressure);
}

// The collection's database is no longer known, so every encoder is called; the others have nothing of the collection.
void Partitions::forget(CollectionId collection) {
  for (auto& [name, partition] : partitions_) {
    partition->encoder->forget_collection(collection);
    partition->dirty = true;
  }
}

bool Partitions::dirty() const {
  return std::any_of(partitions_.begin(), partitions_.end(),
                     [](const auto& one) { return one.second->dirty || one.second->pages->changed(); });
}

void Partitions::flush() {
  for (auto& [name, partition] : partitions_) {
    if (partition->dirty) partition->encoder->flush();
    partition->dirty = false;
  }
}

void Partitions::write(Transaction& transaction) {
  for (auto& [name, partition] : partitions_) partition->pages->write(transaction);
}

void Partitions::written() {
  for (auto& [name, partition] : partitions_) partition->pages->written();
}

std::map<std::string, DedupFigures::Database> Partitions::figures(bool with_open_batches) const {
  std::map<std::string, DedupFigures::Database> databases;
  for (const auto& [name, partition] : partitions_) {
    auto& database = databases[partition->database];
    add(database.encoder, partition->encoder->stats());
    database.log += with_open_batches ? partition->log.figures_now() : partition->log.figures();
    database.rebuild_ms += partition->rebuild_ms;
  }
  return databases;
}

dedup::Sketcher Partitions::sketcher(const Collection& collection) const {
  return {options_.of(options_.profile_of(collection), options_.get()), state_.database(name_of(collection)).seed};
}

}  // namespace storage
