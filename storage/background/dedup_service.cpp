#include "storage/background/dedup_service.h"

#include "storage/background/dedup_background.h"
#include "storage/background/dedup_figures.h"
#include "storage/contents/contents.h"

namespace storage {

struct DedupService::State {
  State(Contents& of_all, const Catalog& the_catalog, const DedupSettings& settings)
      : contents(of_all), catalog(the_catalog), enabled_at_start(settings.enabled), background(of_all, the_catalog, settings) {}
  Contents& contents;
  const Catalog& catalog;
  const bool enabled_at_start;
  DedupBackground background;
};

DedupService::DedupService(Contents& contents, const Catalog& catalog, const DedupSettings& settings)
    : state_(std::make_unique<State>(contents, catalog, settings)) {}
DedupService::~DedupService() {
  stop();
}

void DedupService::start() {
  state_->background.start();
}
void DedupService::stop() {
  state_->background.stop();
}

bool DedupService::listens() const {
  return state_->enabled_at_start || enabled();
}

bool DedupService::wants(const Collection& collection, size_t bytes) const {
  return state_->background.wants(collection, bytes);
}

void DedupService::written(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation, Stamp previous,
                           bool previous_is_base, std::optional<Bytes> content) {
  if (collection->read_only()) return;
  state_->background.push(collection, {.kind = DedupWork::Kind::written,
                                       .collection = collection->id(),
                                       .record = id,
                                       .generation = generation,
                                       .previous = previous,
                                       .previous_is_base = previous_is_base,
                                       .content = std::move(content)});
}

void DedupService::removed(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation) {
  if (collection->read_only()) return;
  state_->background.push(
      collection, {.kind = DedupWork::Kind::removed, .collection = collection->id(), .record = id, .previous = generation});
}

void DedupService::dropped(const std::shared_ptr<Collection>& collection) {
  state_->background.dropped(collection->id());
}

void DedupService::drain(bool tidy) {
  state_->background.scheduler.drain(tidy);
}
void DedupService::tidy(Collection& collection, const std::function<void()>& interrupted) {
  state_->background.tidy_now(collection, interrupted);
}
std::unique_lock<std::mutex> DedupService::hold() {
  return state_->background.scheduler.hold();
}

bool DedupService::counted(const Collection& collection) const {
  return state_->background.recount.counted(collection.id());
}
void DedupService::set_enabled(bool enabled) {
  state_->background.options.set_enabled(enabled);
  state_->background.scheduler.call();
}
bool DedupService::enabled() const {
  return state_->background.options.enabled();
}
void DedupService::set_queue_bytes(uint64_t bytes) {
  state_->background.queue.set_bytes_max(bytes);
}
uint64_t DedupService::queue_bytes() const {
  return state_->background.queue.bytes_max();
}
dedup::Options DedupService::options() const {
  return state_->background.options.get();
}
void DedupService::set_options(const dedup::Options& options) {
  state_->background.options.set(options);
}

dedup::Sketcher DedupService::sketcher(const Collection& collection) const {
  return state_->background.partitions.sketcher(collection);
}

void DedupService::append_server_status(bson::Builder& out) const {
  append_server_figures(state_->contents, state_->catalog, state_->background, out);
}
void DedupService::append_database_stats(const std::string& db, bson::Builder& out) const {
  append_database_figures(state_->contents.engine, state_->catalog, state_->background, db, out);
}
void DedupService::append_collection_stats(const Collection& collection, bson::Builder& out) const {
  append_collection_figures(state_->contents.engine, collection, out);
}

}  // namespace storage
