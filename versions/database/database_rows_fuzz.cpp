// Any bytes are taken as rows of the list of branched databases. They are refused, as damaged data is, or are written as rows
// that read the same.
//
// The input is a key (a part), and a row.
#include "base/fuzz_target.h"
#include "versions/database/database_rows.h"

namespace {

using namespace versions;

bool check_row(BytesView row) {
  return !base::refuses([&] {
    const DatabaseRow read = read_database_row(row);
    const DatabaseRow again = read_database_row(write_database_row(read));
    base::check(again.number == read.number && again.holes == read.holes, "a row is read as it was written");
  });
}

bool check_kept(BytesView key, BytesView row) {
  return !base::refuses([&] {
    const KeptDatabaseRow read = read_kept_row(key, row);
    const KeptDatabaseRow again =
        read_kept_row(kept_database_key(read.number, read.name), write_kept_collections(read.collections));
    base::check(again.number == read.number && again.name == read.name && again.collections == read.collections,
                "a row of a dropped database is read as it was written");
  });
}

bool check_next(BytesView row) {
  return !base::refuses([&] {
    const uint32_t next = read_next_database(row);
    base::check(read_next_database(write_next_database(next)) == next, "the next number is read as it was written");
  });
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const BytesView key = reader.part();
  const BytesView row = reader.rest();
  const bool is_row = check_row(row), is_kept = check_kept(key, row), is_next = check_next(row);
  return is_row || is_kept || is_next;
}

std::vector<Bytes> seeds() {
  const auto seed = [](BytesView key, BytesView row) { return base::FuzzWriter().part(key).rest(row); };
  return {seed(database_key("shop"), write_database_row({.number = 3, .holes = {{7, 0}, {9, 1'000'000'000'000}}})),
          seed(kept_database_key(2, "old"), write_kept_collections({4, 5, 4'000'000'000})),
          seed(next_database_key, write_next_database(4))};
}

const base::FuzzTarget target("database_rows", run, seeds);

}  // namespace
