#include "storage/background/dedup_worker.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "storage/background/dedup_worker_sources.h"
#include "storage/background/recount.h"
#include "storage/background/table_packer.h"
#include "storage/contents/chain_cut.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/internals.h"
#include "storage/engine/names.h"

namespace storage {

namespace {

constexpr int log_failed = 7200201;
constexpr int log_rebuilt = 7200202;

constexpr int nice_level = 5;
constexpr size_t batch_count = 64;
constexpr size_t batch_bytes = 1 << 20;
constexpr size_t flush_count = 64;
constexpr size_t metadata_cache_bytes_min = 128 << 10;  // This is enough for a few pages.
constexpr auto nap_min = std::chrono::milliseconds(10);
constexpr auto nap_max = std::chrono::milliseconds(500);  // Reads wake nobody, so the worker notices them at most this late.
constexpr int nap_share = 40;                             // A nap lasts 1/40 of the time for which there was nothing to do.
constexpr auto after_failure = std::chrono::milliseconds(1000);
constexpr int64_t quiet_us = 2'000'000;  // After this time without writes the worker tidies up.
constexpr int64_t save_every_us = 10'000'000;

int64_t now_us() {
  return base::system_clock().monotonic_us();
}

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

void add(dedup::EncoderStats& sum, const dedup::EncoderStats& one) {
  sum.contents += one.contents;
  sum.content_bytes += one.content_bytes;
  sum.encoded += one.encoded;
  sum.unique += one.unique;
  sum.filtered += one.filtered;
  sum.disabled += one.disabled;
  sum.not_worth += one.not_worth;
  sum.forward_bytes += one.forward_bytes;
  sum.saved_bytes += one.saved_bytes;
  sum.write_backs += one.write_backs;
  sum.hop_write_backs += one.hop_write_backs;
  sum.improved_write_backs += one.improved_write_backs;
  sum.candidates += one.candidates;
  sum.false_matches += one.false_matches;
  sum.source_hits += one.source_hits;
  sum.source_fetches += one.source_fetches;
  sum.sources_gone += one.sources_gone;
  sum.live_entries += one.live_entries;
  sum.demoted += one.demoted;
  sum.promoted += one.promoted;
  sum.demoted_at_once += one.demoted_at_once;
  sum.index_records += one.index_records;
  sum.index_live_bytes += one.index_live_bytes;
  sum.index_grown += one.index_grown;
  sum.index_forgotten += one.index_forgotten;
  sum.index_thinned += one.index_thinned;
  sum.index_bytes += one.index_bytes;
  sum.metadata_bytes += one.metadata_bytes;
  sum.source_cache_bytes += one.source_cache_bytes;
  // If any encoder is disabled, its governor's state is the one to report.
  if (sum.enabled) sum.governor = one.governor;
  sum.enabled &= one.enabled;
  sum.size_threshold = std::max(sum.size_threshold, one.size_threshold);
}

DedupWorker::DedupWorker(Contents& contents, const Catalog& catalog, const DedupSettings& settings)
    : contents_(contents),
      engine_(contents.engine),
      catalog_(catalog),
      server_profile_(settings.profile),
      state_(engine_),
      metadata_(MetadataPages::open_table(engine_)),
      enabled_(settings.enabled),
      queue_(settings.queue_bytes),
      options_(options_at_start(settings)),
      write_backs_(settings.write_back_bytes),
      options_in_force_(options_) {
  contents_.read_limits.set(options_);
  contents_.hop_bases.set_bytes_max(options_.hop_base_cache_bytes);
}

DedupWorker::~DedupWorker() {
  stop();
}

void DedupWorker::start() {
  load();                        // This must come before a client can write, because old work comes before new work.
  std::lock_guard lock(mutex_);  // drain() checks whether there is a thread.
  thread_ = std::thread([this] { run(); });
}

void DedupWorker::stop() {
  std::thread ended;
  {
    std::lock_guard lock(mutex_);
    // The lock is needed here, because drain() checks whether there is a thread, and join() changes the answer.
    if (!thread_.joinable()) return;
    ended.swap(thread_);
    stopping_ = true;
  }
  wake_.notify_all();
  ended.join();
  drained_.notify_all();
}

// --- calls by clients

DedupWorker::Tracked& DedupWorker::track(const std::shared_ptr<Collection>& collection) {
  Tracked& tracked = tracked_[collection->id()];
  if (!tracked.collection) tracked.collection = collection;
  return tracked;
}

bool DedupWorker::Tracked::behind() const {
  return collection->records().state().behind();
}

bool DedupWorker::wants(const Collection& collection, size_t bytes) const {
  return enabled_.load(std::memory_order_relaxed) && queue_.has_room(bytes) &&
         !const_cast<Collection&>(collection).records().state().behind();
}

void DedupWorker::push(const std::shared_ptr<Collection>& collection, DedupWork work) {
  last_client_us_.store(now_us(), std::memory_order_relaxed);
  auto& state = collection->records().state();
  if (!state.tracked.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    track(collection);
    state.tracked.store(true, std::memory_order_release);
  }
  if (!collection->options().dedup.enabled) return;
  const RecordId record = work.record;
  const bool written = work.kind == DedupWork::Kind::written;
  const Stamp generation = work.generation, previous = work.previous;
  const bool queued = !state.behind() && enabled_.load(std::memory_order_relaxed) && queue_.push(std::move(work));
  // Catching up reads new records; the new content of an old record is found by a pass over all records.
  if (!queued && written && previous) state.miss(generation);
  if (!queued && written && !previous) state.fall_behind(record);
  wake();
}

void DedupWorker::dropped(CollectionId collection) {
  std::lock_guard lock(mutex_);
  tracked_.erase(collection);
  queue_.push({.kind = DedupWork::Kind::dropped, .collection = collection});
  wake();
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

std::unique_lock<std::mutex> DedupWorker::hold() {
  ++holders_;
  std::unique_lock<std::mutex> held(working_);
  --holders_;
  return held;
}

bool DedupWorker::counted(CollectionId id) const {
  return std::find(to_recount_.begin(), to_recount_.end(), id) == to_recount_.end();
}

void DedupWorker::set_enabled(bool enabled) {
  enabled_ = enabled;
  wake_.notify_all();
}

void DedupWorker::set_queue_bytes(size_t bytes) {
  queue_.set_bytes_max(bytes);
}

size_t DedupWorker::queue_bytes() const {
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
  contents_.read_limits.set(options);
  contents_.hop_bases.set_bytes_max(options.hop_base_cache_bytes);
  options_changed_ = true;
}

DedupFigures DedupWorker::figures() const {
  std::lock_guard lock(mutex_);
  return figures_;
}

DedupWorker::QueueFigures DedupWorker::queue_figures() const {
  std::lock_guard lock(mutex_);
  QueueFigures figures{queue_.size() + in_hand_, queue_.bytes(), queue_.dropped(), queue_.refused(), 0};
  for (const auto& [id, tracked] : tracked_) figures.behind += tracked.behind();
  return figures;
}

// --- the thread

void DedupWorker::run() {
  const base::LogContext context("dedup");
  pthread_setname_np(pthread_self(), "dedup");
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice_level);
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    bool worked = false;
    std::chrono::microseconds least = nap_min;
    try {
      while (holders_ > 0)
        // Without this sleep the waiting threads would hardly ever get the lock.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::lock_guard working(working_);
      worked = step();
    } catch (const std::exception& error) {
      log_failure("working", error);
      least = after_failure;
      in_hand_ = 0;
    }
    own_.cpu_micros = thread_cpu_us();
    if (worked) {
      worked_us_ = now_us();
      rest();
      continue;
    }
    burst_.over(now_us());
    std::unique_lock lock(mutex_);
    ++idle_rounds_;
    drained_.notify_all();
    if (!stopping_ && draining_ == 0) nap(lock, least);
  }
  try {
    flush(true);
    leave_queued();
    save(true);
    if (to_recount_.empty()) state_.end_run();
  } catch (const std::exception& error) {
    log_failure("stopping", error);
  }
  in_use_.clear();
  partitions_.clear();
  std::lock_guard lock(mutex_);
  tracked_.clear();
}

void DedupWorker::nap(std::unique_lock<std::mutex>& lock, std::chrono::microseconds least) {
  const std::chrono::microseconds idle(now_us() - std::max(worked_us_, last_client_us_.load(std::memory_order_relaxed)));
  const auto length = std::max(least, std::clamp<std::chrono::microseconds>(idle / nap_share, nap_min, nap_max));
  napping_ = true;
  // If a thread pushed before it saw `napping_`, its work is noticed here. A wake-up before the wait begins is lost, which costs
  // one nap.
  if (queue_.size() == 0 || least > nap_min) wake_.wait_for(lock, length);
  napping_ = false;
}

void DedupWorker::wake() {
  if (napping_.load() && napping_.exchange(false)) wake_.notify_all();
}

// This function lets other threads that want the CPU go first, and waits while a burst of writes lasts.
void DedupWorker::rest() {
  const auto wanted = pace_.rest();
  std::unique_lock lock(mutex_);
  const auto called = [&] { return stopping_ || draining_ > 0 || !asked_.empty(); };
  const int64_t begun = now_us();
  if (wanted.count() > 0 && begun - last_client_us_.load(std::memory_order_relaxed) <= WriteBurst::idle_us) {
    wake_.wait_for(lock, wanted, called);
    own_.rested_micros += static_cast<uint64_t>(now_us() - begun);
  }
  while (burst_lasts() && !called()) wake_.wait_for(lock, std::chrono::microseconds(WriteBurst::idle_us), called);
}

bool DedupWorker::burst_lasts() {
  const bool behind = std::any_of(tracked_.begin(), tracked_.end(), [](const auto& one) { return one.second.behind(); });
  return burst_.lasts(now_us(), last_client_us_.load(std::memory_order_relaxed), {queue_.size(), behind});
}

bool DedupWorker::step() {
  bool draining = false, tidying = false, asked = false;
  {
    std::lock_guard lock(mutex_);
    draining = draining_ > 0;
    tidying = tidying_ > 0;
    asked = !asked_.empty();
  }
  take_options();
  if (encode_queued()) {
    // Under load the cache fills first, so that the deltas that are written are the best of many.
    if (write_backs_.bytes() > options_in_force_.writeback_cache_bytes / 2) flush(false);
    if (asked) cold_some(true);
    return true;
  }
  const int64_t quiet_for = now_us() - last_client_us_.load(std::memory_order_relaxed);
  const bool quiet = quiet_for > quiet_us;
  if ((quiet_for > WriteBurst::idle_us || draining || write_backs_.bytes() > options_in_force_.writeback_cache_bytes / 2) &&
      flush(false))
    return true;
  if (catch_up()) return true;
  if (promote_some()) return true;
  if (splice_some()) return true;
  if (save(draining || quiet)) return true;
  if ((draining || quiet) && recount_some()) return true;
  if ((tidying || quiet) && sweep(tidying)) return true;
  if ((asked || tidying || quiet) && cold_some(!tidying && !quiet)) return true;
  return (tidying || quiet) && tidy(tidying);
}

namespace {

// The stored counts may be seconds older than a crash. The collection's own counts are exact; the records that they count in
// addition were written since then, and are stored whole.
StoreCounts counts_at_start(const Collection& collection, StoreCounts stored) {
  const int64_t written_since = collection.stored_bytes() - stored.logical_bytes;
  stored.records = collection.stored_records();
  stored.logical_bytes += written_since;
  stored.raw_bytes += written_since;
  return stored;
}

}  // namespace

// This function restores the place at which the last run stopped. Contents that were written since then without being encoded are
// read through.
void DedupWorker::load() {
  const bool crashed = state_.begin_run();
  for (const auto& database : catalog_.databases()) {
    for (const auto& collection : catalog_.collections(database)) {
      if (collection->read_only()) continue;
      const auto stored = state_.collection(collection->id());
      auto& store = collection->records().state();
      store.chains.counters().add(counts_at_start(*collection, stored ? stored->counts : StoreCounts{}));
      std::lock_guard lock(mutex_);
      Tracked& tracked = track(collection);
      tracked.encoded = tracked.saved = stored ? stored->encoded : 0;
      if (stored) {
        tracked.seen = stored->seen;
        tracked.saved_missed = stored->missed_from;
        // After a crash the worker must look again at all updates since the last saved moment at which all updates had been
        // looked at.
        store.miss(crashed ? std::min(stored->seen, stored->missed_from) : stored->missed_from);
      }
      if (crashed) to_recount_.push_back(collection->id());
      if (collection->options().dedup.enabled && store.next_id.load() - 1 > tracked.encoded)
        store.fall_behind(tracked.encoded + 1);
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

std::string DedupWorker::profile_of(const Collection& collection) const {
  const std::string& own = collection.options().dedup.profile;
  return own.empty() ? server_profile_ : own;
}

// The features of one profile mean nothing to another profile, so their stored metadata is kept apart too.
std::string DedupWorker::partition_name(const Collection& collection) const {
  return std::string(database_of(collection.ns())) + '.' + profile_of(collection);
}

bool DedupWorker::wanted(const Collection& collection) const {
  return enabled_ && collection.options().dedup.enabled;
}

// Options that were set since the start hold for the server's profile. Those about memory, about the length of reads and about
// when a head is cold hold for all profiles; each profile itself decides what happens to a cold head.
dedup::Options DedupWorker::options_of(const std::string& profile, const dedup::Options& server) const {
  if (profile == server_profile_) return server;
  auto options = dedup::Options::of(profile_named(profile));
  options.source_cache_bytes = server.source_cache_bytes;
  options.metadata_cache_bytes = server.metadata_cache_bytes;
  options.writeback_cache_bytes = server.writeback_cache_bytes;
  options.index_bytes_max = server.index_bytes_max;
  options.read_bytes_max = server.read_bytes_max;
  options.read_hops_max = server.read_hops_max;
  options.demote_after_secs = server.demote_after_secs;
  return options;
}

dedup::Sketcher DedupWorker::sketcher(const Collection& collection) const {
  return {options_of(profile_of(collection), options()), state_.database(partition_name(collection)).seed};
}

// The first databases get most of the caches; later ones share what would be the budget of one.
dedup::Options DedupWorker::options_of_partition(const Partition& part) const {
  dedup::Options options = options_of(part.profile, options_in_force_);
  options.source_cache_bytes /= part.share;
  options.metadata_cache_bytes = std::max(options.metadata_cache_bytes / part.share, metadata_cache_bytes_min);
  return options;
}

void DedupWorker::take_options() {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(options_changed_, false)) return;
    options_in_force_ = options_;
  }
  for (auto& [name, part] : partitions_) part->encoder->set_options(options_of_partition(*part));
  for (auto& [id, cold] : colds_) cold.changes = UINT64_MAX;
  write_backs_.set_bytes_max(options_in_force_.writeback_cache_bytes);
}

DedupWorker::Partition& DedupWorker::partition(const Collection& collection) {
  const std::string name = partition_name(collection);
  if (const auto found = partitions_.find(name); found != partitions_.end()) return *found->second;
  const DatabaseState stored = state_.database(name);
  auto made = std::make_unique<Partition>();
  made->database = database_of(collection.ns());
  made->profile = profile_of(collection);
  made->share = partitions_.size() + 1;
  made->pages = std::make_unique<MetadataPages>(engine_, metadata_, stored.number);
  made->encoder = std::make_unique<dedup::Encoder>(options_of_partition(*made), stored.seed, *made->pages);
  const int64_t start = now_us();
  made->encoder->rebuild();
  made->rebuild_ms = (now_us() - start) / 1000;
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

// --- encoding

void DedupWorker::encode_content(Collection& collection, const dedup::ContentId& id, Stamp previous, bool is_base,
                                 BytesView content, Sources& sources) {
  Partition& part = partition(collection);
  part.dirty = true;
  const auto lineage = lineage_of(collection.options().dedup, bson::DocumentView(content));
  dedup::Encoding encoding;
  const dedup::ContentId before{id.collection, id.record, previous};
  // If deltas are based on the old content, it is still stored, as a delta of the new one, which takes its place in the chain. If
  // the old content is gone, or stays only for a declared snapshot, there is nothing special to do: the new content looks for a
  // source like any other.
  const auto placement = is_base ? successor_placement(id) : std::nullopt;
  const auto kept = placement ? sources.fetch(before) : std::nullopt;
  if (kept) {
    ++own_.successors;
    encoding = part.encoder->encode_successor(
        id, content, before, *kept, {placement->chain, placement->ordinal - (placement->ordinal > 0)}, sources, lineage);
  } else {
    encoding = part.encoder->encode(id, content, sources, lineage);
  }
  if (previous) part.encoder->forget(before);
  part.log.add(content, encoding);
  for (auto& backward : encoding.write_backs) {
    if (backward.target == before) continue;
    if (cuts_chain(backward, part.encoder->options().hop_distance, bounds_of(part.encoder->options()))) {
      ++own_.cut;
      continue;
    }
    write_backs_.put(std::move(backward));
  }
}

// This function returns where the chain store put a content that replaced one that deltas are based on.
std::optional<dedup::Placement> DedupWorker::successor_placement(const dedup::ContentId& id) {
  const auto store = store_of(id.collection);
  if (!store) return std::nullopt;
  Transaction transaction(engine_, Transaction::Mode::read);
  return store->placement(transaction, {id.record, id.generation});
}

void DedupWorker::encode(const DedupWork& work, Sources& sources) {
  const dedup::ContentId before{work.collection, work.record, work.previous};
  if (work.previous) write_backs_.invalidate(before);
  if (!store_of(work.collection)) return;
  Collection& collection = *in_use_[work.collection];
  if (work.kind == DedupWork::Kind::removed) {
    const auto part = partitions_.find(partition_name(collection));
    if (part != partitions_.end()) part->second->encoder->forget(before);
    return;
  }
  const dedup::ContentId id{work.collection, work.record, work.generation};
  if (work.content) {
    encode_content(collection, id, work.previous, work.previous_is_base, *work.content, sources);
  } else if (const auto content = sources.fetch(id)) {
    ++own_.caught_up;
    encode_content(collection, id, work.previous, work.previous_is_base, *content, sources);
  }
}

bool DedupWorker::encode_queued() {
  // The worker hurries only when the queue is about to refuse names; contents that were merely put off are read back later.
  const bool pressed = queue_.size() > queue_.count_max() / 2;
  // This comes before `take`, because a thread that watches the queue must see the works somewhere.
  in_hand_ = std::min(batch_count, queue_.size());
  const auto batch = queue_.take(batch_count, batch_bytes);
  in_hand_ = batch.size();
  if (batch.empty()) return false;
  for (auto& [name, part] : partitions_) part->encoder->set_pressure(pressed);
  Sources sources(*this);
  std::unordered_map<CollectionId, RecordId> seen;
  for (const auto& work : batch) {
    if (work.kind == DedupWork::Kind::dropped) {
      forget(work.collection);
      continue;
    }
    encode(work, sources);
    if (work.kind == DedupWork::Kind::written) seen[work.collection] = std::max(seen[work.collection], work.record);
  }
  {
    std::lock_guard lock(mutex_);
    for (const auto& [collection, record] : seen) {
      const auto found = tracked_.find(collection);
      if (found == tracked_.end()) continue;
      // The records that are still to be read through limit the place.
      const RecordId up_to = found->second.collection->records().state().behind_from.load(std::memory_order_relaxed) - 1;
      found->second.encoded = std::max(found->second.encoded, std::min(record, up_to));
    }
  }
  publish(false);
  in_hand_ = 0;  // This comes last, because a thread that watches the queue must see the result.
  tidy_done_ = false;
  return true;
}

void DedupWorker::forget(CollectionId collection) {
  sweeps_.erase(collection);
  colds_.erase(collection);
  {
    std::lock_guard lock(mutex_);
    asked_.erase(collection);
    answered_.erase(collection);
  }
  write_backs_.invalidate_collection(collection);
  in_use_.erase(collection);
  // The collection's database is no longer known, so every encoder is called; the others have nothing of the collection.
  for (auto& [name, part] : partitions_) {
    part->encoder->forget_collection(collection);
    part->dirty = true;
  }
  in_transaction(engine_, [&](Transaction& transaction) { state_.remove(transaction, collection); });
}

// This function reads on from the place where the queue overflowed, or where encoding stopped before a restart.
bool DedupWorker::catch_up() {
  if (!enabled_) return false;
  std::shared_ptr<Collection> collection;
  RecordId from = 0;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, tracked] : tracked_) {
      if (!tracked.behind() || tracked.collection->dropped() || !wanted(*tracked.collection)) continue;
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
        if (error.code() != base::ErrorCode::data_corruption_detected) throw;  // Only validate reports damage.
      }
    }
  }
  Sources sources(*this);
  for (const auto& [id, content] : contents) {
    ++own_.caught_up;
    encode_content(*collection, id, 0, false, content, sources);
  }
  if (write_backs_.bytes() > options_in_force_.writeback_cache_bytes / 2) flush(false);
  {
    std::lock_guard lock(mutex_);
    const auto found = tracked_.find(collection->id());
    if (found == tracked_.end()) return true;
    found->second.encoded = std::max(found->second.encoded, reached);
    // Contents that are committed from here on are queued. Those that were committed since the snapshot have higher ids; a few
    // late ones with lower ids stay as they are.
    if (end) {
      auto& state = collection->records().state();
      // This comes first: a thread that still saw the old value has an id that the next line sees.
      state.behind_from = RecordStore::State::not_behind;
      // If there were no records, the ids were never committed.
      if (count > 0 && state.next_id.load() - 1 > reached) state.fall_behind(reached + 1);
    }
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
    flush_write_backs(
        engine_, batch, [this](CollectionId id) { return store_of(id); }, own_.write_back);
  } while (everything || write_backs_.bytes() > options_in_force_.writeback_cache_bytes / 4);
  own_.write_back_in_hand = 0;
  if (any) publish(false);
  return any;
}

