#include "storage/contents/row_past.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <map>

#include "base/hash.h"
#include "base/random.h"
#include "dedup/delta.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/contents.h"
#include "storage/contents/kept_contents.h"
#include "storage/contents/record_store.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/test_support.h"

using namespace storage;
using base::Bytes;

namespace {

Stamp stamp(uint32_t seconds, uint32_t count) {
  return static_cast<Stamp>(seconds) << 32 | count;
}

std::string letters(base::Random& random, size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>('a' + random.below(26));
  return text;
}

// OneRecord holds one record and everything that it ever was, as a user of declared snapshots keeps it.
class OneRecord {
 public:
  explicit OneRecord(uint64_t seed) : random_(seed), content_(letters(random_, 700)) {
    write(
        [&](Transaction& transaction) { id_ = records_->insert(transaction, content_, generation_ = transaction.next_stamp()); });
  }

  void snapshot() {
    write([&](Transaction& transaction) { newest_ = transaction.next_stamp(); });
    shown_[newest_] = {generation_, content_};
  }
  void forget_snapshots() {
    shown_.clear();
    newest_ = 0;
  }
  void update(const std::string& content) {
    write([&](Transaction& transaction) {
      const Stamp stamp = transaction.next_stamp();
      note(records_->update(transaction, id_, content, stamp, newest_), stamp);
      generation_ = stamp;
    });
    content_ = content;
  }
  void edit() {
    std::string content = content_;
    content[random_.below(content.size())] = '!';
    update(content);
  }
  void rewrite() { update(letters(random_, 200 + random_.below(800))); }
  void remove() {
    write([&](Transaction& transaction) { note(records_->remove(transaction, id_, newest_), transaction.next_stamp()); });
    gone_ = true;
  }
  // Marks the content as no record's current one, as history does when it drops a content.
  void let_go() {
    write([&](Transaction& transaction) {
      const Superseded before = records_->remove(transaction, id_, Keep(0, newest_));
      CHECK_FALSE(before.kept);
      left_[transaction.next_stamp()] = before.left_from;
    });
    shown_.erase(newest_);
    gone_ = true;
  }

  // Compares what the record's row and its chain have with what was shown.
  void check() {
    Transaction transaction(store_, Transaction::Mode::read);
    for (const auto& [snapshot, due] : shown_) {
      INFO("snapshot " << to_string({id_, snapshot}));
      Bytes content;
      if (!records_->find_not_after(transaction, id_, snapshot, content)) {
        const auto group = left_.lower_bound(snapshot);  // the first group that left after the snapshot
        REQUIRE(group != left_.end());
        KeptContents kept(*records_, transaction);
        REQUIRE(kept.newest(id_, group->second, snapshot) == due.first);
        REQUIRE(kept.find_newest(id_, group->second, snapshot, content));
      } else {
        REQUIRE(records_->generation_not_after(transaction, id_, snapshot, false) == due.first);
        REQUIRE(records_->find(transaction, id_, due.first) == content);
      }
      REQUIRE(content == due.second);
    }
    REQUIRE(records_->find(transaction, id_) == (gone_ ? std::nullopt : std::optional<Bytes>(content_)));
    const ChainReport report = check_chains(records_->state().chains, transaction, true, nullptr);
    for (const auto& problem : report.problems) UNSCOPED_INFO(problem.what);
    REQUIRE(report.problem_count == 0);
    REQUIRE((report.counts == records_->state().chains.counters().get().of_rows()));
  }
  // Releases everything that was kept, as a sweep does.
  void release_all() {
    write([&](Transaction& transaction) {
      std::vector<Stamp> kept;
      records_->each_kept(transaction, id_, 0, [&](Stamp one) { return kept.push_back(one), true; });
      for (const Stamp one : kept) REQUIRE_FALSE(records_->release(transaction, id_, one, id_).empty());
      records_->drop_pre_states(transaction, id_);
    });
    left_.clear();
    shown_.clear();
  }
  int64_t chain_rows() const { return records_->state().chains.counters().get().chain_rows; }
  size_t left() const { return left_.size(); }
  base::Random& random() { return random_; }

 private:
  template <class Work>
  void write(Work&& work) {
    in_transaction(store_, [&](Transaction& transaction) {
      transaction.expect_stamps(2);
      work(transaction);
    });
  }
  void note(const Superseded& before, Stamp write) {
    REQUIRE(before.kept == (before.generation <= newest_));
    if (before.left_from != 0) left_[write] = before.left_from;
  }

  TemporaryDirectory directory_;
  Store store_{test_options(directory_.path())};
  std::unique_ptr<RecordStore> records_ = std::make_unique<RecordStore>(store_.contents(), 7);
  base::Random random_;
  RecordId id_ = 0;
  std::string content_;
  Stamp generation_ = 0, newest_ = 0;
  bool gone_ = false;
  std::map<Stamp, std::pair<Stamp, std::string>> shown_;  // what each snapshot shows
  std::map<Stamp, Stamp> left_;                           // when contents left the row, and the oldest of them
};

}  // namespace

