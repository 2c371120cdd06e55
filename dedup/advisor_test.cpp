// These tests compare the advice from a part of the contents with what encoding all of them gives.
#include "dedup/advisor.h"

#include <catch2/catch.hpp>

#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

struct Contents : RecordSource {
  std::vector<Bytes> all;
  std::optional<Bytes> fetch(const ContentId& id) override {
    ++fetches;
    const auto at = static_cast<size_t>(id.record - 1);
    return at < all.size() ? std::optional(all[at]) : std::nullopt;
  }
  ContentId id(size_t at) const { return {1, static_cast<int64_t>(at + 1), at + 1}; }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const Bytes& content : all) sum += content.size();
    return sum;
  }
  size_t fetches = 0;
};

// Makes pages of very different ages, revised in any order, so that versions of one page lie far apart.
Contents histories(base::Random& random, size_t pages, size_t revisions, size_t bytes) {
  Contents contents;
  std::vector<Bytes> texts(pages);
  for (size_t i = 0; i < revisions; ++i) {
    Bytes& text = texts[std::min(random.below(pages), random.below(pages))];
    text = text.empty() ? prose(random, bytes / 2 + random.below(bytes)) : edited(random, text, 1 + random.below(3));
    contents.all.push_back(text);
  }
  return contents;
}

Contents strangers(base::Random& random, size_t count, size_t bytes) {
  Contents contents;
  for (size_t i = 0; i < count; ++i) contents.all.push_back(prose(random, bytes / 2 + random.below(bytes)));
  return contents;
}

// Makes documents of one form: a chain without end.
Contents forms(base::Random& random, size_t count, size_t bytes) {
  Contents contents;
  const Bytes form = prose(random, bytes);
  for (size_t i = 0; i < count; ++i) contents.all.push_back(edited(random, form, 2));
  return contents;
}

Contents mixed(base::Random& random) {
  Contents contents = histories(random, 300, 2500, 1200);
  for (Bytes& content : strangers(random, 500, 2000).all) {
    contents.all.insert(contents.all.begin() + static_cast<ptrdiff_t>(random.below(contents.all.size())), std::move(content));
  }
  return contents;
}

// Returns what the encoder itself makes of all of them.
struct Truth {
  double stored_bytes = 0;
  uint64_t deltas = 0;
};

Truth truth(const Contents& contents, const Options& options) {
  MemoryPages pages;
  MemoryRecords records;
  Encoder encoder(options, 77, pages);
  Truth truth;
  for (size_t i = 0; i < contents.all.size(); ++i) {
    records.insert(contents.id(i), contents.all[i]);
    for (const auto& backward : encoder.encode(contents.id(i), contents.all[i], records).write_backs)
      records.write_back(backward);
  }
  for (const auto& [id, form] : records.forms) {
    truth.deltas += !form.raw;
    truth.stored_bytes += static_cast<double>(form.bytes.size() + (form.raw ? 18 : 34));
  }
  return truth;
}

// Every second byte stands for block compression.
size_t halved(BytesView bytes) {
  return bytes.size() / 2;
}

Advice advise(Contents& contents, double share, uint64_t seed, size_t trial_bytes_max = 64 << 20) {
  AdvisorOptions options;
  options.profiles = {Options::of(Profile::balanced)};
  options.share = share;
  options.contents_expected = contents.all.size();
  options.trial_bytes_max = trial_bytes_max;
  Advisor advisor(options, seed, halved);
  for (size_t i = 0; i < contents.all.size(); ++i) advisor.add(contents.id(i), contents.all[i], contents);
  return advisor.finish(contents);
}

double ratio(const Advice& advice) {
  return static_cast<double>(advice.content_bytes) / static_cast<double>(advice.trials[0].stored_bytes);
}

