// This test damages the files of a directory in many ways, and checks each time that the store opens or says why it doesn't, that
// no read gives other bytes than were written, that validate names just the documents that can't be read, and that a repair
// leaves a sound collection without them.
//
// Each damage is looked at by a process of its own, so that one that ends abruptly is an outcome like others.
// PALIMPSEST_DAMAGES=1000 makes a thousand damages; PALIMPSEST_SEED=7 begins with another seed.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "base/random.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/catalog.h"
#include "storage/testing/damage.h"
#include "storage/testing/test_support.h"
#include "storage/upkeep/renew_indexes.h"
#include "storage/upkeep/repair.h"
#include "storage/upkeep/validate.h"

using namespace storage;
using namespace storage::test;
namespace fs = std::filesystem;

namespace {

constexpr char pages_ns[] = "wiki.pages", others_ns[] = "wiki.others";
enum Outcome { fine = 0, wrong = 1, refused = 3, stopped = 14 };

struct Model {
  std::map<RecordId, bson::Document> documents;
  std::map<RecordId, Stamp> shown_then;  // the declared snapshot that shows the record as it is now
};

StoreOptions options_of(const std::string& path) {
  StoreOptions options = test_options(path);
  options.cache_bytes = 32 << 20;
  return options;
}

// `crash` is called when much of the data is in the journal alone.
Model fill(const std::string& path, const std::function<void()>& crash = nullptr) {
  Model model;
  Store store(options_of(path));
  base::Random random(7);
  const auto pages = store.catalog().create(pages_ns, {}), others = store.catalog().create(others_ns, {});
  store.catalog().create_indexes(pages, {parse_index_spec(bson::json("{key: {n: 1}, name: 'n'}"))});
  std::string texts[12];
  for (auto& text : texts) text = words(random, 3000);
  for (int i = 0; i < 600; ++i) {
    auto& text = texts[i % 12];
    text.replace(random.below(2900), random.below(30), words(random, 20));
    bson::Builder made;
    made.append("_id", i).append("n", i % 7).append("text", text);
    const auto document = made.done();
    const Stored stored = in_transaction(store, [&](Transaction& t) { return pages->insert(t, document); });
    model.documents[stored.id] = document;
    in_transaction(store, [&](Transaction& t) { others->insert(t, bson::json("{_id: " + std::to_string(i) + "}")); });
  }
  store.dedup().drain(true);
  store.engine().checkpoint();
  for (int i = 600; i < 700; ++i) {
    bson::Builder made;
    made.append("_id", i).append("n", i % 7).append("text", words(random, 1000));
    const auto document = made.done();
    model.documents[in_transaction(store, [&](Transaction& t) { return pages->insert(t, document); }).id] = document;
  }
  for (auto& [record, document] : model.documents) {
    if (record % 10 != 0) continue;
    for (int times = 0; times < 2; ++times) {
      in_transaction(store, [&, record = record, &document = document](Transaction& transaction) {
        transaction.expect_stamps(2);
        const Stamp declared = transaction.next_stamp();
        if (times == 0) model.shown_then[record] = declared;
        pages->records().update(transaction, record, document.bytes(), transaction.next_stamp(), declared);
      });
    }
  }
  store.dedup().drain(false);
  store.engine().wait_durable();
  if (crash) crash();
  return model;
}

// --- the damage

std::string damage(const std::string& directory, base::Random& random) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.file_size() > 0 && entry.path().extension() != ".lock") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  const fs::path file = files[random.below(files.size())];
  const std::string path = file, name = fs::relative(file, directory);
  const uint64_t bytes = fs::file_size(file);
  switch (random.below(6)) {
    case 0:
    case 1: {
      const uint64_t at = random.below(bytes);
      flip_byte(path, at);
      return name + ": a flipped byte at " + std::to_string(at);
    }
    case 2: {
      const uint64_t left = random.below(bytes);
      fs::resize_file(file, left);
      return name + ": cut off at " + std::to_string(left);
    }
    case 3: fs::remove(file); return name + ": missing";
    default: break;
  }
  const std::vector<FileBlock> blocks = name.ends_with(".wt") ? file_blocks(path) : std::vector<FileBlock>();
  if (blocks.size() > 1 && random.below(2) == 0) {
    const FileBlock &one = blocks[random.below(blocks.size())], &other = blocks[random.below(blocks.size())];
    if (one.offset != other.offset) {
      swap_blocks(path, one, other);
      return name + ": swapped " + std::to_string(one.offset) + " and " + std::to_string(other.offset);
    }
  }
  const uint64_t page = random.below(bytes) / 4096 * 4096, length = std::min<uint64_t>(4096, bytes - page);
  zero_bytes(path, page, length);
  return name + ": zeros at " + std::to_string(page);
}

