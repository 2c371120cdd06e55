#include <catch2/catch.hpp>

#include <map>

#include "datasets/synthetic/generator.h"

namespace datasets {
namespace {

TEST_CASE("the same seed makes the same data, another seed other data") {
  auto digest = [](uint64_t seed) {
    SyntheticLoader loader(*find_profile("boards"), 200, seed);
    std::string all;
    while (auto item = loader.next()) all += item->document.bytes();
    return all;
  };
  CHECK(digest(1) == digest(1));
  CHECK(digest(1) != digest(2));
}

TEST_CASE("records are as large as table 6.1 says, and most of a version is its predecessor's") {
  for (const Profile& profile : profiles) {
    SyntheticLoader loader(profile, 4000, 3);
    double bytes = 0;
    uint64_t count = 0;
    int64_t before = 0;
    while (auto item = loader.next()) {
      bytes += static_cast<double>(item->text_bytes);
      ++count;
      CHECK(item->document.find("_id").to_int64() == static_cast<int64_t>(count));
      CHECK(item->timestamp_ms > before);
      before = item->timestamp_ms;
    }
    CHECK(count == 4000);
    const double mean = bytes / static_cast<double>(count);
    INFO(profile.name << ": " << mean);
    CHECK(mean > profile.record_bytes * 0.7);
    CHECK(mean < profile.record_bytes * 1.3);
  }
}

}  // namespace
}  // namespace datasets