void check_estimates(Contents contents, std::initializer_list<double> shares) {
  const Truth whole = truth(contents, Options::of(Profile::balanced));
  const double wanted = static_cast<double>(contents.bytes()) / whole.stored_bytes;
  const Advice all = advise(contents, 1, 3);
  CHECK(all.sampled == contents.all.size());
  CHECK(all.trials[0].error == 0);
  CHECK(ratio(all) == Approx(wanted).epsilon(0.03));
  for (const double share : shares) {
    for (const uint64_t seed : {1, 2, 3}) {
      const Advice advice = advise(contents, share, seed);
      INFO("share " << share << " seed " << seed << " chains " << advice.chains << " contents " << advice.sampled);
      CHECK(advice.contents == contents.all.size());
      CHECK(static_cast<double>(advice.sampled) == Approx(share * static_cast<double>(contents.all.size())).epsilon(0.5));
      CHECK(ratio(advice) == Approx(wanted).epsilon(0.15));
      CHECK(advice.trials[0].error < 0.1);
      CHECK(ratio(advice) == Approx(wanted).epsilon(0.02 + 3 * advice.trials[0].error));
      const double deltas = static_cast<double>(advice.trials[0].deltas) / static_cast<double>(advice.contents);
      CHECK(deltas == Approx(static_cast<double>(whole.deltas) / static_cast<double>(contents.all.size())).margin(0.06));
    }
  }
}

}  // namespace

TEST_CASE("a part of the chains tells what histories would save") {
  base::Random random(1);
  check_estimates(histories(random, 500, 5000, 1500), {0.3, 0.2});
}

TEST_CASE("strangers save nothing, and the estimate says so") {
  base::Random random(2);
  check_estimates(strangers(random, 1500, 1500), {0.3, 0.1});
}

TEST_CASE("a chain without end is sampled in pieces") {
  base::Random random(3);
  check_estimates(forms(random, 12000, 600), {0.3});
}

TEST_CASE("strangers among histories keep their weight") {
  base::Random random(4);
  check_estimates(mixed(random), {0.3, 0.2});
}

TEST_CASE("an advisor out of room looks at fewer chains, not at the first ones") {
  base::Random random(5);
  Contents contents = histories(random, 400, 4000, 1500);
  const Advice all = advise(contents, 1, 1);
  const Advice thinned = advise(contents, 1, 1, 500'000);
  CHECK(thinned.share <= 0.5);
  CHECK(thinned.sampled < contents.all.size() * 6 / 10);
  CHECK(ratio(thinned) == Approx(ratio(all)).epsilon(0.15));
}

TEST_CASE("versions that are named need no likeness to be sampled together") {
  base::Random random(6);
  Contents contents = histories(random, 200, 3000, 1500);
  AdvisorOptions options;
  options.profiles = {Options::of(Profile::balanced)};
  options.share = 0.2;
  Advisor advisor(options, 9, halved);
  std::map<Lineage, std::vector<bool>> seen;
  for (size_t i = 0; i < contents.all.size(); ++i) {
    const Lineage lineage = 1 + i % 50;
    seen[lineage].push_back(advisor.add(contents.id(i), contents.all[i], contents, lineage).sampled);
  }
  size_t chains = 0;
  for (const auto& [lineage, sampled] : seen) {
    CHECK(std::count(sampled.begin(), sampled.end(), sampled[0]) == static_cast<ptrdiff_t>(sampled.size()));
    chains += sampled[0];
  }
  CHECK(advisor.finish(contents).chains == chains);
}

TEST_CASE("each profile is tried, and what lies in blocks is counted") {
  base::Random random(7);
  Contents contents = histories(random, 50, 800, 1500);
  AdvisorOptions options;
  options.profiles = {Options::of(Profile::balanced), Options::of(Profile::archive)};
  options.contents_expected = contents.all.size();
  Advisor advisor(options, 5, halved);
  size_t sources = 0;
  for (size_t i = 0; i < contents.all.size(); ++i)
    sources += advisor.add(contents.id(i), contents.all[i], contents).source.has_value();
  size_t asked = 0;
  const Advice advice = advisor.finish(contents, [&] { ++asked; });
  REQUIRE(advice.trials.size() == 2);
  CHECK(sources > 500);
  CHECK(asked > 0);
  CHECK(advice.trials[0].with_source == sources);
  CHECK(advice.plain_bytes == contents.bytes());
  CHECK(advice.plain_block_bytes * 2 <= advice.plain_bytes);
  for (const TrialResult& trial : advice.trials) {
    CHECK(trial.deltas <= advice.contents);
    CHECK(trial.hops_max > 0);
    CHECK(trial.hops_mean > 0);
    CHECK(trial.block_bytes < trial.stored_bytes);
  }
}
