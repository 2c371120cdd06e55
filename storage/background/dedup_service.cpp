#include "storage/background/dedup_service.h"

#include "storage/background/dedup_figures.h"
#include "storage/background/dedup_worker.h"
#include "storage/contents/contents.h"

namespace storage {

struct DedupService::State {
  State(Contents& of_all, const Catalog& the_catalog, const DedupSettings& settings)
      : contents(of_all), catalog(the_catalog), enabled_at_start(settings.enabled), worker(of_all, the_catalog, settings) {}
  Contents& contents;
  const Catalog& catalog;
  const bool enabled_at_start;
  DedupWorker worker;
};

DedupService::DedupService(Contents& contents, const Catalog& catalog, const DedupSettings& settings)
    : state_(std::make_unique<State>(contents, catalog, settings)) {}
DedupService::~DedupService() {
  stop();
}

void DedupService::start() {
  state_->worker.start();
}
void DedupService::stop() {
  state_->worker.stop();
}

bool DedupService::listens() const {
  return state_->enabled_at_start || enabled();
}

bool DedupService::wants(const Collection& collection, size_t bytes) const {
  return state_->worker.wants(collection, bytes);
}

void DedupService::written(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation, Stamp previous,
                           bool previous_is_base, std::optional<Bytes> content) {
  if (collection->read_only()) return;
  state_->worker.push(collection, {.kind = DedupWork::Kind::written,
                                   .collection = collection->id(),
                                   .record = id,
                                   .generation = generation,
                                   .previous = previous,
                                   .previous_is_base = previous_is_base,
                                   .content = std::move(content)});
}

void DedupService::removed(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation) {
  if (collection->read_only()) return;
  state_->worker.push(collection,
                      {.kind = DedupWork::Kind::removed, .collection = collection->id(), .record = id, .previous = generation});
}

void DedupService::dropped(const std::shared_ptr<Collection>& collection) {
  state_->worker.dropped(collection->id());
}

void DedupService::drain(bool tidy) {
  state_->worker.drain(tidy);
}
void DedupService::tidy(Collection& collection, const std::function<void()>& interrupted) {
  state_->worker.tidy(collection, interrupted);
}
std::unique_lock<std::mutex> DedupService::hold() {
  return state_->worker.hold();
}

bool DedupService::counted(const Collection& collection) const {
  return state_->worker.counted(collection.id());
}
void DedupService::set_enabled(bool enabled) {
  state_->worker.set_enabled(enabled);
}
bool DedupService::enabled() const {
  return state_->worker.enabled();
}
void DedupService::set_queue_bytes(uint64_t bytes) {
  state_->worker.set_queue_bytes(bytes);
}
uint64_t DedupService::queue_bytes() const {
  return state_->worker.queue_bytes();
}
dedup::Options DedupService::options() const {
  return state_->worker.options();
}
void DedupService::set_options(const dedup::Options& options) {
  state_->worker.set_options(options);
}

dedup::Sketcher DedupService::sketcher(const Collection& collection) const {
  return state_->worker.sketcher(collection);
}

void DedupService::append_server_status(bson::Builder& out) const {
  append_server_figures(state_->contents, state_->catalog, state_->worker, out);
}
void DedupService::append_database_stats(const std::string& db, bson::Builder& out) const {
  append_database_figures(state_->contents.engine, state_->catalog, state_->worker, db, out);
}
void DedupService::append_collection_stats(const Collection& collection, bson::Builder& out) const {
  append_collection_figures(state_->contents.engine, collection, out);
}

}  // namespace storage
