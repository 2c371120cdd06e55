#include "storage/dedup_worker.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "storage/record_store_state.h"
#include "storage/table_packer.h"

namespace storage {

namespace {

constexpr int log_failed = 7200201;
constexpr int log_rebuilt = 7200202;

constexpr int nice_level = 5;
constexpr size_t batch_count = 64;
constexpr size_t batch_bytes = 1 << 20;
constexpr size_t flush_count = 64;
constexpr size_t metadata_cache_bytes_min = 128 << 10;  // a few pages
constexpr auto nap = std::chrono::milliseconds(10);
constexpr auto after_failure = std::chrono::milliseconds(1000);
constexpr int64_t idle_us = 20'000;        // without a client's write: time to write back
constexpr int64_t quiet_us = 2'000'000;    // time to tidy up
constexpr int64_t save_every_us = 10'000'000;

int64_t now_us() { return base::system_clock().monotonic_us(); }

uint64_t thread_cpu_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_nsec) / 1000;
}

dedup::Profile profile_named(const std::string& name) {
  if (name == "balanced") return dedup::Profile::balanced;
  if (name == "thesis") return dedup::Profile::thesis;
  if (name == "archive") return dedup::Profile::archive;
  throw base::OperationError(base::ErrorCode::bad_value, "unknown dedup profile '" + name + "'");
}

dedup::Options options_at_start(const DedupSettings& settings) {
  auto options = dedup::Options::of(profile_named(settings.profile));
  options.source_cache_bytes = settings.source_cache_bytes;
  options.writeback_cache_bytes = settings.write_back_bytes;
  options.index_bytes_max = settings.index_bytes_max;
  return options;
}

void log_failure(const char* doing, const std::exception& error) {
  base::log(base::Severity::warning, base::LogComponent::storage, log_failed, "Dedup work was put off",
            base::Attributes().add("doing", doing).add("error", error.what()));
}

}  // namespace

std::string database_of(std::string_view ns) { return std::string(ns.substr(0, ns.find('.'))); }

// Whole contents for the encoder. Each in a transaction of its own: one that
// lasted for a batch would make the engine keep what is overwritten meanwhile.
class DedupWorker::Sources : public dedup::RecordSource {
 public:
  explicit Sources(DedupWorker& worker) : worker_(worker) {}

  std::optional<Bytes> fetch(const dedup::ContentId& id) override {
    const auto store = worker_.store_of(id.collection);
    if (!store) return std::nullopt;
    try {
      Transaction transaction(worker_.engine_, Transaction::Mode::read);
      return store->find(transaction, {id.record, id.generation});
    } catch (const base::OperationError&) {
      return std::nullopt;  // damage is for who reads the record to report
    }
  }

 private:
  DedupWorker& worker_;
};

DedupWorker::DedupWorker(Engine& engine, const DedupSettings& settings)
    : engine_(engine), state_(engine), metadata_(MetadataPages::open_table(engine)), enabled_(settings.enabled),
      queue_(settings.queue_bytes), options_(options_at_start(settings)), write_backs_(settings.write_back_bytes), options_in_force_(options_) {}

DedupWorker::~DedupWorker() { stop(); }

