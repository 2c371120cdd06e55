#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "base/testing.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "storage/testing/temporary_store.h"
#include "storage/upkeep/validate.h"

using namespace storage;

namespace {

// This function inserts documents and reports each commit through the pipe, until the process is killed.
[[noreturn]] void write_until_killed(const std::string& path, int64_t from, int pipe) {
  StoreOptions options = test_options(path);
  options.checkpoint_seconds = 1;
  Store store(options);
  const auto collection = store.catalog().open_or_create("shop.orders");
  if (!collection->index("n")) {
    store.catalog().create_indexes(collection, {parse_index_spec(bson::json("{key: {n: 1}, name: 'n'}"))});
  }
  for (int64_t id = from;; ++id) {
    bson::Builder document;
    document.append("_id", id).append("n", id % 7).append("pad", std::string(500, static_cast<char>('a' + id % 26)));
    const bson::Document built = document.done();
    in_transaction(store, [&](Transaction& transaction) { collection->insert(transaction, built); });
    if (::write(pipe, &id, sizeof id) != sizeof id) std::_Exit(1);
  }
}

}  // namespace

TEST_CASE("what was acknowledged before kill -9 is there afterwards, whole and counted") {
  TemporaryDirectory directory;
  base::Random random(base::testing::seed());
  int64_t next = 0;
  for (int round = 0; round < 3; ++round) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) write_until_killed(directory.path(), next, ends[1]);
    ::close(ends[1]);
    const int64_t stop = next + 50 + static_cast<int64_t>(random.below(400));
    int64_t acknowledged = -1;
    while (acknowledged < stop && ::read(ends[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged) {
    }
    ::kill(child, SIGKILL);
    for (int64_t id; ::read(ends[0], &id, sizeof id) == sizeof id;) acknowledged = id;
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    REQUIRE(acknowledged >= stop);

    Store store(test_options(directory.path()));
    const auto collection = store.catalog().open("shop.orders");
    REQUIRE(collection);
    CHECK(collection->index("n")->ready());
    // One more insert may have been committed and not reported.
    const int64_t found = collection->record_count();
    CHECK((found == acknowledged + 1 || found == acknowledged + 2));
    const ValidateReport report = validate_collection(store, collection, false);
    CHECK(report.valid);
    CHECK(report.records == found);
    for (const std::string& warning : report.warnings) FAIL_CHECK(warning);
    CHECK(validate_collection(store, collection, true).valid);
    next = found;
  }
}
