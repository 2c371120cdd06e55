// A Writer writes items to a server in batches, over several connections at once.
//
//   loader thread --put()--> batch --queue--> connection thread --> server
//
// Inserts may overtake each other by a batch. Items that replace or remove wait for all items before them, and the items after
// them wait, too.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "datasets/loader.h"
#include "datasets/replay/ledger.h"
#include "datasets/replay/measured.h"
#include "datasets/replay/trace.h"

namespace datasets::replay {

class AcknowledgedLog;
class Client;

struct WriterOptions {
  std::string uri;
  std::string db;
  size_t batch_documents = 100;
  size_t batch_bytes = 1 << 20;
  int connections = 2;
  Trace trace = Trace::insert;  // the reads that follow an insert
  int reads_per_insert = 1;     // thread reads where the data has no view counts
  uint64_t operations_max = UINT64_MAX;
  bool stop_on_failure = true;  // else refused documents are counted and skipped
};

// One thread calls put(), barrier() and finish(); they throw what went wrong on a
// connection.
class Writer {
 public:
  Writer(const WriterOptions& options, Ledger& ledger, Measured& measured, AcknowledgedLog* log);
  ~Writer();

  void put(datasets::Item item);

  // Waits until everything that was put so far is acknowledged.
  void barrier();

  // Returns the operations so far, with the reads.
  uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }

 private:
  using Batch = std::vector<datasets::Item>;

  void dispatch();
  void work();
  void send(Client& client, const Batch& batch);
  void insert(Client& client, const std::vector<const datasets::Item*>& items);
  void rewrite(Client& client, const datasets::Item& item);
  void acknowledged(const datasets::Item& item, std::string* lines);
  void read_back(Client& client, const datasets::Item& item);
  bool take_operation();

  const WriterOptions options_;
  Ledger& ledger_;
  Measured& measured_;
  AcknowledgedLog* log_;

  Batch batch_;
  size_t batch_bytes_ = 0;
  bool batch_rewrites_ = false;

  base::Mutex mutex_;
  base::Condition changed_;
  std::deque<Batch> queue_ GUARDED_BY(mutex_);
  size_t in_flight_ GUARDED_BY(mutex_) = 0;
  bool closing_ GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
  std::atomic<uint64_t> operations_{0};
  std::vector<std::thread> threads_;
};

}  // namespace datasets::replay
