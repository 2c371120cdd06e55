// A node is a member of a replica set: it runs the consensus core on real time, disk and network.
//
//   callers, transport --(one lock)--> core --> loop thread --> owner, transport
//                                        ^          |
//                                        |          v writes
//                                        +---- disk thread: one sync for all that waits
//
// The disk has a thread of its own, so that heartbeats go out while a sync takes
// its time: a stalled disk delays writes and unseats nobody. While the disk is
// full, the log waits for room. A log that can't be written for another reason
// ends the process, since what was promised can't be kept.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "replication/consensus/inquiry.h"
#include "replication/consensus/transport.h"

namespace replication::consensus {

struct NodeOptions {
  CoreOptions core;
  int tick_ms = 50;  // with core's defaults: heartbeats each 100 ms, elections after 0.8 to 1.6 s of silence
};

// The owner carries out the decisions. It is called on the node's loop thread, in order; it returns soon, and may call the node.
class NodeOwner {
 public:
  virtual ~NodeOwner() = default;
  // Everything of `out` but `send` and `write`, which are taken care of. Committed entries are answered, there or
  // later, by RaftNode::applied. With `behind` the member must be stopped, copy another's data and start anew.
  virtual void decided(const Output& out) = 0;
};

// This class is thread-safe. The clock, the disk, the transport and the owner outlive it.
class RaftNode final : public MessageReceiver {
 public:
  // Loads the log; throws what LogStore and RaftCore throw. Nothing happens before `start`.
  RaftNode(const NodeOptions& options, base::Clock& clock, LogDisk& disk, Transport& transport, NodeOwner& owner);
  ~RaftNode() override;

  void start();
  void stop();  // waits for what is under way; the owner is not called any more

  // These do what RaftCore's do. The entry's place is known at once: the caller holds its own lock over this and the local
  // commit.
  std::optional<Position> propose(BytesView data, BytesView context = {});
  std::optional<Position> propose_members(const std::vector<MemberChange>& changes, BytesView context = {});
  bool read_index(BytesView context);
  bool transfer(MemberId to);
  void campaign();
  void resign();
  void set_candidacy(Candidacy candidacy);
  void applied(Index index);
  void compact(Index index);

  // Returns whether the log waits for room on the disk.
  bool waits_for_room() const { return waits_for_room_.load(std::memory_order_relaxed); }
  CoreStatus status() const;
  std::vector<PeerProgress> progress() const;
  // Returns how far that member has applied the log, as far as it has reported. `ask` asks it; the question may be lost.
  Index applied_by(MemberId member) const;
  void ask(MemberId member);
  // Returns whether that member would lead: false if it has refused, or hasn't answered for a while. Each call may ask it again.
  bool stands(MemberId member);
  Membership members() const;
  LogMeta log_meta() const;
  // Reads the entries [low, high), at least one, committed or not, for those who read the log beside consensus. Lookup means what
  // it does in LogStore.
  Lookup entries(Index low, Index high, uint64_t bytes_max, std::vector<EntryPtr>& out);

  void received(MemberId from, BytesView message) override;
  void unreachable(MemberId to) override;

 private:
  // Calls it with the core, while the mutex is held, and wakes the loop if that gave it something to do.
  template <class Call>
  auto with_core(Call call);
  void received_inquiry(MemberId from, BytesView message);
  void loop();
  void disk_loop();
  bool write_when_there_is_room(const std::vector<LogBatch>& batches);
  void handle(Output out);

  const NodeOptions options_;
  base::Clock& clock_;
  LogDisk& disk_;
  Transport& transport_;
  NodeOwner& owner_;
  mutable base::Mutex mutex_;
  base::Condition woken_;
  LogStore store_ GUARDED_BY(mutex_);
  RaftCore core_ GUARDED_BY(mutex_);
  Answers answers_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;

  base::Mutex disk_mutex_;
  base::Condition disk_woken_;
  std::vector<Write> writes_ GUARDED_BY(disk_mutex_);
  bool disk_stopping_ GUARDED_BY(disk_mutex_) = false;
  std::atomic<bool> waits_for_room_{false};

  std::thread loop_;
  std::thread disk_thread_;
};

}  // namespace replication::consensus
