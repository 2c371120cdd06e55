// These tests run random histories of similar documents, with all background work in between, and compare them with a map.
#include "storage/contents/chain_store.h"

#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "base/hash.h"
#include "base/random.h"
#include "dedup/memory_pages.h"
#include "storage/background/dedup_service.h"
#include "storage/background/table_packer.h"
#include "storage/background/write_back_flusher.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

namespace {

Bytes text(base::Random& random, size_t bytes) {
  Bytes out;
  while (out.size() < bytes) {
    for (uint64_t letters = 2 + random.below(9); letters > 0; --letters) out.push_back(static_cast<char>('a' + random.below(26)));
    out.push_back(' ');
  }
  return out;
}

Bytes edited(base::Random& random, Bytes from) {
  for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
    const size_t at = random.below(from.size() + 1);
    const size_t removed = std::min<size_t>(from.size() - at, random.below(40));
    from.replace(at, removed, text(random, random.below(60)));
  }
  return from;
}

StoreOptions quiet(const std::string& path) {
  StoreOptions options = test_options(path);
  options.dedup.enabled = false;  // the test does the background's work itself
  return options;
}

class History {
 public:
  explicit History(uint64_t seed) : random_(seed) { open(); }

  void step() {
    const uint64_t dice = random_.below(100);
    if (dice < 40 || model_.empty()) return insert();
    if (dice < 50) return update();
    if (dice < 58) return remove();
    if (dice < 70) return encode();
    if (dice < 82) return flush();
    if (dice < 92) return read();
    if (dice < 95) return splice();
    if (dice < 97) return pack();
    if (dice < 98) return reopen();
    if (dice < 99) return crash_copy();
    check(*record_store_, *store_);
  }

  void finish() {
    encode();
    while (!waiting_.empty()) flush();
    read_all(*record_store_, *store_);
    splice();
    read_all(*record_store_, *store_);
    check(*record_store_, *store_);
    counts_are_right();
    // When every record is removed, nothing may be left behind, whatever was based on what.
    while (!model_.empty()) remove();
    check(*record_store_, *store_);
    counts_are_right();
    const StoreCounts counts = record_store_->state().chains.counters().get();
    CHECK(counts.chain_rows == 0);
    CHECK(counts.heads == 0);
    CHECK(counts.records == 0);
  }

  uint64_t written() const { return figures_.written; }
  uint64_t stale() const { return figures_.stale; }
  uint64_t wrong() const { return figures_.wrong; }
  uint64_t spliced() const { return spliced_; }
  size_t retained() const { return retained_; }

 private:
  struct Current {
    Stamp generation;
    Bytes content;
  };

  void open() {
    collection_.reset();
    store_.reset();
    store_ = std::make_unique<Store>(quiet(directory_.path()));
    collection_ = store_->catalog().open_or_create("test.histories");
    record_store_ = &collection_->records();
    encoder_ = std::make_unique<dedup::Encoder>(options(), 42, pages_);
    store_->dedup().drain();  // dedup has taken up what it knows of the collection
    if (opened_) {
      Transaction transaction(*store_, Transaction::Mode::read);
      StoreCounts counts = check_chains(record_store_->state().chains, transaction, false).counts;
      counts += counts_before_;
      counts -= counts_before_.of_rows();
      record_store_->state().chains.counters().set(counts);
    }
    opened_ = true;
  }
  dedup::Options options() const {
    auto chosen = dedup::Options::of(dedup::Profile::balanced);
    chosen.hop_distance = 4;  // so that hop bases are re-encoded often
    return chosen;
  }

  RecordId any() {
    auto at = model_.begin();
    std::advance(at, static_cast<long>(random_.below(model_.size())));
    return at->first;
  }

  Bytes next_content() {
    if (model_.empty() || random_.below(12) == 0) return text(random_, 300 + random_.below(3000));
    return edited(random_, model_[any()].content);
  }

