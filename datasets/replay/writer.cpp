#include "datasets/replay/writer.h"

#include <algorithm>
#include <chrono>

#include "bson/builder.h"
#include "datasets/replay/acknowledged_log.h"
#include "datasets/replay/client.h"

namespace datasets::replay {
namespace {

using datasets::Item;

class Stopwatch {
 public:
  uint64_t us() const {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun_).count());
  }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

bson::Document by_id(const bson::ValueView& id) {
  bson::Builder filter;
  filter.append("_id", id);
  return filter.done();
}

}  // namespace

Writer::Writer(const WriterOptions& options, Ledger& ledger, Measured& measured, AcknowledgedLog* log)
    : options_(options), ledger_(ledger), measured_(measured), log_(log) {
  for (int i = 0; i < std::max(1, options_.connections); ++i) threads_.emplace_back([this] { work(); });
}

Writer::~Writer() {
  {
    const base::MutexLock lock(mutex_);
    closing_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Writer::put(Item item) {
  const bool rewrites = item.op != Item::Op::insert;
  const size_t bytes = item.document.size();
  if (!batch_.empty() && (rewrites != batch_rewrites_ || batch_bytes_ + bytes > options_.batch_bytes)) dispatch();
  batch_rewrites_ = rewrites;
  batch_bytes_ += bytes;
  batch_.push_back(std::move(item));
  if (batch_.size() >= options_.batch_documents) dispatch();
}

void Writer::dispatch() {
  if (batch_.empty()) return;
  base::MutexLock lock(mutex_);
  auto wait_for = [&](auto condition) REQUIRES(mutex_) {
    changed_.wait(lock, [&]() REQUIRES(mutex_) { return failure_ || condition(); });
    if (failure_) std::rethrow_exception(failure_);
  };
  if (batch_rewrites_) wait_for([&]() REQUIRES(mutex_) { return in_flight_ == 0; });
  wait_for([&]() REQUIRES(mutex_) { return queue_.size() < threads_.size(); });
  queue_.push_back(std::exchange(batch_, {}));
  batch_bytes_ = 0;
  ++in_flight_;
  changed_.notify_all();
  if (batch_rewrites_) wait_for([&]() REQUIRES(mutex_) { return in_flight_ == 0; });
}

void Writer::barrier() {
  dispatch();
  base::MutexLock lock(mutex_);
  changed_.wait(lock, [&]() REQUIRES(mutex_) { return failure_ || in_flight_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void Writer::work() {
  try {
    Client client(options_.uri);
    for (;;) {
      Batch batch;
      {
        base::MutexLock lock(mutex_);
        changed_.wait(lock, [&]() REQUIRES(mutex_) { return closing_ || !queue_.empty(); });
        if (closing_) return;
        batch = std::move(queue_.front());
        queue_.pop_front();
      }
      changed_.notify_all();
      send(client, batch);
      {
        const base::MutexLock lock(mutex_);
        --in_flight_;
      }
      changed_.notify_all();
    }
  } catch (...) {
    {
      const base::MutexLock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    changed_.notify_all();
  }
}

bool Writer::take_operation() {
  return operations_.fetch_add(1, std::memory_order_relaxed) < options_.operations_max;
}

// An insert command has one collection.
void Writer::send(Client& client, const Batch& batch) {
  std::vector<const Item*> left;
  for (const Item& item : batch) {
    if (item.op == Item::Op::insert)
      left.push_back(&item);
    else
      rewrite(client, item);
  }
  while (!left.empty()) {
    const auto others = std::stable_partition(left.begin(), left.end(),
                                              [&](const Item* item) { return item->collection == left.front()->collection; });
    insert(client, {left.begin(), others});
    left.erase(left.begin(), others);
  }
}

void Writer::insert(Client& client, const std::vector<const Item*>& items) {
  std::vector<bson::DocumentView> documents;
  documents.reserve(items.size());
  for (const Item* item : items) documents.push_back(item->document);
  const Stopwatch watch;
  const std::vector<WriteFailure> failures = client.insert(options_.db, items.front()->collection, documents);
  const uint64_t took_us = watch.us();
  measured_.insert_us.record(took_us);
  measured_.slowest_insert_us.record(took_us);
  if (!failures.empty() && options_.stop_on_failure)
    throw ClientError("an insert was refused: " + failures.front().message, static_cast<uint32_t>(failures.front().code));

  std::vector<bool> refused(items.size());
  for (const WriteFailure& failure : failures) {
    if (failure.index < refused.size()) refused[failure.index] = true;
  }
  std::string lines;
  for (size_t i = 0; i < items.size(); ++i) {
    if (refused[i])
      measured_.failed.add();
    else
      acknowledged(*items[i], log_ ? &lines : nullptr);
  }
  if (log_) log_->append(lines);
  operations_.fetch_add(items.size(), std::memory_order_relaxed);
  const bool reads = options_.trace != Trace::insert && options_.trace != Trace::wiki;  // WikiMix reads by itself
  for (size_t i = 0; i < items.size() && reads; ++i) {
    if (!refused[i]) read_back(client, *items[i]);
  }
}

void Writer::rewrite(Client& client, const Item& item) {
  const bool found = item.op == Item::Op::replace ? client.replace(options_.db, item.collection, item.document)
                                                  : client.remove(options_.db, item.collection, item.document);
  operations_.fetch_add(1, std::memory_order_relaxed);
  if (!found) {
    if (options_.stop_on_failure) throw ClientError("a document to replace or remove doesn't exist", 0);
    return measured_.failed.add();
  }
  std::string lines;
  acknowledged(item, log_ ? &lines : nullptr);
  if (log_) log_->append(lines);
}

void Writer::acknowledged(const Item& item, std::string* lines) {
  const bool removed = item.op == Item::Op::remove;
  const bson::Element id = item.document.find("_id");
  const uint64_t hash = removed ? removed_hash : document_hash(item.document);
  ledger_.add(id_hash(item.collection, id), hash);
  if (lines) *lines += to_line({hash, item.collection, bson::Value(id)});
  (item.op == Item::Op::insert ? measured_.documents : removed ? measured_.removed : measured_.replaced).add();
  measured_.logical_bytes.add(static_cast<int64_t>(item.logical_bytes()));
  measured_.text_bytes.add(static_cast<int64_t>(item.text_bytes));
}

void Writer::read_back(Client& client, const Item& item) {
  const bson::Element id = item.document.find("_id");
  const bool whole_thread = options_.trace == Trace::threads;
  uint64_t times = 1;
  if (whole_thread) times = item.views ? item.views : static_cast<uint64_t>(options_.reads_per_insert);
  if (options_.trace == Trace::views) times = item.views;
  bson::Document filter = by_id(id);
  if (whole_thread) {
    const bson::Element thread = item.document.find("thread");
    if (!thread.is_object()) return;
    bson::Builder posts;
    posts.append("thread.id", static_cast<bson::ValueView>(thread.as_document().find("id")));
    filter = posts.done();
  }
  for (; times > 0 && take_operation(); --times) {
    const Stopwatch watch;
    bool found = false;
    const uint64_t count = client.find(options_.db, item.collection, filter, bson::Document(), [&](bson::DocumentView document) {
      found = found || document.bytes() == item.document.bytes();
    });
    measured_.read_us.record(watch.us());
    measured_.reads.add();
    measured_.documents_read.add(static_cast<int64_t>(count));
    if (!found) measured_.reads_wrong.add();
  }
}

}  // namespace datasets::replay
