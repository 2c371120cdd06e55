// Any bytes are taken as a pack; and as the records of one, whose frames and sums are made to fit, so that what lies behind the
// checksums is tried too.
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "versions/pack/frame.h"
#include "versions/pack/test_packs.h"

#include <zstd.h>

namespace {

using namespace versions::pack;
using versions::pack::testing::read;
using versions::pack::testing::two_commits;
using versions::pack::testing::written;

bool reads(BytesView bytes) {
  testing::Contents contents;
  if (base::refuses([&] { contents = read(bytes); })) return false;
  const testing::Contents again = read(written(contents));
  base::check(again.commits.size() == contents.commits.size(), "a pack reads as it was written");
  for (size_t i = 0; i < again.commits.size(); ++i) {
    base::check(again.commits[i].first.id == contents.commits[i].first.id, "commits keep their ids");
    base::check(again.commits[i].second == contents.commits[i].second, "rows keep what they say");
  }
  return true;
}

Bytes framed(BytesView records) {
  Bytes frame(ZSTD_compressBound(records.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), records.data(), records.size(), 1));
  Bytes out(magic);
  base::append_le(out, static_cast<uint32_t>(records.size()));
  base::append_le(out, static_cast<uint32_t>(frame.size()));
  base::append_le(out, base::hash64(frame));
  out += frame;
  base::append_le(out, uint32_t{0});
  out += versions::merkle::view(versions::merkle::sha256(out));
  return out;
}

bool run_pack(BytesView input) {
  return reads(input);
}
bool run_records(BytesView input) {
  return !input.empty() && reads(framed(input));
}

// A pack of refs alone, and one of a commit without collections.
testing::Contents refs_alone() {
  testing::Contents all;
  const versions::merkle::Hash there = versions::merkle::sha256("there");
  all.header = {.database = "shop", .stands_on = {there}, .refs = {{Ref::Kind::branch, "dev", there}}};
  return all;
}
testing::Contents first_commit() {
  testing::Contents all;
  Commit first{.time_ms = -1};
  first.id = id_of(first);
  all.header = {.database = "shop", .first = first.id, .refs = {{Ref::Kind::tag, "v0", first.id}}};
  all.commits.push_back({first, {}});
  return all;
}

std::vector<Bytes> packs() {
  return {written(two_commits()), written(testing::shallow()), written(refs_alone()), written(first_commit())};
}
std::vector<Bytes> records() {
  std::vector<Bytes> all;
  for (const Bytes& pack : packs()) {
    Bytes raw(base::load_le<uint32_t>(pack.data() + magic.size()), '\0');
    const auto bytes = base::load_le<uint32_t>(pack.data() + magic.size() + 4);
    ZSTD_decompress(raw.data(), raw.size(), pack.data() + magic.size() + 16, bytes);
    all.push_back(raw);
  }
  return all;
}

const base::FuzzTarget pack_target("pack", run_pack, packs);
const base::FuzzTarget records_target("pack_records", run_records, records);

}  // namespace
