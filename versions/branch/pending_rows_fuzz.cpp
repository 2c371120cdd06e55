// The input is taken as a row of what is pending on branches: a key (a part), and a value. It is refused, as damaged data is, or
// all who read it find the same.
#include "base/fuzz_target.h"
#include "versions/branch/pending_rows.h"

namespace {

using namespace versions;
using base::check;

bool run(base::BytesView input) {
  base::FuzzReader reader(input);
  const BytesView key = reader.part(), value = reader.rest();
  const Stamp stamp = stamp_of_row(value);
  check(key_of_row(value).size() <= value.size());

  std::optional<BranchId> branch;
  std::optional<RecordId> record;
  std::optional<char> kind;
  const bool has_branch = !base::refuses([&] { branch = branch_of_key(key); });
  const bool has_record = !base::refuses([&] { record = record_of_key(key); });
  const bool has_kind = !base::refuses([&] { kind = kind_of_row(value); });
  check(has_branch == has_record, "a key has both its numbers, or is none");
  if (has_branch) check(pending_key(*branch, *record) == key, "a key is written as it was read");

  const auto row = parse_pending_row(key, value);
  check(row.has_value() == (has_branch && has_kind), "a row has a key and a kind");
  if (!row) return false;
  check(row->branch == *branch && row->record == *record && row->kind == *kind, "all read the same row");
  if (row->kind == static_cast<char>(PurgedKind::keyed) && !row->purged.empty())
    check(purged_row(row->purged) == value, "a purged version is written as it was read");
  if ((*kind == static_cast<char>(PendingKind::added) || *kind == static_cast<char>(PendingKind::removed)) && stamp != 0)
    check(pending_row(static_cast<PendingKind>(*kind), stamp, key_of_row(value)) == value, "a row is written as it was read");
  return true;
}

std::vector<Bytes> seeds() {
  constexpr auto branch = static_cast<BranchId>(3);
  constexpr Stamp stamp = (Stamp{1'700'000'000} << 32) | 7;
  const auto seed = [](const Bytes& key, const Bytes& row) { return base::FuzzWriter().part(key).rest(row); };
  return {seed(pending_key(branch, 300), pending_row(PendingKind::added, stamp)),
          seed(pending_key(branch, 301), pending_row(PendingKind::removed, stamp, "key")),
          seed(pending_key(branch, 302), Bytes(1, static_cast<char>(PendingKind::removed))),
          seed(pending_key(branch, listing_at), pending_row(Listing::made_anew, stamp)),
          seed(pending_key(BranchId::none, 303), purged_row("key")),
          seed(pending_key(BranchId::none, 304), purged_row({}))};
}

const base::FuzzTarget target("pending_rows", run, seeds);

}  // namespace