void DedupWorker::start() {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void DedupWorker::stop() {
  {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) return;
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  drained_.notify_all();
}

// --- what clients tell it

DedupWorker::Tracked& DedupWorker::track(const std::shared_ptr<Collection>& collection) {
  Tracked& tracked = tracked_[collection->id()];
  if (!tracked.collection) tracked.collection = collection;
  return tracked;
}

void DedupWorker::push(const std::shared_ptr<Collection>& collection, DedupWork work) {
  last_client_us_.store(now_us(), std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  Tracked& tracked = track(collection);
  if (tracked.behind) return;
  if (!enabled_ || !queue_.push(std::move(work))) tracked.behind = true;
}

void DedupWorker::superseded(CollectionId collection, RecordId record, Stamp generation) {
  last_client_us_.store(now_us(), std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  queue_.push({.kind = DedupWork::Kind::superseded, .collection = collection, .record = record, .generation = generation, .content = {}});
}

void DedupWorker::dropped(CollectionId collection) {
  std::lock_guard lock(mutex_);
  tracked_.erase(collection);
  queue_.push({.kind = DedupWork::Kind::dropped, .collection = collection, .content = {}});
}

void DedupWorker::drain(bool tidy) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable() || stopping_) return;
  ++draining_;
  tidying_ += tidy;
  const uint64_t before = idle_rounds_;
  wake_.notify_all();
  // A whole round must have begun after the call.
  drained_.wait(lock, [&] { return stopping_ || idle_rounds_ >= before + 2; });
  --draining_;
  tidying_ -= tidy;
}

void DedupWorker::set_enabled(bool enabled) {
  enabled_ = enabled;
  wake_.notify_all();
}

void DedupWorker::set_queue_bytes(size_t bytes) {
  std::lock_guard lock(mutex_);
  queue_.set_bytes_max(bytes);
}

size_t DedupWorker::queue_bytes() const {
  std::lock_guard lock(mutex_);
  return queue_.bytes_max();
}

dedup::Options DedupWorker::options() const {
  std::lock_guard lock(mutex_);
  return options_;
}

void DedupWorker::set_options(const dedup::Options& options) {
  dedup::validate(options).or_throw();
  std::lock_guard lock(mutex_);
  options_ = options;
  options_changed_ = true;
}

dedup::Sketcher DedupWorker::sketcher(const Collection& collection) const {
  return {options(), state_.database(database_of(collection.ns())).seed};
}

DedupFigures DedupWorker::figures() const {
  std::lock_guard lock(mutex_);
  return figures_;
}

DedupWorker::QueueFigures DedupWorker::queue_figures() const {
  std::lock_guard lock(mutex_);
  QueueFigures figures{queue_.size() + in_hand_, queue_.bytes(), queue_.dropped(), queue_.refused(), 0};
  for (const auto& [id, tracked] : tracked_) figures.behind += tracked.behind;
  return figures;
}

// --- the thread

void DedupWorker::run() {
  const base::LogContext context("dedup");
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice_level);
  try {
    load();
  } catch (const std::exception& error) {
    log_failure("loading", error);
  }
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    bool worked = false;
    auto rest = nap;
    try {
      worked = step();
    } catch (const std::exception& error) {
      log_failure("working", error);
      rest = after_failure;
      std::lock_guard lock(mutex_);
      in_hand_ = 0;
    }
    own_.cpu_micros = thread_cpu_us();
    std::unique_lock lock(mutex_);
    if (worked) continue;
    ++idle_rounds_;
    drained_.notify_all();
    if (!stopping_ && draining_ == 0) wake_.wait_for(lock, rest);
  }
  try {
    flush(true);
    save(true);
  } catch (const std::exception& error) {
    log_failure("stopping", error);
  }
  in_use_.clear();
  partitions_.clear();
  std::lock_guard lock(mutex_);
  tracked_.clear();
}

bool DedupWorker::step() {
  bool draining = false, tidying = false;
  {
    std::lock_guard lock(mutex_);
    draining = draining_ > 0;
    tidying = tidying_ > 0;
  }
  take_options();
  if (encode_queued()) {
    // Under load the cache fills first, so that what is written are the best of many.
    if (write_backs_.bytes() > options_in_force_.writeback_cache_bytes / 2) flush(false);
    return true;
  }
  const int64_t quiet_for = now_us() - last_client_us_.load(std::memory_order_relaxed);
  if ((quiet_for > idle_us || draining || write_backs_.bytes() > options_in_force_.writeback_cache_bytes / 2) && flush(false)) return true;
  if (catch_up()) return true;
  if (splice_some()) return true;
  if (save(draining || quiet_for > quiet_us)) return true;
  if (tidying || quiet_for > quiet_us) return tidy(tidying);
  return false;
}

namespace {

// What was stored may be seconds older than a crash. The collection's own counts
// are exact; what they have more than these was written since, and whole.
// `meanwhile`: what this run has counted already.
StoreCounts counts_at_start(const Collection& collection, StoreCounts stored, const StoreCounts& meanwhile) {
  const int64_t written_since = collection.logical_bytes() - meanwhile.logical_bytes - stored.logical_bytes;
  stored.records = collection.record_count() - meanwhile.records;
  stored.logical_bytes += written_since;
  stored.raw_bytes += written_since;
  return stored;
}

}  // namespace

