// Any bytes are taken as the marker of a copied directory. The input's first byte says whether a checksum that fits is put behind
// the rest, so that what lies behind the checksum is tried too.
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "storage/upkeep/copy_marker.h"

namespace {

using namespace storage;
using base::Bytes;
using base::BytesView;

bool run(BytesView input) {
  if (input.empty()) return false;
  Bytes bytes(input.substr(1));
  if (input[0] != 0) base::append_le(bytes, base::hash64(bytes));
  std::optional<CopyMarker> marker;
  if (base::refuses([&] { marker = decode_marker(bytes); }) || !marker) return false;
  base::check(decode_marker(encode_marker(*marker)) == marker, "a marker is read as it was written");
  return true;
}

std::vector<Bytes> seeds() {
  const Bytes empty = encode_marker({});
  const Bytes marker =
      encode_marker({.files = {{"WiredTiger", 50}, {"journal/WiredTigerLog.0000000001", 1 << 30}}, .carried = "vote"});
  return {Bytes(1, '\0') + empty, Bytes(1, '\0') + marker, Bytes(1, '\1') + marker.substr(0, marker.size() - sizeof(uint64_t))};
}

const base::FuzzTarget target("copy_marker", run, seeds);

}  // namespace
