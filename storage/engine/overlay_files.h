// A WiredTiger file system under which a data directory can be opened without a change to its files.
//
// The engine is opened on a scratch directory, in which tables are symbolic links to another directory's files. Writes to such a
// file go to a file beside the link; reads see both. So recovery, checkpoints and whatever else an open engine does change the
// scratch directory alone.
//
//   scratch/records-17.wt           -> /data/records-17.wt       opened for reading
//   scratch/records-17.wt.changed      blocks that were written since
#pragma once

#include <memory>
#include <string>

namespace storage {

// Engines that are opened in `scratch` while this exists, by any thread, use the file system. It must outlive them.
class OverlayFiles {
 public:
  explicit OverlayFiles(std::string scratch);
  ~OverlayFiles();
  OverlayFiles(const OverlayFiles&) = delete;
  OverlayFiles& operator=(const OverlayFiles&) = delete;

  struct System;

 private:
  std::unique_ptr<System> system_;
};

// Returns the entry of wiredtiger_open's list of extensions for an engine in this directory; it is empty if its files are
// ordinary ones. The next wiredtiger_open of this thread takes the file system from there.
std::string overlay_extension(const std::string& directory);

}  // namespace storage