// Where the last run stopped. Whatever came in since, unseen, is read through.
void DedupWorker::load() {
  for (const auto& database : engine_.catalog().databases()) {
    for (const auto& collection : engine_.catalog().collections(database)) {
      if (collection->read_only()) continue;
      const auto stored = state_.collection(collection->id());
      auto& store = collection->records().state();
      store.chains.counters().add(counts_at_start(*collection, stored ? stored->counts : StoreCounts{}, store.chains.counters().get()));
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      Tracked& tracked = track(collection);
      tracked.saved = stored ? stored->encoded : 0;
      if (tracked.encoded > tracked.saved) continue;  // already at work
      tracked.encoded = tracked.saved;
      if (store.next_id.load() - 1 > tracked.encoded) tracked.behind = true;
    }
  }
}

std::shared_ptr<Collection> DedupWorker::collection_of(CollectionId id) const {
  std::lock_guard lock(mutex_);
  const auto found = tracked_.find(id);
  return found == tracked_.end() || found->second.collection->dropped() ? nullptr : found->second.collection;
}

std::shared_ptr<ChainStore> DedupWorker::store_of(CollectionId id) {
  auto& collection = in_use_[id];
  if (!collection) collection = collection_of(id);
  if (!collection || collection->dropped()) {
    in_use_.erase(id);
    return nullptr;
  }
  return {collection, &collection->records().state().chains};
}

// The first databases get most of the caches; more of them share what a budget of one would be.
dedup::Options DedupWorker::options_of_partition(size_t share) const {
  dedup::Options options = options_in_force_;
  options.source_cache_bytes /= share;
  options.metadata_cache_bytes = std::max(options.metadata_cache_bytes / share, metadata_cache_bytes_min);
  return options;
}

void DedupWorker::take_options() {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(options_changed_, false)) return;
    options_in_force_ = options_;
  }
  for (auto& [name, part] : partitions_) part->encoder->set_options(options_of_partition(part->share));
  write_backs_.set_bytes_max(options_in_force_.writeback_cache_bytes);
}

DedupWorker::Partition& DedupWorker::partition(const std::string& database) {
  if (const auto found = partitions_.find(database); found != partitions_.end()) return *found->second;
  const DatabaseState stored = state_.database(database);
  auto made = std::make_unique<Partition>();
  made->share = partitions_.size() + 1;
  made->pages = std::make_unique<MetadataPages>(engine_, metadata_, stored.number);
  made->encoder = std::make_unique<dedup::Encoder>(options_of_partition(made->share), stored.seed, *made->pages);
  const int64_t start = now_us();
  made->encoder->rebuild();
  made->rebuild_ms = (now_us() - start) / 1000;
  const auto stats = made->encoder->stats();
  if (stats.live_entries > 0) {
    base::log(base::Severity::info, base::LogComponent::storage, log_rebuilt, "Feature index rebuilt",
              base::Attributes().add("db", database).add("records", stats.live_entries).add("indexBytes", uint64_t{stats.index_bytes})
                  .add("durationMillis", made->rebuild_ms));
  }
  return *partitions_.emplace(database, std::move(made)).first->second;
}

// --- encoding

void DedupWorker::encode_content(Collection& collection, const dedup::ContentId& id, BytesView content, Sources& sources) {
  Partition& part = partition(database_of(collection.ns()));
  part.dirty = true;
  const auto lineage = lineage_of(collection.options().dedup, bson::DocumentView(content));
  auto encoding = part.encoder->encode(id, content, sources, lineage);
  part.log.add(content, encoding);
  for (auto& backward : encoding.write_backs) write_backs_.put(std::move(backward));
}

void DedupWorker::encode(const DedupWork& work, Sources& sources) {
  if (work.kind != DedupWork::Kind::inserted) return forget(work.collection, work.kind == DedupWork::Kind::dropped), void();
  if (!store_of(work.collection)) return;
  Collection& collection = *in_use_[work.collection];
  if (work.content) {
    encode_content(collection, {work.collection, work.record, work.generation}, *work.content, sources);
  } else if (const auto content = sources.fetch({work.collection, work.record, work.generation})) {
    ++own_.caught_up;
    encode_content(collection, {work.collection, work.record, work.generation}, *content, sources);
  }
}

