// The same operations on several servers, in turns: what one setting costs
// against another while the machine does whatever else it does.
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

// Who is loaded: a server with its connection, and what was measured of it.
struct Rival {
  std::string name;
  std::vector<std::string> arguments;  // of palimpsestd
  std::unique_ptr<Server> server;
  std::unique_ptr<datasets::replay::Client> client;
  std::vector<double> rates;   // operations a second, one a round
  std::vector<double> micros;  // latencies of all rounds
  // CPU time an operation, one a round, microseconds: of the threads that answer, of the encoder's, and of all
  // others: the engine's eviction, journal, checkpoints.
  std::vector<double> answering, encoding, others;

  double median_rate() const;
  double median_answering() const;
  double median_encoding() const;
  double median_others() const;
  double quantile(double q) const;  // of the latencies, microseconds
};

// An insert of records one after another in one command, or a find of these records by _id.
struct Operation {
  bool insert = false;
  std::vector<uint32_t> records;
};

// Decides once what is done; then does it to everybody. Reads go to what was inserted by then.
class Load {
 public:
  // The first records are there before it begins.
  Load(const Workload& workload, size_t populate);

  // Pages by popularity (Zipf), 99.7 % of the reads to their newest version (dbDedup §6.1).
  std::vector<Operation> mixed(size_t operations, double writes);
  std::vector<Operation> inserts(size_t records, uint32_t batch);
  // Inserts, each followed by reads: of itself once (mail), as often as it was viewed, or of its thread so far.
  enum class Follow { once, views, thread };
  std::vector<Operation> inserts_with_reads(size_t operations, Follow follow);

  // Starts the rival's server and inserts what is to be there.
  void start(Rival& rival, const std::string& program, const std::string& scratch) const;
  // One round; its rate, latencies and CPU times are added to the rival's.
  void run(Rival& rival, const std::vector<Operation>& operations) const;

 private:
  // Returns how many operations that were; their latencies are added to `micros`.
  size_t perform(const Rival& rival, const std::vector<Operation>& operations, std::vector<double>* micros) const;
  Operation insert_next(uint32_t count = 1);
  uint32_t popular();

  const Workload& workload_;
  size_t populated_, next_ = 0;
  std::vector<std::vector<uint32_t>> groups_;  // by order of appearance: their records
  std::unordered_map<uint64_t, uint32_t> group_at_;
  base::Random random_{1};
};

// Until no server has anything to do any more, `seconds_max` at most: what one still does in the background would
// take from the next one's turn.
void wait_until_idle(const std::vector<Rival>& rivals, double seconds_max);

// `rounds` times the next operations, on one rival after the other, another one first each time.
void interleave(const Load& load, std::vector<Rival>& rivals, int rounds, double idle_seconds_max,
                const std::function<std::vector<Operation>()>& next_round);

}  // namespace bench::chapter6
