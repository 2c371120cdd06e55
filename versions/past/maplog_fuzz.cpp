// Any rows are taken as a snapshot log. It is refused, as damaged data is, or each way to look into it gives the same contents.
//
// The input is the number of children of a node, two snapshots, a row (8 bytes each), and rows (storage/testing/fuzz_table.h).
#include "storage/testing/fuzz_table.h"
#include "versions/past/maplog.h"

namespace {

using namespace versions::past;
using base::Bytes;
using base::BytesView;
using storage::Transaction;

constexpr uint32_t node_mappings = 8;
constexpr Stamp second = Stamp{1} << 32;

storage::FuzzTable& rows() {
  static storage::FuzzTable one("log");
  return one;
}

SkippyOptions options(uint64_t fan_in) {
  return {.node_mappings = node_mappings, .fan_in = static_cast<uint32_t>(fan_in % 4), .height = 0, .worth = 2};
}

bool reads(const Maplog& log, Transaction& transaction, SnapshotId first, SnapshotId last, RecordId row) {
  std::optional<Stamp> found;
  PageTable table;
  const bool one = !base::refuses([&] { found = log.find(transaction, first, row); });
  const bool whole = !base::refuses([&] { table = log.page_table(transaction, first); });
  if (one && whole) base::check(table.find(row) == found, "a row is in the table of all rows");
  base::refuses([&] { OnDemandTable(log, transaction, first).find(row); });
  const bool joint = !base::refuses([&] {
    const JointTable both = log.joint_table(transaction, first, last);
    both.table(first);
    both.find(last, row);
  });
  const bool visits =
      !base::refuses([&] { log.each(transaction, first, last, [](SnapshotId, const Mapping&) { return true; }); });
  return one && whole && joint && visits;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const SkippyOptions chosen = options(reader.number());
  const SnapshotId first = reader.number(), last = reader.number();
  const auto row = static_cast<RecordId>(reader.number());
  return rows().with_rows(reader.rest(), [&](Transaction& transaction) {
    SkippyCache cache(1 << 20);
    const Maplog log(rows().table(), chosen, cache);
    const bool before = reads(log, transaction, first, last, row);
    // Sealed pages are cached under names that the next input uses as well, so this is the log's last use.
    const bool seals = !base::refuses([&] {
      try {
        log.seal(transaction, last);
      } catch (const storage::WriteConflict&) {  // the number of the next node is taken
      }
    });
    return reads(log, transaction, first, last, row) && before && seals;
  });
}

Bytes seed(uint64_t fan_in, SnapshotId sealed_below, unsigned mappings) {
  const Bytes all = rows().rows_of([&](Transaction& transaction) {
    SkippyCache cache(1 << 20);
    const Maplog log(rows().table(), options(fan_in), cache);
    for (unsigned i = 0; i < mappings; ++i)
      log.append(transaction, 1 + i / 5, (100 + i) * second, {static_cast<RecordId>(1 + i % 7), (50 + i) * second + 1});
    log.seal(transaction, sealed_below);
  });
  return base::FuzzWriter().number(fan_in).number(2).number(6).number(3).rest(all);
}

std::vector<Bytes> seeds() {
  return {seed(2, 0, 9), seed(2, 5, 30), seed(0, 20, 64), seed(3, 20, 60)};
}

const base::FuzzTarget target("maplog", run, seeds);

}  // namespace