bool DedupWorker::encode_queued() {
  std::deque<DedupWork> batch;
  bool pressed = false;
  {
    std::lock_guard lock(mutex_);
    // Only when names are about to be refused: what was merely put off is read back.
    pressed = queue_.size() > queue_.count_max() / 2;
    batch = queue_.take(batch_count, batch_bytes);
    in_hand_ = batch.size();
  }
  if (batch.empty()) return false;
  for (auto& [name, part] : partitions_) part->encoder->set_pressure(pressed);
  Sources sources(*this);
  std::unordered_map<CollectionId, RecordId> seen;
  for (const auto& work : batch) {
    if (work.kind == DedupWork::Kind::superseded) {
      const dedup::ContentId id{work.collection, work.record, work.generation};
      write_backs_.invalidate(id);
      if (!store_of(work.collection)) continue;
      const auto part = partitions_.find(database_of(in_use_[work.collection]->ns()));
      if (part != partitions_.end()) part->second->encoder->forget(id);
      continue;
    }
    encode(work, sources);
    if (work.kind == DedupWork::Kind::inserted) seen[work.collection] = std::max(seen[work.collection], work.record);
  }
  {
    std::lock_guard lock(mutex_);
    for (const auto& [collection, record] : seen) {
      const auto found = tracked_.find(collection);
      if (found != tracked_.end()) found->second.encoded = std::max(found->second.encoded, record);
    }
  }
  publish(false);
  {
    std::lock_guard lock(mutex_);
    in_hand_ = 0;  // only now: who watches the queue must see what it has become
  }
  tidy_done_ = false;
  return true;
}

void DedupWorker::forget(CollectionId collection, bool dropped) {
  if (!dropped) return;
  write_backs_.invalidate_collection(collection);
  in_use_.erase(collection);
  // Which database it was in is no longer known; the others have nothing of it.
  for (auto& [name, part] : partitions_) {
    part->encoder->forget_collection(collection);
    part->dirty = true;
  }
  in_transaction(engine_, [&](Transaction& transaction) { state_.remove(transaction, collection); });
}

// Reads on where the queue gave up, or a restart began.
bool DedupWorker::catch_up() {
  if (!enabled_) return false;
  std::shared_ptr<Collection> collection;
  RecordId from = 0;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, tracked] : tracked_) {
      if (!tracked.behind || tracked.collection->dropped()) continue;
      collection = tracked.collection;
      from = tracked.encoded;
      break;
    }
  }
  if (!collection) return false;
  if (!store_of(collection->id())) return false;
  RecordId reached = from;
  size_t count = 0, bytes = 0;
  bool end = false;
  std::vector<std::pair<dedup::ContentId, Bytes>> contents;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    RecordCursor cursor = collection->records().cursor(transaction);
    cursor.seek_after(from);
    while (count < 4 * batch_count && bytes < batch_bytes) {
      if (!cursor.next()) {
        end = true;
        break;
      }
      ++count;
      reached = cursor.id();
      try {
        if (!cursor.whole()) continue;
        contents.emplace_back(dedup::ContentId{collection->id(), reached, cursor.generation()}, cursor.content());
        bytes += contents.back().second.size();
      } catch (const base::OperationError& error) {
        if (error.code() != base::ErrorCode::data_corruption_detected) throw;  // damage is for validate to report
      }
    }
  }
  Sources sources(*this);
  for (const auto& [id, content] : contents) {
    ++own_.caught_up;
    encode_content(*collection, id, content, sources);
  }
  if (write_backs_.bytes() > options_in_force_.writeback_cache_bytes / 2) flush(false);
  {
    std::lock_guard lock(mutex_);
    const auto found = tracked_.find(collection->id());
    if (found == tracked_.end()) return true;
    found->second.encoded = std::max(found->second.encoded, reached);
    // What is committed from here on is queued; what was committed since the
    // snapshot has higher ids, or a few late ones are left as they are.
    if (end && collection->records().state().next_id.load() - 1 <= reached) found->second.behind = false;
    if (end && count == 0) found->second.behind = false;  // ids that were never committed
  }
  publish(false);
  tidy_done_ = false;
  return true;
}

// --- writing back

bool DedupWorker::flush(bool everything) {
  bool any = false;
  do {
    const auto batch = write_backs_.take_best(flush_count);
    if (batch.empty()) break;
    any = true;
    own_.write_back_in_hand = batch.size();
    flush_write_backs(engine_, batch, [this](CollectionId id) { return store_of(id); }, own_.write_back);
  } while (everything || write_backs_.bytes() > options_in_force_.writeback_cache_bytes / 4);
  own_.write_back_in_hand = 0;
  if (any) publish(false);
  return any;
}

