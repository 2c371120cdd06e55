// A load runs the same operations on several servers, in turns. It compares the cost of settings while the machine does its other
// work.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "bench/data/workload.h"
#include "bench/measure/server.h"
#include "datasets/replay/client.h"

namespace bench::chapter6 {

// A rival is a server that is loaded, with its connection and its measurements.
struct Rival {
  std::string name;
  std::vector<std::string> arguments;  // of palimpsestd
  std::unique_ptr<Server> server;
  std::unique_ptr<datasets::replay::Client> client;
  std::vector<double> rates;   // operations a second, one a round
  std::vector<double> micros;  // latencies of all rounds
  // CPU time an operation in microseconds, one a round: of the threads that answer, of the encoder's, and of all others (the
  // engine's eviction, journal, checkpoints).
  std::vector<double> answering, encoding, others;

  double median_rate() const;
  double median_answering() const;
  double median_encoding() const;
  double median_others() const;
  double quantile(double q) const;  // of the latencies, microseconds
};

// An operation is an insert of records one after another in one command, or a find of these records by _id.
struct Operation {
  bool insert = false;
  std::vector<uint32_t> records;
};

// Decides once which operations there are, and then runs them on every rival. Reads ask for records that were inserted by then.
class Load {
 public:
  // The first records are inserted before it begins.
  Load(const Workload& workload, size_t populate);

  // Chooses pages by popularity (Zipf), and for 99.7 % of the reads their newest version (dbDedup §6.1).
  std::vector<Operation> mixed(size_t operations, double writes);
  std::vector<Operation> inserts(size_t records, uint32_t batch);
  // Follows each insert with reads: of itself once (mail), as often as it was viewed, or of its thread so far.
  enum class Follow { once, views, thread };
  std::vector<Operation> inserts_with_reads(size_t operations, Follow follow);

  // Starts the rival's server and inserts the records that should be there.
  void start(Rival& rival, const std::string& program, const std::string& scratch) const;
  // Runs one round and adds its rate, latencies and CPU times to the rival's.
  void run(Rival& rival, const std::vector<Operation>& operations) const;

 private:
  // Returns how many operations there were, and adds their latencies to `micros`.
  size_t perform(const Rival& rival, const std::vector<Operation>& operations, std::vector<double>* micros) const;
  Operation insert_next(uint32_t count = 1);
  uint32_t popular();

  const Workload& workload_;
  size_t populated_, next_ = 0;
  std::vector<std::vector<uint32_t>> groups_;  // by order of appearance: their records
  std::unordered_map<uint64_t, uint32_t> group_at_;
  base::Random random_{1};
};

// Waits until no server has anything to do any more, `seconds_max` at most: the background work of one would take time from the
// next one's turn.
void wait_until_idle(const std::vector<Rival>& rivals, double seconds_max);

// Runs the next operations `rounds` times, on one rival after the other, beginning with another one each time.
void interleave(const Load& load, std::vector<Rival>& rivals, int rounds, double idle_seconds_max,
                const std::function<std::vector<Operation>()>& next_round);

}  // namespace bench::chapter6