  void insert() {
    const Bytes content = next_content();
    Current made{0, content};
    const RecordId record = in_transaction(*store_, [&](Transaction& transaction) {
      made.generation = transaction.next_stamp();
      return record_store_->insert(transaction, content, made.generation);
    });
    model_[record] = made;
    queue_.push_back({collection_->id(), record, made.generation});
  }

  void update() {
    const RecordId record = any();
    const Bytes content = random_.below(6) == 0 ? text(random_, 500) : edited(random_, model_[record].content);
    Stamp generation = 0;
    const Superseded before = in_transaction(*store_, [&](Transaction& transaction) {
      generation = transaction.next_stamp();
      return record_store_->update(transaction, record, content, generation);
    });
    Current& now = model_[record];
    REQUIRE(before.bytes == now.content);
    REQUIRE(before.generation == now.generation);
    encoder_->forget({collection_->id(), record, now.generation});
    now = {generation, content};
    queue_.push_back({collection_->id(), record, generation});
  }

  void remove() {
    const RecordId record = any();
    const Superseded before =
        in_transaction(*store_, [&](Transaction& transaction) { return record_store_->remove(transaction, record); });
    REQUIRE(before.bytes == model_[record].content);
    encoder_->forget({collection_->id(), record, before.generation});
    model_.erase(record);
  }

  void encode() {
    struct Source : dedup::RecordSource {
      History& history;
      explicit Source(History& h) : history(h) {}
      std::optional<Bytes> fetch(const dedup::ContentId& id) override {
        Transaction transaction(*history.store_, Transaction::Mode::read);
        return history.record_store_->find(transaction, id.record, id.generation);
      }
    } source(*this);
    for (const auto& id : queue_) {
      const auto now = model_.find(id.record);
      if (now == model_.end() || now->second.generation != id.generation) continue;
      auto encoding = encoder_->encode(id, now->second.content, source);
      for (auto& backward : encoding.write_backs) waiting_.push_back(std::move(backward));
    }
    queue_.clear();
  }

  void flush() {
    std::vector<dedup::Backward> batch;
    for (uint64_t count = 1 + random_.below(8); count > 0 && !waiting_.empty(); --count) {
      const size_t at = random_.below(waiting_.size());
      if (random_.below(10) != 0) batch.push_back(waiting_[at]);  // the others are lost
      waiting_.erase(waiting_.begin() + static_cast<long>(at));
    }
    flush_write_backs(
        *store_, batch, [this](CollectionId) { return std::shared_ptr<ChainStore>(collection_, &record_store_->state().chains); },
        figures_);
  }

  void read() {
    const RecordId record = any();
    Transaction transaction(*store_, Transaction::Mode::read);
    REQUIRE(record_store_->find(transaction, record) == model_[record].content);
    REQUIRE(record_store_->find(transaction, record, model_[record].generation) == model_[record].content);
    REQUIRE(record_store_->find(transaction, record, model_[record].generation + 1) == std::nullopt);
  }

  void splice() {
    for (const auto& dead : record_store_->state().take_dead()) {
      spliced_ += in_transaction(
          *store_, [&](Transaction& transaction) { return record_store_->state().chains.splice(transaction, dead); });
    }
  }

  void pack() {
    TablePacker packer(store_->contents());
    packer.pack(record_store_->state().chains, random_.below(2) == 0, [] { return false; });
  }

  void reopen() {
    counts_before_ = record_store_->state().chains.counters().get();
    open();
  }

  void crash_copy() {
    store_->engine().wait_durable();
    INFO("in a copy taken while it was open");
    TemporaryDirectory copy;
    directory_.copy_to(copy);
    std::filesystem::remove(copy.path() + "/WiredTiger.lock");
    Store store(quiet(copy.path()));
    const auto collection = store.catalog().open("test.histories");
    REQUIRE(collection);
    read_all(collection->records(), store);
    check(collection->records(), store);
  }

