// What a snapshot costs writers of a collection, and what reading as of one costs (Retro §5).
#include <fmt/core.h>

#include <optional>

#include "base/error.h"
#include "base/random.h"
#include "bench/measure/cpu_clock.h"
#include "bench/past/figures.h"
#include "bson/builder.h"
#include "storage/engine.h"
#include "storage/stored_collection.h"
#include "versions/database/past_views.h"

namespace bench::past {
namespace {

namespace vp = versions::past;

constexpr size_t content_bytes = 1'000;
constexpr size_t batch = 1'000;  // updates in a transaction, and behind one snapshot

// A collection of documents with one field that changes and much that doesn't. Nothing runs in the background.
class Documents {
 public:
  Documents(const std::string& path, size_t count) : random_(7) {
    storage::EngineOptions options;
    options.path = path;
    options.cache_bytes = 512ull << 20;
    options.dedup.enabled = false;
    engine_.emplace(options);
    past_.emplace(*engine_);
    views_.emplace(*past_);
    collection_ = engine_->catalog().create("bench.documents", {});
    std::string text(content_bytes, '\0');
    for (size_t begin = 0; begin < count; begin += batch) {
      storage::in_transaction(*engine_, [&](storage::Transaction& transaction) {
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

  // CPU seconds of one transaction that changes a field of so many documents, the next in a circle.
  double update() {
    const CpuWatch watch;
    storage::in_transaction(*engine_, [&](storage::Transaction& transaction) {
      transaction.expect_stamps(batch);
      for (size_t i = 0; i < batch; ++i) {
        const size_t at = (next_ + i) % documents_.size();
        bson::Builder out;
        for (const auto& field : documents_[at].view()) {
          if (field.name == "n") out.append("n", field.to_int64() + 1);
          else out.append_element(field);
        }
        bson::Document after = out.done();
        collection_->update(transaction, records_[at], documents_[at], after);
        documents_[at] = std::move(after);
      }
    });
    next_ = (next_ + batch) % documents_.size();
    return watch.seconds();
  }
  vp::DeclaredSnapshot declare() {
    past_->make();
    return past_->snapshots().declare({}, [](storage::Transaction& transaction, const vp::DeclaredSnapshot&) { transaction.next_stamp(); });
  }
  std::shared_ptr<storage::Collection> as_of(const vp::DeclaredSnapshot& snapshot) {
    return views_->open(snapshot, "bench@s" + std::to_string(snapshot.number) + ".documents", "bench.documents");
  }
  storage::Collection& now() { return *collection_; }
  storage::Engine& engine() { return *engine_; }
  vp::Past& past() { return *past_; }
  int64_t file_bytes() {
    engine_->checkpoint();
    int64_t all = 0;
    for (const std::string& table : engine_->table_names()) {
      if (table.starts_with("past-") || table.starts_with("chains-")) all += engine_->file_bytes(table) - engine_->reusable_bytes(table);
    }
    return all;
  }
  // CPU µs of looking a document up by its _id, the median of rounds.
  double find_us(storage::Collection& collection, int rounds) {
    constexpr size_t reads = 5'000;
    storage::Transaction transaction(*engine_, storage::Transaction::Mode::read);
    return 1e6 / reads * median_cpu_seconds(static_cast<size_t>(rounds), [&](size_t) {
      for (size_t i = 0; i < reads; ++i) {
        bson::Builder key;
        key.append("_id", static_cast<int64_t>(random_.below(documents_.size())));
        const bson::Document id = key.done();
        const auto record = collection.find_id(transaction, static_cast<bson::ValueView>(id.view().find("_id")));
        base::check(record && collection.find(transaction, *record), "every document is there");
      }
    });
  }
  double scan_ms(storage::Collection& collection, int rounds) {
    storage::Transaction transaction(*engine_, storage::Transaction::Mode::read);
    return 1e3 * median_cpu_seconds(static_cast<size_t>(rounds), [&](size_t) {
      auto scan = collection.scan(transaction, storage::Direction::forward);
      size_t count = 0;
      while (scan->next()) count += scan->document().size() > 0;
      base::check(count == documents_.size(), "every document is there");
    });
  }

 private:
  base::Random random_;
  std::optional<storage::Engine> engine_;
  std::optional<vp::Past> past_;
  std::optional<versions::PastViews> views_;
  std::shared_ptr<storage::Collection> collection_;
  std::vector<bson::Document> documents_;
  std::vector<storage::RecordId> records_;
  size_t next_ = 0;
};

}  // namespace

void run_reads(const Settings& settings, Report& report) {
  Documents without(settings.scratch + "/without", settings.documents), with(settings.scratch + "/with", settings.documents);
  // In turns, and all documents once before it counts: what was just loaded is cheaper to write to.
  const size_t turns = std::max<size_t>(4, 2 * settings.documents / batch);
  for (size_t i = 0; i < settings.documents / batch; ++i) {
    without.update();
    with.update();
  }
  const auto first = with.declare();
  const double found_now = with.find_us(with.now(), settings.rounds), found_shared = with.find_us(*with.as_of(first), settings.rounds);
  const double scanned_now = with.scan_ms(with.now(), settings.rounds), scanned_shared = with.scan_ms(*with.as_of(first), settings.rounds);
  const int64_t bytes_before = with.file_bytes();
  const uint64_t saved_before = with.past().saved();
  std::vector<double> plain, saving, declaring;
  for (size_t i = 0; i < turns; ++i) {
    plain.push_back(without.update() * 1e6 / batch);
    const CpuWatch watch;
    with.declare();
    declaring.push_back(watch.seconds() * 1e6);
    saving.push_back(with.update() * 1e6 / batch);
    with.past().seal();
  }
  const double saved = static_cast<double>(with.past().saved() - saved_before);
  const double bytes = static_cast<double>(with.file_bytes() - bytes_before) / saved;
  const auto old = with.as_of(first);
  with.find_us(*old, 1);
  const double found_saved = with.find_us(*old, settings.rounds), scanned_saved = with.scan_ms(*old, settings.rounds);
  const double found_later = with.find_us(with.now(), settings.rounds);

  Figure figure{"R1", "A collection and its past", {}, {}, {}, {}};
  figure.tables.push_back({fmt::format("{} documents of 1 KB, one field changed, {} updates a transaction", number_text(static_cast<double>(settings.documents)), batch),
                           {"", "now", "shared", "saved"},
                           {{"an update without / with a snapshot before each transaction, CPU µs", number_text(median(plain)), "", number_text(median(saving))},
                            {"to declare a snapshot, CPU µs", "", "", number_text(median(declaring))},
                            {"a document by its _id, CPU µs", number_text(found_now), number_text(found_shared), number_text(found_saved)},
                            {"the same, while there are snapshots, CPU µs", number_text(found_later), "", ""},
                            {"a scan, CPU ms", number_text(scanned_now), number_text(scanned_shared), number_text(scanned_saved)},
                            {"bytes of files a saved change", "", "", number_text(bytes)}}});
  figure.notes.push_back("shared: not written since the snapshot; saved: written since, many times over; files after a checkpoint, less what is free in them");
  report.figures.push_back(std::move(figure));
  report.goals.push_back({"CPU an update, a snapshot before each transaction of 1,000", "×", median(saving) / median(plain), 1.13, true, "against none declared, beside it; every update is the first since the snapshot"});
  report.goals.push_back({"as-of point read, still shared", "×", found_shared / found_now, 1.05, true, "against a current one"});
  report.goals.push_back({"as-of point read, saved", "×", found_saved / found_later, 1.5, true, "against a current one"});
  report.goals.push_back({"as-of scan", "×", std::max(scanned_shared, scanned_saved) / scanned_now, 2, true, "against a current one, shared or saved"});
  report.goals.push_back({"bytes of a saved one-field change of 1 KB", "B", bytes, 200, true, "files of the past and of kept contents"});
}

}  // namespace bench::past
