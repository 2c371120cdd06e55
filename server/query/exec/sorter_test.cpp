#include "server/query/exec/sorter.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/error.h"
#include "bson/builder.h"
#include "server/query/exec/sort_runs.h"
#include "storage/testing/temporary_store.h"

namespace server::query::exec {
namespace {

constexpr size_t mb = 1 << 20;

struct Fixture {
  storage::TemporaryDirectory directory;
  storage::Store store{storage::test_options(directory.path())};
  OperationContext* nobody = nullptr;
  MemoryPool pool{16 * mb, 16 * mb};

  size_t files() const {
    const std::string path = directory.path() + "/_tmp";
    if (!std::filesystem::exists(path)) return 0;
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
  }
  Sorter::Options options(size_t memory_bytes_max, int64_t limit = 0) {
    return {.limit = limit, .allow_disk_use = true, .memory_bytes_max = memory_bytes_max, .engine = &store.engine()};
  }
};

bson::Document numbered(int n, size_t bytes) {
  bson::Builder out;
  out.append("n", n).append("filling", std::string(bytes, 'x'));
  return out.done();
}

// The numbers come in a random order, with equal keys among them: which is first then depends on which came first.
std::vector<int> shuffled(int count, unsigned seed) {
  std::vector<int> numbers(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = i;
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(seed));
  return numbers;
}

bson::Bytes key_of(int n) {
  const std::string digits = std::to_string(n / 3);
  return bson::Bytes(10 - digits.size(), '0') + digits;
}

std::vector<int> sorted_by(Sorter& sorter, const std::vector<int>& numbers, size_t bytes) {
  for (const int n : numbers) sorter.take(key_of(n), n, numbered(n, bytes));
  sorter.finish();
  std::vector<int> result;
  for (SortEntry entry; sorter.next(entry);) {
    REQUIRE(entry.document.find("n").as_int32() == entry.record);
    result.push_back(static_cast<int>(entry.record));
  }
  return result;
}

std::vector<int> expected(std::vector<int> numbers, size_t limit) {
  std::stable_sort(numbers.begin(), numbers.end(), [](int a, int b) { return a / 3 < b / 3; });
  if (limit != 0) numbers.resize(std::min(limit, numbers.size()));
  return numbers;
}

}  // namespace

TEST_CASE("what a sorter gave out is no longer its own") {
  Fixture f;
  Allowance allowance(f.nobody, &f.pool);
  Sorter sorter(f.options(2 * mb), allowance);
  for (int n = 0; n < 10; ++n) sorter.take(key_of(n), n, numbered(n, 100'000));
  sorter.finish();
  CHECK(!sorter.used_disk());
  const size_t all = allowance.memory().held();
  SortEntry entry;
  for (int n = 0; n < 5; ++n) REQUIRE(sorter.next(entry));
  CHECK(allowance.memory().held() == all / 2);
  while (sorter.next(entry)) {
  }
  CHECK(allowance.memory().held() == 0);
}

TEST_CASE("runs on disk come back in order, whatever their number and the limit") {
  Fixture f;
  for (const size_t memory : {size_t{4 << 10}, size_t{100 << 10}, 2 * mb}) {
    for (const int64_t limit : {0, 1, 70, 5000}) {
      CAPTURE(memory, limit);
      const std::vector<int> numbers = shuffled(7000, static_cast<unsigned>(memory + static_cast<size_t>(limit)));
      Allowance allowance(f.nobody, &f.pool);
      {
        Sorter sorter(f.options(memory, limit), allowance);
        CHECK(sorted_by(sorter, numbers, 50) == expected(numbers, static_cast<size_t>(limit)));
        if (limit == 0) CHECK(sorter.used_disk() == (memory < mb));
        // A merge has sixteen runs of each level at most, so few files are open.
        CHECK(f.files() <= 3 * SortRuns::fan_in);
        if (memory == 4 << 10 && limit == 0) CHECK(sorter.runs() > SortRuns::fan_in * SortRuns::fan_in);
      }
      CHECK(f.files() == 0);
      CHECK(allowance.memory().held() == 0);
    }
  }
}

TEST_CASE("a sorter goes to disk when others have taken the memory") {
  Fixture f;
  MemoryBudget others(&f.pool);
  others.hold(14 * mb);
  const std::vector<int> numbers = shuffled(8000, 1);
  Allowance allowance(f.nobody, &f.pool);
  Sorter sorter(f.options(100 * mb), allowance);
  CHECK(sorted_by(sorter, numbers, 1000) == expected(numbers, 0));
  CHECK(sorter.used_disk());
  CHECK(f.pool.used() <= 16 * mb);
}

TEST_CASE("a sorter that may not use the disk ends when others have taken the memory") {
  Fixture f;
  MemoryBudget others(&f.pool);
  others.hold(14 * mb);
  Allowance allowance(f.nobody, &f.pool);
  Sorter::Options options = f.options(100 * mb);
  options.allow_disk_use = false;
  Sorter sorter(options, allowance);
  try {
    sorted_by(sorter, shuffled(8000, 2), 1000);
    FAIL("it went on");
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::exceeded_memory_limit);
  }
}

}  // namespace server::query::exec