// These files say where everything else is, or are the journal. Without them the store may refuse to open.
bool is_essential(const std::string& damaged) {
  return damaged.starts_with("WiredTiger") || damaged.starts_with("palimpsest.json") || damaged.starts_with("journal/");
}

// Nothing says of a journal that ends early what it had, because a crash ends one in the same way.
bool shortens_journal(const std::string& damaged) {
  return damaged.starts_with("journal/") &&
         (damaged.find(": cut off") != damaged.npos || damaged.find(": zeros") != damaged.npos);
}

// --- what has to hold

struct Wrong {
  std::string what;
};
void require(bool holds, const std::string& what) {
  if (!holds) throw Wrong{what};
}

template <class Work>
bool readable(Work work) {
  try {
    work();
    return true;
  } catch (const base::OperationError& error) {
    require(error.code() == base::ErrorCode::data_corruption_detected, std::string("another error: ") + error.what());
    return false;
  }
}

std::set<RecordId> unreadable(Store& store, Collection& pages, const Model& model) {
  std::set<RecordId> damaged;
  for (const auto& [record, document] : model.documents) {
    const bool read = readable([&, record = record, &document = document] {
      Transaction transaction(store, Transaction::Mode::read);
      const auto found = pages.find(transaction, record, nullptr);
      require(found.has_value(), "record " + std::to_string(record) + " is missing");
      require(found->bytes() == document.bytes(), "record " + std::to_string(record) + " has other bytes");
    });
    if (!read) damaged.insert(record);
    readable([&, &document = document] {
      Transaction transaction(store, Transaction::Mode::read);
      require(pages.find_id(transaction, document["_id"]).has_value(), "an _id is missing");
    });
    if (const auto then = model.shown_then.find(record); then != model.shown_then.end()) {
      readable([&, record = record, &document = document] {
        Transaction transaction(store, Transaction::Mode::read);
        Bytes content;
        require(pages.records().find_not_after(transaction, record, then->second, content), "a snapshot lacks a record");
        require(content == document.bytes(), "a snapshot shows other bytes");
      });
    }
  }
  size_t scanned = 0;
  const bool whole = readable([&] {
    Transaction transaction(store, Transaction::Mode::read);
    const auto scan = pages.scan(transaction, Direction::forward);
    for (; scan->next(); ++scanned)
      require(scan->document().bytes() == model.documents.at(scan->record()).bytes(), "a scan shows other bytes");
  });
  require(!whole || (scanned == model.documents.size() && damaged.empty()), "a scan leaves documents out");
  return damaged;
}

// Returns the records that validate says can't be read.
std::set<RecordId> named(const ValidateReport& report) {
  std::set<RecordId> records;
  for (const std::string& error : report.errors) {
    const size_t end = error.find(") can't be read: "), begin = error.rfind("(record ", end);
    if (end == error.npos || begin == error.npos) continue;
    records.insert(std::stoll(error.substr(begin + 8)));
  }
  return records;
}

