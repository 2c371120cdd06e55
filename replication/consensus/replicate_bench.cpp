// This measures three members on this machine, over the log's table and TCP: entries of 16 KB, N in flight, each counted when the
// leader sees it committed. Prints entries a second.
#include <benchmark/benchmark.h>

#include "base/random.h"
#include "replication/consensus/table_log_disk.h"
#include "replication/consensus/test_support.h"
#include "storage/testing/temporary_store.h"

namespace {

using namespace replication::consensus;

struct Machine {
  storage::TemporaryDirectory directory;
  storage::Engine engine;
  TableLogDisk disk;
  Machine() : engine(options(directory.path())), disk(engine) {}
  static storage::EngineOptions options(const std::string& path) {
    storage::EngineOptions out(base::system_clock());
    out.path = path;
    out.journal_compressor = "none";  // the entries don't compress
    return out;
  }
};

void replicate(benchmark::State& state) {
  const auto in_flight = static_cast<Index>(state.range(0));
  const auto bytes = static_cast<size_t>(state.range(1));
  std::vector<std::unique_ptr<Machine>> machines;
  std::vector<std::unique_ptr<TestMember>> owned;
  std::vector<TestMember*> members;
  for (MemberId id : {1, 2, 3}) {
    machines.push_back(std::make_unique<Machine>());
    start_log(machines.back()->disk, {1, 1},
              {.index = 1, .voters = {1, 2, 3}, .learners = {}, .voters_outgoing = {}, .learners_next = {}});
    owned.push_back(std::make_unique<TestMember>(id, machines.back()->disk));
    owned.back()->keep = false;
    members.push_back(owned.back().get());
  }
  introduce(members);
  for (TestMember* member : members) member->node->start();
  TestMember* leader = wait_leader(members);
  if (!leader) return state.SkipWithError("no leader");

  base::Random random(1);
  Bytes data(bytes, '\0');
  for (char& each : data) each = static_cast<char>(random());
  Index last = leader->node->status().last;
  int64_t entries = 0;
  for (auto _ : state) {
    std::optional<Position> at;
    while (!(at = leader->node->propose(data))) {
      if (!leader->leads()) return state.SkipWithError("the leader changed");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    last = at->index;
    ++entries;
    if (last > in_flight) leader->wait_applied(last - in_flight + 1);
    if (entries % 4096 == 0) {
      for (TestMember* member : members) member->node->compact(last - std::min<Index>(last, 8192));
    }
  }
  leader->wait_applied(last);
  state.SetItemsProcessed(entries);
  state.SetBytesProcessed(entries * static_cast<int64_t>(bytes));
}
BENCHMARK(replicate)
    ->ArgNames({"in_flight", "bytes"})
    ->Args({1, 16384})
    ->Args({16, 16384})
    ->Args({64, 16384})
    ->Args({64, 512})
    ->UseRealTime()
    ->MinTime(3)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