  void read_all(RecordStore& record_store, Store& store) {
    Transaction transaction(store, Transaction::Mode::read);
    for (const auto direction : {Direction::forward, Direction::backward}) {
      auto cursor = record_store.cursor(transaction, direction);
      size_t count = 0;
      RecordId last = direction == Direction::forward ? 0 : record_id_max;
      while (cursor.next()) {
        REQUIRE((direction == Direction::forward ? last < cursor.id() : last > cursor.id()));
        last = cursor.id();
        REQUIRE(model_.count(cursor.id()) == 1);
        INFO("record " << cursor.id());
        REQUIRE(cursor.generation() == model_[cursor.id()].generation);
        REQUIRE((cursor.content() == model_[cursor.id()].content));
        ++count;
      }
      REQUIRE(count == model_.size());
    }
  }

  void check(RecordStore& record_store, Store& store) {
    Transaction transaction(store, Transaction::Mode::read);
    const ChainReport report = check_chains(record_store.state().chains, transaction, true);
    for (const auto& problem : report.problems) UNSCOPED_INFO("record " << problem.record << ": " << problem.what);
    REQUIRE(report.problem_count == 0);
    retained_ = std::max(retained_, static_cast<size_t>(report.counts.dead));
  }

  void counts_are_right() {
    store_->dedup().drain();  // dedup splices what the last reads met
    Transaction transaction(*store_, Transaction::Mode::read);
    StoreCounts scanned = check_chains(record_store_->state().chains, transaction, false).counts;
    StoreCounts kept = record_store_->state().chains.counters().get();
    kept = kept.of_rows();
    INFO("scanned " << base::to_hex(write_counts(scanned)) << ", kept " << base::to_hex(write_counts(kept)));
    REQUIRE((scanned == kept));
  }

  base::Random random_;
  TemporaryDirectory directory_;
  dedup::MemoryPages pages_;
  std::unique_ptr<Store> store_;
  std::shared_ptr<Collection> collection_;
  RecordStore* record_store_ = nullptr;
  std::unique_ptr<dedup::Encoder> encoder_;
  std::map<RecordId, Current> model_;
  std::vector<dedup::ContentId> queue_;
  std::vector<dedup::Backward> waiting_;
  WriteBackFigures figures_;
  uint64_t spliced_ = 0;
  size_t retained_ = 0;
  StoreCounts counts_before_;
  bool opened_ = false;
};

}  // namespace

TEST_CASE("any history of writes and background work reads back as a map does") {
  uint64_t written = 0, spliced = 0, stale = 0;
  size_t retained = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    History history(seed);
    for (int i = 0; i < 400; ++i) history.step();
    history.finish();
    CHECK(history.wrong() == 0);
    written += history.written();
    spliced += history.spliced();
    stale += history.stale();
    retained = std::max(retained, history.retained());
  }
  // The histories must have met the cases that the test is about.
  CHECK(written > 100);
  CHECK(stale > 0);
  CHECK(spliced > 0);
  CHECK(retained > 0);
}

TEST_CASE("a collection dropped while its deltas are written back stays until they are counted") {
  TemporaryDirectory directory;
  Store store(quiet(directory.path()));
  base::Random random(1);
  const Bytes older = text(random, 1000), newer = edited(random, older);
  auto collection = store.catalog().create("test.going", {});
  const std::weak_ptr<Collection> watched = collection;
  RecordStore& records = collection->records();
  dedup::Backward backward;
  backward.target.collection = backward.base.collection = collection->id();
  in_transaction(store, [&](Transaction& transaction) {
    backward.target.generation = transaction.next_stamp();
    backward.target.record = records.insert(transaction, older, backward.target.generation);
    backward.base.generation = transaction.next_stamp();
    backward.base.record = records.insert(transaction, newer, backward.base.generation);
  });
  backward.target_placement.chain = backward.base_placement.chain = backward.target.record;
  backward.delta = *dedup::encode(newer, older, {});
  WriteBackFigures figures;
  const auto first_then_dropped = [&, asked = 0](CollectionId) mutable -> std::shared_ptr<ChainStore> {
    if (asked++ == 0) return {collection, &records.state().chains};
    if (collection) store.catalog().drop("test.going");
    collection.reset();
    return nullptr;
  };
  flush_write_backs(store, {backward, backward}, first_then_dropped, figures);
  CHECK(figures.written + figures.stale + figures.conflicts == 2);
  CHECK(watched.expired());
}