// Returns an outcome, and throws Wrong.
int look(const std::string& directory, const Model& model, bool others_damaged) {
  std::unique_ptr<Store> store;
  try {
    store = std::make_unique<Store>(options_of(directory));
  } catch (const base::OperationError& error) {
    std::cerr << "refused: " << error.what() << "\n";
    return refused;
  }
  const auto pages = store->catalog().open(pages_ns), others = store->catalog().open(others_ns);
  require(pages && others, "a collection is missing");
  if (!others_damaged) {
    for (int i = 0; i < 20; ++i) {
      bson::Builder made;
      made.append("_id", 100'000 + i);
      in_transaction(*store, [&](Transaction& t) { others->insert(t, made.done()); });
    }
    require(validate_collection(*store, others, true).valid, "the other collection is damaged too");
  }
  const std::set<RecordId> damaged = unreadable(*store, *pages, model);
  const ValidateReport before = validate_collection(*store, pages, true);
  require(damaged.empty() || !before.valid, "validate finds nothing");
  require(named(before) == damaged, "validate names " + std::to_string(named(before).size()) + " documents, and " +
                                        std::to_string(damaged.size()) + " can't be read");
  const RepairReport repair = repair_collection(*store, pages, true, {}, nullptr);
  for (const std::string& error : repair.after.errors) std::cerr << "after the repair: " << error << "\n";
  require(repair.after.valid, "the repair leaves errors");
  require(repair.lost.size() <= damaged.size(), "more is lost than was damaged");
  store->engine().checkpoint();
  size_t left = 0;
  for (const auto& [record, document] : model.documents) {
    Transaction transaction(*store, Transaction::Mode::read);
    const auto found = pages->find(transaction, record, nullptr);
    require(found ? found->bytes() == document.bytes() : damaged.contains(record), "the repair lost or changed a document");
    left += found.has_value();
  }
  require(left + damaged.size() >= model.documents.size(), "the repair lost documents");
  require(static_cast<int64_t>(left) == pages->record_count(), "the repair leaves a wrong count");
  return fine;
}

// A process that hangs is killed.
constexpr unsigned longest_s = 120;

int in_process(const std::function<int()>& work) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(longest_s);
    int outcome = wrong;
    try {
      outcome = work();
    } catch (const Wrong& problem) {
      std::cerr << "wrong: " << problem.what << "\n";
    } catch (const std::exception& error) {
      std::cerr << "wrong: " << error.what() << "\n";
    }
    ::_exit(outcome);
  }
  int status = 0;
  base::check(::waitpid(child, &status, 0) == child, "the child ends");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

uint64_t number_of(const char* variable, uint64_t usual) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

}  // namespace

TEST_CASE("damaged files cost what they held, and nothing else") {
  TemporaryDirectory closed, crashed;
  // The parent has no threads of a store when it forks.
  const Model model = fill(closed.path(), [&] { closed.copy_to(crashed); });
  const uint64_t seed = number_of("PALIMPSEST_SEED", 1), count = number_of("PALIMPSEST_DAMAGES", 30);
  std::map<std::string, int> outcomes;
  for (uint64_t i = seed; i < seed + count; ++i) {
    TemporaryDirectory directory;
    const TemporaryDirectory& sound = i % 2 == 0 ? crashed : closed;
    fs::copy(sound.path(), directory.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    base::Random random(i);
    const std::string what = damage(directory.path(), random);
    if (i % 2 == 0 && shortens_journal(what)) {
      ++outcomes["not looked at"];
      continue;
    }
    const std::string how = i % 2 == 0 ? "after a crash: " : "";
    const bool others_damaged = what.find("-2") != what.npos;
    int outcome = in_process([&] { return look(directory.path(), model, others_damaged); });
    const std::string text = outcome == fine ? "fine" : outcome == refused ? "refused" : outcome == stopped ? "stopped" : "wrong";
    ++outcomes[text];
    if (count > 100) std::cout << i << " " << how << what << ": " << text << " (" << outcome << ")\n" << std::flush;
    INFO("seed " << i << ", " << how << what << ": exit code " << outcome);
    CHECK((outcome == fine || (is_essential(what) && (outcome == refused || outcome == stopped))));
  }
  for (const auto& [text, times] : outcomes) std::cout << text << ": " << times << "\n";
}

TEST_CASE("a damaged index is built anew") {
  TemporaryDirectory directory;
  const Model model = fill(directory.path());
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    if (!entry.path().filename().string().starts_with("index-1-")) continue;
    for (const FileBlock& block : file_blocks(entry.path())) {
      if (block.leaf) flip_byte(entry.path(), block.offset + 45);
    }
  }
  Store store(options_of(directory.path()));
  const auto pages = store.catalog().open(pages_ns);
  const auto find = [&] {
    Transaction transaction(store, Transaction::Mode::read);
    return pages->find_id(transaction, model.documents.begin()->second["_id"]);
  };
  CHECK_THROWS_AS(find(), base::OperationError);
  IndexRenewal renewal(store);
  CHECK(renewal.run() == 1);
  CHECK(find() == model.documents.begin()->first);
  CHECK(renewal.run() == 0);
  CHECK(unreadable(store, *pages, model).empty());
  CHECK(validate_collection(store, pages, true).valid);
}
