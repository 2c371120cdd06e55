#include "datasets/replay/verify.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "bson/builder.h"
#include "bson/json.h"
#include "datasets/input/lines.h"
#include "datasets/replay/acknowledged_log.h"
#include "datasets/replay/client.h"

namespace datasets::replay {
namespace {

constexpr size_t examples_max = 10;
constexpr size_t ids_a_query = 500;

std::string name_of(const std::string& collection, const bson::ValueView& id) {
  bson::Builder document;
  document.append("_id", id);
  return collection + " " + bson::to_json(document.done());
}

void example(Verified& verified, const std::string& text) {
  if (verified.examples.size() < examples_max) verified.examples.push_back(text);
}

bson::Document id_in(const std::vector<bson::Value>& ids) {
  bson::Builder filter;
  {
    bson::Builder condition = filter.object("_id");
    bson::ArrayBuilder in = condition.array("$in");
    for (const bson::Value& id : ids) in.append(id);
  }
  return filter.done();
}

// These documents wait to be read by _id, with the hash that they should have.
class ById {
 public:
  ById(Client& client, const std::string& db, std::string collection, Verified& verified)
      : client_(client), db_(db), collection_(std::move(collection)), verified_(verified) {}

  void add(const bson::ValueView& id, uint64_t hash) {
    ids_.emplace_back(id);
    expected_[id_hash(collection_, id)] = hash;
    if (ids_.size() == ids_a_query) flush();
  }

  void flush() {
    if (ids_.empty()) return;
    client_.find(db_, collection_, id_in(ids_), bson::Document(), [&](bson::DocumentView document) {
      const bson::Element id = document.find("_id");
      const auto expected = expected_.find(id_hash(collection_, id));
      if (expected == expected_.end()) {
        ++verified_.unexpected;
        return;
      }
      if (expected->second == document_hash(document)) {
        ++verified_.by_id;
      } else {
        ++verified_.differing;
        example(verified_, name_of(collection_, id) + " differs when read by _id");
      }
      expected_.erase(expected);
    });
    verified_.missing += expected_.size();
    for (const bson::Value& id : ids_) {
      if (expected_.count(id_hash(collection_, id)))
        example(verified_, name_of(collection_, id) + " is missing when read by _id");
    }
    ids_.clear();
    expected_.clear();
  }

 private:
  Client& client_;
  const std::string& db_;
  std::string collection_;
  Verified& verified_;
  std::vector<bson::Value> ids_;
  std::unordered_map<uint64_t, uint64_t> expected_;
};

class Timer {
 public:
  explicit Timer(double& seconds) : seconds_(seconds) {}
  ~Timer() { seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

Verified verify_all(Client& client, const std::string& db, const std::vector<std::string>& collections, Ledger& ledger,
                    uint64_t by_id_step) {
  Verified verified;
  const Timer timer(verified.seconds);
  ledger.begin_check();
  for (const std::string& collection : collections) {
    // When the scan has ended, a sample small enough to keep is read by _id.
    std::vector<std::pair<bson::Value, uint64_t>> sample;
    constexpr size_t sample_max = 100'000;
    uint64_t step = std::max<uint64_t>(1, by_id_step);
    uint64_t count = 0;
    client.find(db, collection, bson::Document(), bson::Document(), [&](bson::DocumentView document) {
      const bson::Element id = document.find("_id");
      const uint64_t hash = document_hash(document);
      switch (ledger.check(id_hash(collection, id), hash)) {
        case Ledger::Answer::matches:
          ++verified.documents;
          verified.bytes += document.size();
          if (count++ % step == 0) sample.emplace_back(bson::Value(id), hash);
          break;
        case Ledger::Answer::differs:
          ++verified.differing;
          example(verified, name_of(collection, id) + " differs from what was written");
          break;
        case Ledger::Answer::unknown:
          ++verified.unexpected;
          example(verified, name_of(collection, id) + " was never acknowledged");
          break;
        case Ledger::Answer::seen_before: ++verified.unexpected; example(verified, name_of(collection, id) + " is there twice");
      }
      if (sample.size() == sample_max) {
        for (size_t i = 0; i < sample_max / 2; ++i) sample[i] = std::move(sample[2 * i]);
        sample.resize(sample_max / 2);
        step *= 2;
      }
    });
    ById by_id(client, db, collection, verified);
    for (const auto& [id, hash] : sample) by_id.add(id, hash);
    by_id.flush();
  }
  verified.missing += ledger.missing();
  if (ledger.missing() > 0) example(verified, std::to_string(ledger.missing()) + " acknowledged documents are missing");
  return verified;
}

Verified verify_log(Client& client, const std::string& db, const std::string& log_path) {
  Verified verified;
  const Timer timer(verified.seconds);
  std::unordered_map<uint64_t, uint64_t> last;  // the number of an _id's last line
  auto each_line = [&](const std::function<void(uint64_t, const Acknowledged&)>& visit) {
    datasets::BufferedStream log(datasets::open_file(log_path, nullptr));
    datasets::LineReader lines(log);
    uint64_t number = 0;
    while (const auto line = lines.next()) {
      ++number;
      if (const auto write = from_line(*line))
        visit(number, *write);
      else
        example(verified, "line " + std::to_string(number) + " of " + log_path + " cannot be read");
    }
  };
  each_line([&](uint64_t number, const Acknowledged& write) { last[id_hash(write.collection, write.id)] = number; });

  std::unordered_map<std::string, ById> queries;
  each_line([&](uint64_t number, const Acknowledged& write) {
    if (last[id_hash(write.collection, write.id)] != number) return;
    if (write.document == removed_hash) {
      bson::Builder filter;
      filter.append("_id", write.id);
      if (client.find(db, write.collection, filter.done(), bson::Document(), [](bson::DocumentView) {}) == 0) return;
      ++verified.differing;
      example(verified, name_of(write.collection, write.id) + " was removed and is there again");
      return;
    }
    queries.try_emplace(write.collection, client, db, write.collection, verified).first->second.add(write.id, write.document);
  });
  for (auto& [collection, query] : queries) query.flush();
  verified.documents = verified.by_id;
  return verified;
}

}  // namespace datasets::replay
