// A valid document is taken as a log entry about branches or snapshots. It is refused as damage, or is an entry whose encoding
// reads the same.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "versions/log/branch_change.h"
#include "versions/log/snapshot_entries.h"

namespace {

using namespace versions;
using namespace versions::log;

template <class Change>
Bytes encoded(const Change& change) {
  return std::visit([](const auto& entry) { return entry.encode(); }, change).bytes();
}

// Returns whether it was accepted.
template <class Decode>
bool check_entry(bson::DocumentView command, Decode decode) {
  Bytes once;
  if (base::refuses([&] { once = encoded(decode(command)); })) return false;
  const bson::Document written(once);
  base::check(encoded(decode(written)) == once, "an entry reads as it was written");
  return true;
}

bool run(BytesView input) {
  const auto document = bson::validate(input);
  if (!document.ok()) return false;
  const bool branches = check_entry(document.value(), [](bson::DocumentView command) { return decode_branch_change(command); });
  const bool snapshots =
      check_entry(document.value(), [](bson::DocumentView command) { return decode_snapshot_change(command); });
  base::check(!branches || !snapshots, "an entry is of one kind");
  return branches || snapshots;
}

std::vector<Bytes> seeds() {
  Hash hash;
  hash.fill(0xc0);
  const Bytes uuid(16, '\1');
  const TreeKind buckets{.structure = merkle::Structure::bucket_tree, .buckets = 100};
  const MadeCommit made{.time_ms = 1'700'000'000'000, .metadata = "m", .id = hash, .trees = {{uuid, buckets}}};
  return {
      CommitBranch{.branch = "dev", .collections = {uuid}, .held = {.below = 7, .others = {8, 9}}, .made = made}.encode().bytes(),
      MergeBranch{.into = "main", .from = hash, .parents = 2, .generation = 7, .roots = {{uuid, hash}}, .made = made}
          .encode()
          .bytes(),
      Decide{.into = "main",
             .collection = uuid,
             .key = "k",
             .decision = {.take = Decision::Take::document, .document = bson::json("{_id: 1}").bytes(), .sides = hash}}
          .encode()
          .bytes(),
      MakeTree{.commit = hash, .collection = uuid, .documents = 100, .tree = buckets}.encode().bytes(),
      SetRetention{.policy = {.newest = 10, .age_ms = 86'400'000}}.encode().bytes(),
      SetCommitValidators{.validators = bson::json("{c: {validator: {a: 1}}}")}.encode().bytes(),
      CreateSnapshot{{.number = 42, .stamp = 7, .time_ms = 1'700'000'000'000, .name = "before"}}.encode().bytes(),
  };
}

const base::FuzzTarget target("branch_change", run, seeds);

}  // namespace
