// A PackWriter writes a pack piece by piece.
#pragma once

#include <memory>

#include "versions/pack/pack.h"

namespace versions::pack {

// This class is not thread-safe.
class PackWriter {
 public:
  explicit PackWriter(const Header& header);
  ~PackWriter();
  PackWriter(const PackWriter&) = delete;

  // Parents come before their children.
  void add(const Commit& commit);
  // A row of the commit that was added last.
  void add(const Row& row);
  // Ends the pack; nothing can be added afterwards.
  void finish();

  // Takes what can be sent so far, at most so many bytes of it; it may be empty.
  Bytes take(size_t bytes_max = SIZE_MAX);
  size_t ready_bytes() const { return out_.size(); }
  // Bytes of records so far, before they are compressed.
  uint64_t raw_bytes() const { return raw_bytes_; }

 private:
  class Compressor;
  void record(char type, BytesView a, BytesView b = {});
  void end_frame();
  void put(BytesView bytes);

  std::unique_ptr<Compressor> compressor_;
  Bytes frame_, out_;
  uint64_t raw_bytes_ = 0, commits_ = 0;
};

}  // namespace versions::pack
