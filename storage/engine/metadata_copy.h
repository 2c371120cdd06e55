// WiredTiger's metadata says which tables there are and where in their files the newest checkpoint is. It is in two files:
// WiredTiger.wt holds it, and WiredTiger.turtle says where in that file it begins. No table can be opened without it, so there
// is a copy of both, which is taken after each checkpoint:
//
//   WiredTiger.copy   | version, 1 | bytes of the turtle, 8 | bytes of WiredTiger.wt, 8 | turtle
//                     | for each megabyte of WiredTiger.wt: bytes, 4 | a frame of zstd | ... |
//                     | hash of WiredTiger.wt as it was, 8 | hash of all before this, 8 |
//
// The copied WiredTiger.wt may be another than the one that was there: it has no damage, as far as that can be seen.
// A checkpoint leaves the blocks of the one before as they are until it is complete, and then writes a new turtle. So the copy
// is of the directory's newest checkpoint if one of the two files is as it was copied.
#pragma once

#include <functional>
#include <string>

#include "base/bytes.h"

namespace storage {

inline constexpr char metadata_copy_file[] = "WiredTiger.copy";

// It is used by one thread at a time. Nothing throws: without a copy everything goes on.
class MetadataCopy {
 public:
  explicit MetadataCopy(std::string directory);

  // Copies the metadata of the newest checkpoint, unless the copy is of it already. What has been damaged in the file since the
  // last copy isn't copied. If the disk is full, there is no copy until it succeeds again. If a checkpoint is completed
  // meanwhile, the copy stays the one that it was.
  void take();
  // Removes the copy, which may be the room that others need. There is none until `take` is called. Returns false if there was
  // none before.
  bool give_up();
  // Returns how large WiredTiger.wt is.
  uint64_t metadata_bytes() const;
  bool given_up() const { return given_up_; }
  const std::string& directory() const { return directory_; }

  // Compares the files with their copy before WiredTiger opens them, and restores the one that is damaged. `sound` says whether
  // WiredTiger can read its metadata; it is asked if one of the files differs from its copy. It may throw.
  void restore(const std::function<bool()>& sound);

 private:
  void copy(const std::string& turtle);

  const std::string directory_;
  std::string copied_turtle_;  // the copy is of the checkpoint that this turtle names; empty if nobody knows
  bool given_up_ = false;
};

}  // namespace storage
