// Initial sync copies another member's data directory to this member.
//
//   source? -> begin -> files -> read … read -> end     into <dbpath>/_sync, each part checked, each file synced
//           -> own term and vote -> the marker          the next start puts the copy in place
//           (storage/upkeep/replace_directory.h)
//
// If a connection breaks, the copy resumes where it broke, because the source keeps the backup for some minutes. If the source
// has lost the backup, the attempt has failed, and another begins with a source that is chosen anew; it uses nothing of the old
// one.
//
// The member asks with hashes of its own files' blocks, and the source sends only blocks that differ
// (server/peers/file_blocks.h). So a damaged page in an otherwise equal file costs its block.
//
// A copy leaves the engine's reserve on the disk (storage/engine/disk_space.h). If it doesn't fit, it is removed, and another
// begins when it does. That is no failure, and it is waited for as long as it takes.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "bson/builder.h"
#include "storage/engine/encryption_options.h"

namespace server::peers {

// An OwnVote is what a member has promised in elections.
struct OwnVote {
  uint64_t term = 0;
  uint64_t vote = 0;  // 0: it voted for nobody
};

struct InitialSyncOptions {
  std::string dbpath;
  std::string self;                 // "host:port": by which a source knows that it is the same member that asks again
  int attempts_max = 10;            // as mongod's numInitialSyncAttempts
  int64_t pause_ms = 1000;          // between attempts, while there is no source, and while a source is busy
  int64_t unreachable_ms = 60'000;  // how long a source may be away before the attempt has failed
  int64_t reread_ms = 250;          // between tries on a connection that broke
  int64_t read_bytes = 4 << 20;     // of one read; at most 8 MB
  uint64_t reserve_bytes = 0;       // on the disk, for the engine
  int64_t look_ms = 1000;           // between looks for room on the disk
  int64_t ask_again_ms = 60'000;    // how much there is to copy, while there is no room: it may have become less
  storage::EncryptionOptions encryption;
};

// Initial sync asks its owner for these. All are called on the thread of run().
struct InitialSyncNeeds {
  // Returns "host:port" of a member to copy from, which may be another than last time; nullopt: there is none now.
  std::function<std::optional<std::string>()> source;
  // Runs a command in `admin` and returns its reply. Throws OperationError: the source's own error for ok: 0; HostUnreachable,
  // NetworkTimeout … if the connection broke. PeerClient::run is one.
  std::function<bson::Document(const std::string& source, bson::DocumentView command)> call;
  // Checks whether a source's log reaches far enough, by its lastCommittedOpTime, durableOpTime and term right before the copy.
  // Returns an empty text if it does, else the reason why not. May be null.
  std::function<std::string(bson::DocumentView begun)> refuse;
  // Called when the copy is complete. From this call on the member votes and acknowledges nothing until it restarts. It is called
  // again if the marker couldn't be written and another attempt was made.
  std::function<OwnVote()> stop_voting;
};

class InitialSync {
 public:
  InitialSync(base::Clock& clock, InitialSyncOptions options, InitialSyncNeeds needs);

  // Blocks until the marker is written; then the process must restart. Throws OperationError: OperationFailed after the last
  // attempt, with the reason of each; InterruptedAtShutdown.
  void run();
  // May be called from any thread. The owner ends the call in progress itself.
  void interrupt();

  // Tells whether the copy waits for room on the disk. May be called from any thread.
  bool waits_for_room() const;

  // Appends the fields of replSetGetStatus' `initialSyncStatus`. May be called from any thread.
  void append_status(bson::Builder& out) const;

 private:
  struct File {
    std::string name;
    uint64_t bytes = 0;
  };
  struct Attempt {
    std::string status;
    std::string source;
    int64_t duration_ms = 0;
    int64_t operations_retried = 0;
    int64_t unreachable_ms = 0;
  };

  std::string await_source();
  void attempt(const std::string& source);
  bson::Document call(const std::string& source, bson::DocumentView command);
  std::vector<File> list(const std::string& source, int64_t backup, int64_t count);
  void copy(const std::string& source, int64_t backup, const File& file);
  struct Part {
    base::Bytes data;
    uint64_t zeros = 0;  // they follow the data
    uint64_t own_bytes = 0;
    uint64_t bytes() const { return data.size() + zeros; }
  };
  // `own`: what this member's file of that name has from `offset` on, at most `wanted` bytes; it may have none.
  Part read(const std::string& source, int64_t backup, const File& file, uint64_t offset, uint64_t wanted, base::BytesView own);
  void check_encryption() const;
  struct Room {
    uint64_t needed_bytes = 0, free_bytes = 0;
  };
  uint64_t free_bytes() const;
  void require_room(uint64_t bytes) const;
  void await_room(const std::string& reason);
  void pause(int64_t ms);
  void check_interrupt() const;

  const InitialSyncOptions options_;
  const InitialSyncNeeds needs_;
  base::Clock& clock_;
  const int64_t started_wall_ms_;
  const int64_t started_us_;

  mutable base::Mutex mutex_;
  base::Condition woken_;
  bool interrupted_ GUARDED_BY(mutex_) = false;
  int64_t ended_us_ GUARDED_BY(mutex_) = 0;
  int64_t copying_us_ GUARDED_BY(mutex_) = 0;  // when the attempt in progress began to read files
  std::vector<Attempt> failed_ GUARDED_BY(mutex_);
  Attempt now_ GUARDED_BY(mutex_);
  std::optional<Room> lacks_ GUARDED_BY(mutex_);  // while the copy waits for it
  uint64_t files_total_ GUARDED_BY(mutex_) = 0, files_copied_ GUARDED_BY(mutex_) = 0;
  uint64_t bytes_total_ GUARDED_BY(mutex_) = 0, bytes_copied_ GUARDED_BY(mutex_) = 0;
  uint64_t bytes_own_ GUARDED_BY(mutex_) = 0;  // of those that were copied, from own files
  bool by_blocks_ = false;                     // the source can leave out blocks
};

// A CopyOrigin is what the copy that replaced this directory's data contains about its source, until storage::forget_copied.
// Reading it throws DataCorruptionDetected.
struct CopyOrigin {
  OwnVote vote;
  std::string source;
  int64_t time_ms = 0;
};
std::optional<CopyOrigin> copy_origin(const std::string& dbpath);

}  // namespace server::peers
