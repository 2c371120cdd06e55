// Tests and benchmarks get a log in memory, and members over real sockets.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/testing.h"
#include "replication/consensus/raft_node.h"
#include "replication/consensus/tcp_transport.h"

namespace replication::consensus {

// This class is thread-safe. `stall` holds writes back for as long as it is set, and `full` refuses them.
class MemoryLogDisk final : public LogDisk {
 public:
  std::optional<LogImage> load() override;
  void write_on(const std::vector<LogBatch>& batches, size_t& done) override;
  std::vector<EntryPtr> read(Index low, Index high, uint64_t bytes_max) override;

  std::atomic<bool> stall{false}, full{false};

 private:
  std::mutex mutex_;
  bool begun_ = false;
  LogMeta meta_;
  std::map<Index, EntryPtr> rows_;
};

// A member that applies at once and counts.
class TestMember final : public NodeOwner {
 public:
  TestMember(MemberId id, LogDisk& disk, bool compress = false, base::Clock& clock = base::system_clock());
  ~TestMember() override;

  void decided(const Output& out) override;
  bool leads() const { return node->status().standing.role == Role::leader; }
  bool wait_applied(Index index);

  const MemberId id;
  TcpTransport transport;
  std::unique_ptr<RaftNode> node;
  std::function<void(const EntryPtr&)> on_commit;  // set before start

  std::mutex mutex;
  std::condition_variable changed;
  Index applied = 0;
  std::vector<Bytes> contents;  // of the data entries, where `keep` is set
  std::atomic<bool> keep{true};
  std::vector<Unclear> unclear;
  std::vector<ReadState> reads;
  std::optional<Behind> behind;
};

// Each knows the others' addresses; not started.
void introduce(const std::vector<TestMember*>& members);
using base::testing::wait_until;
// nullptr: none by the deadline.
TestMember* wait_leader(const std::vector<TestMember*>& members);

}  // namespace replication::consensus