TEST_CASE("a list of pre-states comes back as it was written, and a damaged one is refused") {
  const Bytes own = "what it is now", one = "what it was then", two = "what it was before that";
  const auto entry = [](BytesView base, BytesView content, Stamp generation, Bytes& delta) {
    delta = dedup::encode(base, content).value();
    return PreState{generation, content.size(), base::checksum32(content), delta, 0};
  };
  Bytes list, first, second;
  const Stamp above = stamp(1'800'000'000, 5);
  append_pre_state(list, above, entry(own, one, stamp(1'800'000'000, 3), first));
  append_pre_state(list, stamp(1'800'000'000, 3), entry(one, two, stamp(1'799'999'000, 9), second));
  const auto parsed = RowPreStates::parse(list, above);
  REQUIRE(parsed.ok());
  REQUIRE(parsed.value().size() == 2);
  CHECK(parsed.value()[1].end == list.size());
  const PreStateSummary summary = PreStateSummary::of(list, above).value();
  CHECK(summary.count == 2);
  CHECK(summary.newest.generation == stamp(1'800'000'000, 3));
  CHECK(summary.newest.end == parsed.value()[0].end);
  CHECK(summary.oldest == stamp(1'799'999'000, 9));
  Bytes content;
  const auto pre_state_content = [](BytesView all, Stamp now, BytesView content_now, Stamp newest,
                                    Bytes& out) -> base::Result<Stamp> {
    PreStateSearch search;
    const auto found = search.find(all, now, newest);
    if (!found.ok() || found.value() == 0) return found;
    if (auto failure = search.make(content_now, out)) return std::move(*failure);
    return found;
  };
  CHECK(pre_state_content(list, above, own, above, content).value() == stamp(1'800'000'000, 3));
  CHECK(content == one);
  CHECK(pre_state_content(list, above, own, stamp(1'800'000'000, 2), content).value() == stamp(1'799'999'000, 9));
  CHECK(content == two);
  CHECK(pre_state_content(list, above, own, stamp(1'799'999'000, 8), content).value() == 0);

  const Bytes row = raw_row(above, 3, own, {list, true});
  const RecordRow read = parse_record_row(row, 7).value();
  CHECK(read.past.pre_states == list);
  CHECK(read.past.behind);
  CHECK(read.content == own);
  const Bytes stub = stub_row(7, above, 4, {list, false});
  CHECK(parse_record_row(stub, 7).value().past.pre_states == list);
  CHECK(parse_record_row(stub, 7).value().chain == 4);
  for (size_t cut = 1; cut < stub.size(); ++cut) CHECK_FALSE(parse_record_row(stub.substr(0, cut), 7).ok());

  for (size_t at = 0; at < list.size(); ++at) {
    for (const int change : {1, 0x40, 0x80}) {
      Bytes damaged = list;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const auto made = pre_state_content(damaged, above, own, stamp(1'800'000'000, 2), content);
      if (made.ok() && made.value() == stamp(1'799'999'000, 9)) CHECK(content == two);
    }
    (void)RowPreStates::parse(list.substr(0, at), above);
  }
  Bytes endless;
  for (Stamp i = 0; i <= RowPreStates::count_max; ++i) append_pre_state(endless, above - i, {above - i - 1, 0, 0, {}, 0});
  CHECK_FALSE(RowPreStates::parse(endless, above).ok());
}

TEST_CASE("what a record was stays in its row, and leaves it together") {
  OneRecord record(1);
  for (size_t i = 0; i < RowPreStates::count_max; ++i) {
    record.snapshot();
    record.edit();
  }
  CHECK(record.chain_rows() == 0);
  record.check();
  record.edit();  // no snapshot shows what this replaces
  CHECK(record.chain_rows() == 0);
  record.check();
  record.snapshot();
  record.edit();
  CHECK(record.chain_rows() == 1);
  CHECK(record.left() == 1);
  record.check();
  record.snapshot();
  record.edit();
  record.rewrite();
  record.check();
  CHECK(record.left() == 2);
  record.release_all();
  CHECK(record.chain_rows() == 0);
  record.check();
}

TEST_CASE("pre-states that no snapshot shows any more are forgotten by the next write") {
  OneRecord record(2);
  record.snapshot();
  record.edit();
  record.forget_snapshots();
  record.snapshot();  // dropped at once: nothing is kept for it
  record.forget_snapshots();
  record.edit();
  record.remove();
  CHECK(record.chain_rows() == 0);
  record.check();
}

TEST_CASE("what a row keeps stays when the content that goes with it is not kept") {
  OneRecord record(3);
  for (int i = 0; i < 3; ++i) {
    record.snapshot();
    record.edit();
  }
  record.snapshot();
  record.let_go();
  CHECK(record.chain_rows() == 1);
  record.check();
  record.release_all();
  CHECK(record.chain_rows() == 0);
}

TEST_CASE("whatever becomes of a record, each snapshot finds what it was") {
  CHECK(rc::check([](uint64_t seed) {
    OneRecord record(seed);
    base::Random& random = record.random();
    for (uint64_t steps = 5 + random.below(60); steps > 0; --steps) {
      const uint64_t dice = random.below(20);
      if (dice < 8)
        record.snapshot();
      else if (dice < 17)
        record.edit();
      else if (dice < 19)
        record.rewrite();
      else
        record.check();
    }
    if (random.below(2)) record.remove();
    record.check();
    record.release_all();
    RC_ASSERT(record.chain_rows() == 0);
    record.check();
  }));
}
