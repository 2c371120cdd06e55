// What a server with --replSet has beside the others: its member, and what brings that to the other members.
#pragma once

#include <memory>

namespace replication {
class LocalCommitter;
class Oplog;
}  // namespace replication
namespace storage {
class Store;
}

namespace server {

struct Options;
struct Services;

class ReplicaSetPart {
 public:
  // Lends the member, its sessions and its backups to `services`. The engine is in its replicated mode. Throws as ReplicaSet
  // does.
  ReplicaSetPart(const Options& options, Services& services, storage::Store& store, replication::Oplog& oplog,
                 replication::LocalCommitter& committer);
  ~ReplicaSetPart();
  ReplicaSetPart(const ReplicaSetPart&) = delete;
  ReplicaSetPart& operator=(const ReplicaSetPart&) = delete;

  // Once everything that asks the member what it may do is there.
  void start();
  // Every few seconds.
  void keep_house();
  // No other member is asked anything any more.
  void stop();
  // Before the server ends: another member takes over where one can. Bounded by some seconds.
  void hand_over();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace server