TEST_CASE("reads refuse contents and chains that are longer than they may be, until they may") {
  TemporaryDirectory directory;
  Store store(quiet(directory.path()));
  const ChainStore chains(store.contents(), 7, "balanced");
  const auto set = [&](const std::function<void(dedup::Options&)>& change) {
    dedup::Options options = store.dedup().options();
    change(options);
    store.dedup().set_options(options);
  };
  const auto refusal = [&](RecordId record) -> std::string {
    Transaction transaction(store, Transaction::Mode::read);
    const auto place = find_row(chains.tables(), transaction, record).value();
    try {
      chains.content_of(transaction, record, place.row);
      return "";
    } catch (const base::OperationError& error) {
      CHECK(error.code() == base::ErrorCode::data_corruption_detected);
      return error.what();
    }
  };
  // All these records have one content, and each is a delta of the next.
  const auto put_chain = [&](RecordId first, RecordId last, BytesView content) {
    const Bytes same = *dedup::encode(content, content);
    const uint32_t checksum = base::checksum32(content);
    for (RecordId record = first; record <= last;) {
      in_transaction(store, [&](Transaction& transaction) {
        for (const RecordId end = std::min(last, record + 20'000); record <= end; ++record) {
          const ChainKey key{first, {record, 1}};
          const Bytes row = record == last ? raw_row(1, checksum, content) : stub_row(record, 1, first);
          chains.tables().records.put(transaction, record_key(record), row);
          if (record == last) continue;
          chains.tables().chains.put(transaction, chain_key(key),
                                     chain_row(key, {.form = ChainRow::Form::delta,
                                                     .dead = false,
                                                     .references = 1,
                                                     .length = content.size(),
                                                     .checksum = checksum,
                                                     .base = {first, {record + 1, 1}},
                                                     .payload = same}));
        }
      });
    }
  };

  base::Random random(3);
  put_chain(1, 2, text(random, 18 << 20));
  CHECK(refusal(1).empty());
  set([](dedup::Options& options) { options.decode_content_bytes_max = 17 << 20; });
  CHECK_THAT(refusal(1), Catch::Contains("longer than allowed"));
  set([](dedup::Options& options) { options.decode_content_bytes_max = 32 << 20; });
  CHECK(refusal(1).empty());

  put_chain(10, 10 + (256 << 10) + 1, "a content");
  CHECK(refusal(10).empty());
  set([](dedup::Options& options) { options.decode_hops_max = 256 << 10; });
  CHECK_THAT(refusal(10), Catch::Contains("too many hops"));
  CHECK(refusal(11).empty());
  CHECK_THROWS_AS(set([](dedup::Options& options) { options.decode_bytes_max = 1 << 30; }), base::OperationError);
}

TEST_CASE("counts that were kept before chain tables were packed are read") {
  const StoreCounts counts{.records = 3, .logical_bytes = 700, .thinned_packed_bytes = 5, .unsettled_bytes = -2};
  Bytes bytes = write_counts(counts);
  CHECK(read_counts(bytes) == counts);
  bytes[0] = '\1';
  CHECK_FALSE(read_counts(bytes));
  bytes.pop_back();
  StoreCounts before = counts;
  before.unsettled_bytes = 0;
  CHECK(read_counts(bytes) == before);
}
