// Any bytes are taken as the file of rows that recovery could not apply. The input's first byte says whether a hash that fits is
// put behind the rest, so that what lies behind the hash is tried too.
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "storage/engine/unapplied_rows.h"

namespace {

using namespace storage;

bool run(BytesView input) {
  if (input.empty()) return false;
  Bytes bytes(input.substr(1));
  if (input[0] != 0) base::append_le(bytes, base::hash64(bytes));
  const auto tables = decode_unapplied(bytes);
  if (!tables) return false;
  base::check(encode_unapplied(*tables) == bytes, "rows are written as they were read");
  return true;
}

std::vector<Bytes> seeds() {
  const Bytes empty = encode_unapplied({});
  const Bytes some = encode_unapplied({{"index-1-2", {{"k", std::nullopt}}}, {"records-1", {{"a", "value"}, {"b", ""}}}});
  return {Bytes(1, '\0') + empty, Bytes(1, '\0') + some, Bytes(1, '\1') + some.substr(0, some.size() - sizeof(uint64_t))};
}

const base::FuzzTarget target("unapplied_rows", run, seeds);

}  // namespace
