#include "bench/past/documents.h"

#include <filesystem>

#include "base/error.h"
#include "bench/measure/cpu_clock.h"
#include "bson/builder.h"
#include "storage/store.h"

namespace bench::past {
namespace {

constexpr size_t content_bytes = 1'000;

}  // namespace

Documents::Documents(const std::string& path, size_t count) : path_(path), random_(7) {
  std::filesystem::create_directories(path_);
  open();
  store_->catalog().create("bench.documents", {});
  collection_ = store_->catalog().stored(store_->catalog().open("bench.documents")->id());
  std::string text(content_bytes, '\0');
  for (size_t begin = 0; begin < count; begin += batch) {
    storage::in_transaction(*store_, [&](storage::Transaction& transaction) {
      transaction.expect_stamps(batch);
      for (size_t i = begin; i < std::min(count, begin + batch); ++i) {
        for (char& c : text) c = static_cast<char>('a' + random_.below(26));
        bson::Builder out;
        out.append("_id", static_cast<int64_t>(i)).append("n", int64_t{0}).append("text", text);
        documents_.push_back(out.done());
        records_.push_back(collection_->insert(transaction, documents_.back()).id);
      }
    });
  }
}

void Documents::open() {
  storage::StoreOptions options(base::system_clock());
  options.path = path_;
  options.cache_bytes = 512ull << 20;
  options.dedup.enabled = false;
  store_.emplace(options);
  attach_past(true);
}

void Documents::reopen() {
  const storage::CollectionId id = collection_->id();
  collection_.reset();
  views_.reset();
  past_.reset();
  store_->engine().checkpoint();
  store_.reset();
  open();
  collection_ = store_->catalog().stored(id);
}

void Documents::attach_past(bool attached) {
  views_.reset();
  past_.reset();
  if (!attached) return;
  past_.emplace(*store_);
  views_.emplace(*past_);
}

double Documents::update() {
  return update([this] { return next_++ % documents_.size(); });
}

double Documents::update(const std::function<size_t()>& pick) {
  const CpuWatch watch;
  storage::in_transaction(*store_, [&](storage::Transaction& transaction) {
    transaction.expect_stamps(batch);
    for (size_t i = 0; i < batch; ++i) {
      const size_t at = pick();
      bson::Builder out;
      for (const auto& field : documents_[at].view()) {
        if (field.name == "n")
          out.append("n", field.to_int64() + 1);
        else
          out.append_element(field);
      }
      bson::Document after = out.done();
      collection_->update(transaction, records_[at], documents_[at], after);
      documents_[at] = std::move(after);
    }
  });
  return watch.seconds();
}

vp::DeclaredSnapshot Documents::declare() {
  past_->make();
  return past_->snapshots().declare(
      {}, [](storage::Transaction& transaction, const vp::DeclaredSnapshot&) { transaction.next_stamp(); });
}

std::shared_ptr<storage::Collection> Documents::as_of(const vp::DeclaredSnapshot& snapshot) {
  return views_->open(snapshot, "bench@s" + std::to_string(snapshot.number) + ".documents", "bench.documents");
}

double Documents::find(storage::Collection& collection, size_t reads) {
  storage::Transaction transaction(*store_, storage::Transaction::Mode::read);
  const CpuWatch watch;
  for (size_t i = 0; i < reads; ++i) {
    bson::Builder key;
    key.append("_id", static_cast<int64_t>(random_.below(documents_.size())));
    const bson::Document id = key.done();
    const auto record = collection.find_id(transaction, static_cast<bson::ValueView>(id.view().find("_id")));
    base::check(record && collection.find(transaction, *record), "every document is there");
  }
  return watch.seconds();
}

double Documents::find_us(storage::Collection& collection, int rounds) {
  constexpr size_t reads = 5'000;
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) seconds.push_back(find(collection, reads));
  return 1e6 / reads * median(std::move(seconds));
}

double Documents::scan_ms(storage::Collection& collection, int rounds) {
  storage::Transaction transaction(*store_, storage::Transaction::Mode::read);
  return 1e3 * median_cpu_seconds(static_cast<size_t>(rounds), [&](size_t) {
           auto scan = collection.scan(transaction, storage::Direction::forward);
           size_t count = 0;
           while (scan->next()) count += scan->document().size() > 0;
           base::check(count == documents_.size(), "every document is there");
         });
}

int64_t Documents::file_bytes() {
  store_->engine().checkpoint();
  int64_t all = 0;
  for (const std::string& table : store_->engine().table_names()) {
    if (table.starts_with("past-") || table.starts_with("chains-") || table.starts_with("records-") ||
        table.starts_with("packed-"))
      all += store_->engine().file_bytes(table) - store_->engine().reusable_bytes(table);
  }
  return all;
}

uint64_t Documents::blocks_read() const {
  bson::Builder out;
  store_->engine().append_stats(out);
  const bson::Document stats = out.done();
  const bson::Element manager = stats.find("block-manager");
  return manager.exists() ? static_cast<uint64_t>(manager.as_document()["blocks read"].to_int64()) : 0;
}

}  // namespace bench::past
