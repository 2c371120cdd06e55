// A thread of its own gives the free space inside files back to a full disk.
//
// Deleted rows leave holes in their table's file, which only new rows of the same table could use. So while new data is
// refused, the files that have much free space are compacted, whether dedup compacts them in quiet times or not.
#pragma once

#include <map>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "storage/engine/disk_space.h"

namespace storage {

class Engine;

// The class is thread-safe.
class Reclaimer {
 public:
  Reclaimer(Engine& engine, const DiskSpace& space) : engine_(engine), space_(space) {}
  ~Reclaimer() { stop(); }
  void start();  // once the engine is open
  void stop();

 private:
  void run();
  void pass();
  bool ends() const;

  Engine& engine_;
  const DiskSpace& space_;
  std::map<std::string, int64_t> tried_;  // by table: so much was free in the file after it was last compacted
  mutable base::Mutex mutex_;
  base::Condition woken_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace storage
