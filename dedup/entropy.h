// The entropy stage packs deltas by zstd with a dictionary that was trained on deltas.
//
// Deltas are short, so what zstd could learn from one of them comes too late; a
// dictionary knows beforehand what the instructions and the inserted text of a
// collection look like. Dictionaries are never changed, only followed by others,
// and each packed delta says by number which one unpacks it.
//
//   packed   varint  version of the dictionary; 0: none
//            zstd    one frame with its length, without magic number, dictionary id and checksum
//
// Nothing in the bytes tells a packed delta from a plain one; a flag beside it does, where it is kept
// (docs/formats/delta.md).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/result.h"
#include "dedup/content.h"

namespace dedup {

// Many threads may pack and unpack at a time, but none while a dictionary is added or
// dropped.
class EntropyCoder {
 public:
  explicit EntropyCoder(int level = 2);
  ~EntropyCoder();
  EntropyCoder(EntropyCoder&&) noexcept;
  EntropyCoder& operator=(EntropyCoder&&) noexcept;

  // From now on `pack` uses the dictionary with the highest version. Fails on
  // version 0, on one that is there, and on bytes that are no zstd dictionary.
  std::optional<base::Failure> add_dictionary(uint32_t version, BytesView dictionary);

  // Call this only when nothing is left that was packed with it.
  void drop_dictionary(uint32_t version);

  // Returns the version of the dictionary that `pack` uses; 0 when there is none yet.
  uint32_t version() const;
  size_t memory_bytes() const;

  // Returns nullopt where the result would not be smaller.
  std::optional<Bytes> pack(BytesView delta) const;

  // Damaged or hostile bytes are an expected answer, and so is a dictionary that
  // isn't there. Memory is bounded by `delta_bytes_max`.
  base::Result<Bytes> unpack(BytesView packed, size_t delta_bytes_max) const;

  // Returns the version of the dictionary that `packed` needs; nullopt where it can't be read.
  static std::optional<uint32_t> version_of(BytesView packed);

 private:
  struct Dictionary;
  int level_;
  std::map<uint32_t, std::unique_ptr<const Dictionary>> dictionaries_;
};

}  // namespace dedup
