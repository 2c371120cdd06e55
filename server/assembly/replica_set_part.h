// A server with --replSet has these parts beside the others: its member, and the connections of the member to the others.
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

  // Call it once every part that asks the member for permission exists.
  void start();
  // Does the regular upkeep; call it every few seconds.
  void keep_house();
  // After it, no other member is asked anything.
  void stop();
  // Called before the server ends: another member takes over if one can. It takes some seconds at most.
  void hand_over();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace server
