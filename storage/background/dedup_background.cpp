#include "storage/background/dedup_background.h"

#include "storage/background/load_places.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/engine.h"
#include "storage/engine/internals.h"

namespace storage {

DedupBackground::DedupBackground(Contents& contents, const Catalog& the_catalog, const DedupSettings& settings)
    : engine(contents.engine),
      catalog(the_catalog),
      state(contents.engine),
      queue(settings.queue_bytes),
      options(contents, settings),
      partitions(contents.engine, state, options),
      sources(contents.engine, tracked),
      write_backs(settings.write_back_bytes),
      published(partitions, write_backs),
      encoder(contents.engine, partitions, sources, write_backs, published),
      scheduler(contents.engine.clock(), "dedup"),
      questions(scheduler, tracked),
      take_options(options, partitions, write_backs),
      flush(contents.engine, options, sources, write_backs, published),
      tidy(contents, queue, partitions, tracked, published, scheduler),
      catch_up(contents.engine, options, tracked, encoder, published, flush, tidy),
      promote(contents.engine, partitions, tracked, sources, published),
      splice(contents.engine, tracked, sources, published),
      save({contents.engine, state, queue, partitions, tracked, missed, sources, published}),
      recount(contents.engine, state, queue, tracked, scheduler),
      sweep(contents.engine, tracked, sources, published, tidy),
      demoter(contents.engine, partitions, sources, published, tidy),
      cold({contents.engine, options, partitions, tracked, missed, sources, encoder, demoter, published, questions, save}),
      encode({queue, partitions, tracked, sources, encoder, write_backs, published, flush, cold, tidy},
             {&sweep, &cold, &flush, &sources, &partitions, &save}) {}

void DedupBackground::start() {
  load_places(catalog, state, tracked, recount);  // This comes before a client can write: old work comes before new work.
  scheduler.start(
      {&take_options, &encode, &flush, &catch_up, &promote, &splice, &save, &recount, &sweep, &cold, &tidy},
      [this] { return engine.internals().space.has_room(DiskUse::background); }, &engine.internals().drafts);
}

void DedupBackground::stop() {
  if (!scheduler.stop()) return;
  sources.clear();
  partitions.clear();
  tracked.clear();
}

bool DedupBackground::wants(const Collection& collection, size_t bytes) const {
  return options.enabled() && queue.has_room(bytes) && !const_cast<Collection&>(collection).records().state().behind();
}

void DedupBackground::push(const std::shared_ptr<Collection>& collection, DedupWork work) {
  scheduler.client_wrote();
  tracked.add(collection);
  if (!collection->options().dedup.enabled) return;
  auto& records = collection->records().state();
  const RecordId record = work.record;
  const bool written = work.kind == DedupWork::Kind::written;
  const Stamp generation = work.generation, previous = work.previous;
  const bool queued = !records.behind() && options.enabled() && queue.push(std::move(work));
  // Catching up reads new records; the new content of an old record is found by a pass over all records.
  if (!queued && written && previous) records.miss(generation);
  if (!queued && written && !previous) records.fall_behind(record);
  scheduler.wake();
}

void DedupBackground::dropped(CollectionId collection) {
  tracked.remove(collection);
  queue.push({.kind = DedupWork::Kind::dropped, .collection = collection});
  scheduler.wake();
}

void DedupBackground::tidy_now(Collection& collection, const std::function<void()>& interrupted) {
  questions.ask(collection.id(), interrupted);
  tidy.tidy(collection, interrupted);
}

DedupFigures DedupBackground::figures() const {
  DedupFigures figures = published.get();
  figures.cpu_micros = scheduler.cpu_micros();
  figures.rested_micros = scheduler.rested_micros();
  return figures;
}

QueueFigures DedupBackground::queue_figures() const {
  return {queue.size() + encode.in_hand(), queue.bytes(), queue.dropped(), queue.refused(), tracked.count_behind()};
}

}  // namespace storage