bool DedupWorker::splice_some() {
  const auto collections = collections_where([](Collection& collection) { return collection.records().state().has_dead(); });
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

// This function counts one collection again, and gives up when something more urgent comes.
bool DedupWorker::recount_some() {
  struct Urgent {};
  while (!to_recount_.empty()) {
    const auto collection = collection_of(to_recount_.back());
    try {
      if (collection && !recount(engine_, *collection, [this] {
            std::lock_guard lock(mutex_);
            if (stopping_ || holders_ > 0 || queue_.size() > 0) throw Urgent{};
          }))
        return false;
    } catch (const Urgent&) {
      return true;
    }
    to_recount_.pop_back();
    if (collection) return true;
  }
  return false;
}

// This function does a slice of a pass over one collection that has dead contents. After a pass that changed nothing the next one
// begins only when the number of dead contents has changed. Passes over a collection begin at most once a minute, unless `now`
// is set.
bool DedupWorker::sweep(bool now) {
  constexpr size_t rows_max = 1024;
  constexpr int64_t pass_every_us = 60'000'000;
  const auto dead_of = [](Collection& collection) { return collection.records().state().chains.counters().get().dead; };
  const auto collections =
      collections_where([&](Collection& collection) { return dead_of(collection) > 0 || sweeps_.contains(collection.id()); });
  for (const auto& collection : collections) {
    const int64_t dead = dead_of(*collection);
    Sweep& sweep = sweeps_[collection->id()];
    if (!sweep.on) {
      if (dead == 0 || dead == sweep.dead_at_end) continue;
      if (!now && sweep.begun_us != 0 && now_us() - sweep.begun_us < pass_every_us) continue;
      sweep = {.dead = {}, .begun_us = now_us(), .dead_at_end = sweep.dead_at_end, .spliced = false, .on = true};
    }
    const auto store = store_of(collection->id());
    if (!store) continue;
    DeadSweep::Slice slice;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      slice = sweep.dead.look(*store, transaction, rows_max);
    }
    own_.swept_rows += slice.rows;
    for (const auto& one : slice.found) {
      try {
        const bool spliced = in_transaction(
            engine_, [&](Transaction& transaction) { return store->splice_out(transaction, one.dead, one.dependents); });
        own_.spliced += spliced;
        sweep.spliced |= spliced;
      } catch (const base::OperationError& error) {
        log_failure("splicing", error);
      }
    }
    if (sweep.dead.at_end()) {
      sweep.on = false;
      sweep.dead_at_end = sweep.spliced ? -1 : store->counters().get().dead;
      if (sweep.spliced) tidy_done_ = false;
    }
    publish(false);
    return true;
  }
  return false;
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
  // A content that was committed lately may not be in the queue yet, so the timestamp is two seconds old.
  const Stamp seen = static_cast<Stamp>(base::system_clock().wall_ms() / 1000 - 2) << 32;
  const bool all_seen = queue_.size() == 0;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, tracked] : tracked_) {
      if (tracked.collection->dropped()) continue;
      const StoreCounts counts = tracked.collection->records().state().chains.counters().get();
      const Stamp missed = missed_from(*tracked.collection);
      if (tracked.encoded == tracked.saved && counts == tracked.saved_counts && missed == tracked.saved_missed) continue;
      if (all_seen) tracked.seen = seen;
      places.push_back({id, {tracked.encoded, missed, tracked.seen, counts}});
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
  // One transaction holds both, so that the place at which encoding goes on fits the features that the encoder can find.
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
      found->second.saved_missed = place.state.missed_from;
      found->second.saved_counts = place.state.counts;
    }
  }
  publish(everything);
  // The worker need not hold collections that were dropped or became idle.
  in_use_.clear();
  return false;
}

bool DedupWorker::tidy(bool now) {
  if (tidy_done_ || (!now && now_us() - tidied_us_ < quiet_us)) return false;
  const auto collections = collections_where([](Collection&) { return true; });
  std::lock_guard packing(packing_);
  TablePacker packer(contents_, now);
  bool any = false;
  for (const auto& collection : collections) {
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
  demote_now(collection, interrupted);
  std::lock_guard packing(packing_);
  TablePacker packer(contents_, true);
  const auto ask = [&] {
    if (interrupted) interrupted();
    return false;
  };
  packer.tidy(collection.records().state().chains, ask);
  packer.compact_if_worth("feature_metadata");
  packer.rewrite_if_worth(metadata_, ask);
}

void DedupWorker::publish(bool with_open_batches) {
  std::map<std::string, DedupFigures::Database> databases;
  for (const auto& [name, part] : partitions_) {
    auto& database = databases[part->database];
    add(database.encoder, part->encoder->stats());
    database.log += with_open_batches ? part->log.figures_now() : part->log.figures();
    database.rebuild_ms += part->rebuild_ms;
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