bool DedupWorker::splice_some() {
  std::vector<std::shared_ptr<Collection>> collections;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, tracked] : tracked_) collections.push_back(tracked.collection);
  }
  bool any = false;
  for (const auto& collection : collections) {
    for (const auto& dead : collection->records().state().take_dead()) {
      const auto store = store_of(collection->id());
      if (!store) break;
      try {
        const bool spliced = in_transaction(engine_, [&](Transaction& transaction) { return store->splice(transaction, dead); });
        own_.spliced += spliced;
        any |= spliced;
      } catch (const base::OperationError& error) {
        log_failure("splicing", error);
      }
    }
  }
  if (any) publish(false);
  return any;
}

// --- keeping its place

bool DedupWorker::save(bool everything) {
  const int64_t now = now_us();
  if (!everything && now - saved_us_ < save_every_us) return false;
  struct Place {
    CollectionId id;
    CollectionState state;
  };
  std::vector<Place> places;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, tracked] : tracked_) {
      if (tracked.collection->dropped()) continue;
      const StoreCounts counts = tracked.collection->records().state().chains.counters().get();
      if (tracked.encoded != tracked.saved || counts != tracked.saved_counts) places.push_back({id, {tracked.encoded, counts}});
    }
  }
  bool dirty = false;
  for (auto& [name, part] : partitions_) dirty |= part->dirty || part->pages->changed();
  if (places.empty() && !dirty) return false;
  saved_us_ = now;
  for (auto& [name, part] : partitions_) {
    if (part->dirty) part->encoder->flush();
    part->dirty = false;
  }
  // One transaction: where encoding goes on, and what it can find, fit together.
  in_transaction(engine_, [&](Transaction& transaction) {
    for (auto& [name, part] : partitions_) part->pages->write(transaction);
    for (const auto& place : places) state_.put(transaction, place.id, place.state);
  });
  for (auto& [name, part] : partitions_) part->pages->written();
  {
    std::lock_guard lock(mutex_);
    for (const auto& place : places) {
      const auto found = tracked_.find(place.id);
      if (found == tracked_.end()) continue;
      found->second.saved = place.state.encoded;
      found->second.saved_counts = place.state.counts;
    }
  }
  publish(everything);
  // Collections that were dropped or fell silent need not be held.
  in_use_.clear();
  return false;
}

bool DedupWorker::tidy(bool now) {
  if (tidy_done_ || (!now && now_us() - tidied_us_ < quiet_us)) return false;
  std::vector<std::shared_ptr<Collection>> collections;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, tracked] : tracked_) collections.push_back(tracked.collection);
  }
  std::lock_guard packing(packing_);
  TablePacker packer(engine_);
  bool any = false;
  for (const auto& collection : collections) {
    if (collection->dropped()) continue;
    any |= packer.tidy(collection->records().state().chains, [this, now] {
      std::lock_guard lock(mutex_);
      return stopping_ || (!now && queue_.size() > 0);
    });
  }
  any |= packer.compact_if_worth("feature_metadata");
  own_.packed_records += packer.packed();
  own_.compactions += packer.compactions();
  tidied_us_ = now_us();
  tidy_done_ = !any;
  if (any) publish(true);
  return any;
}

void DedupWorker::tidy(Collection& collection, const std::function<void()>& interrupted) {
  std::lock_guard packing(packing_);
  TablePacker packer(engine_);
  packer.tidy(collection.records().state().chains, [&] {
    if (interrupted) interrupted();
    return false;
  });
}

void DedupWorker::publish(bool with_open_batches) {
  std::map<std::string, DedupFigures::Database> databases;
  for (const auto& [name, part] : partitions_) {
    databases[name] = {part->encoder->stats(), with_open_batches ? part->log.figures_now() : part->log.figures(), part->rebuild_ms};
  }
  own_.write_back_records = write_backs_.size() + own_.write_back_in_hand;
  own_.write_back_bytes = write_backs_.bytes();
  own_.write_back_discarded = write_backs_.discarded();
  own_.write_back_discarded_bytes = write_backs_.discarded_bytes();
  std::lock_guard lock(mutex_);
  figures_ = own_;
  figures_.databases = std::move(databases);
}

}  // namespace storage
