// A Member is a member without its set: a store, its oplog, and what writes the one from the other.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
#include "bson/json.h"
#include "replication/applier.h"
#include "replication/log_reader.h"
#include "storage/testing/temporary_store.h"
#include "storage/upkeep/validate.h"

namespace replication::test {

struct Member {
  explicit Member(const std::string& path, uint64_t oplog_bytes = 100 << 20, base::Clock& clock = base::system_clock())
      : store(options(path, clock)),
        oplog(store, oplog_bytes),
        committer(store, oplog, clock),
        sessions(store, oplog),
        applier(store, oplog, committer, sessions),
        reader(store, oplog) {}
  static storage::StoreOptions options(const std::string& path, base::Clock& clock = base::system_clock()) {
    storage::StoreOptions options = storage::test_options(path);
    options.replicated = true;
    options.clock = &clock;
    return options;
  }

  std::vector<LogRecord> records(storage::Stamp from = 1, size_t bytes_max = SIZE_MAX) {
    return reader.read(from, store.engine().all_committed(), bytes_max);
  }
  void write(const std::function<void(storage::Transaction&)>& work) { storage::in_transaction(store, work); }

  storage::Store store;
  Oplog oplog;
  LocalCommitter committer;
  SessionStore sessions;
  Applier applier;
  LogReader reader;
};

// The records as they come over the wire.
inline std::vector<LogRecord> sent(const std::vector<LogRecord>& records) {
  std::vector<LogRecord> received;
  for (const LogRecord& record : records) received.push_back(decode_record(encode(record)).or_throw());
  return received;
}
// The same with deltas; each record goes once, and in order.
inline std::vector<LogRecord> sent(Member& from, const std::vector<LogRecord>& records) {
  std::vector<LogRecord> received;
  for (const LogRecord& record : records)
    received.push_back(decode_record(encode(from.applier.forward().encode(record))).or_throw());
  return received;
}

// Words nobody else has, so that likeness is by descent alone.
inline std::string text_of(uint64_t seed, size_t words) {
  base::Random random(seed);
  std::string text;
  while (words-- > 0) text += std::to_string(random()) + " ";
  return text;
}

inline std::string edited(std::string text, uint64_t seed) {
  base::Random random(seed);
  for (int i = 0; i < 3; ++i) text.replace(random.below(text.size() - 20), random.below(20), "edit " + std::to_string(seed));
  return text;
}

inline std::string id_text(bson::DocumentView document) {
  return bson::to_json(static_cast<bson::ValueView>(document["_id"]));
}

inline std::vector<std::string> documents_of(storage::Store& store, storage::Collection& collection) {
  storage::Transaction transaction(store, storage::Transaction::Mode::read);
  std::vector<std::string> documents;
  const auto scan = collection.scan(transaction, storage::Direction::forward);
  while (scan->next()) documents.push_back(id_text(scan->document()) + " " + bson::to_json(scan->document()));
  if (!collection.options().capped) std::sort(documents.begin(), documents.end());
  return documents;
}

// Everything users can tell members apart by.
inline std::vector<std::string> picture(Member& member) {
  std::vector<std::string> all;
  storage::Catalog& catalog = member.store.catalog();
  for (const std::string& db : catalog.databases()) {
    if (db == "local") continue;
    for (const auto& collection : catalog.collections(db)) {
      all.push_back(collection->ns() + " " + base::to_hex(collection->uuid_bytes()) + " " +
                    bson::to_json(collection->options().document) + " " + std::to_string(collection->options().capped_bytes) +
                    " " + std::to_string(collection->record_count()) + " " + std::to_string(collection->logical_bytes()));
      for (const auto& index : collection->indexes()) all.push_back("  index " + bson::to_json(index->spec().document));
      for (std::string& document : documents_of(member.store, *collection)) all.push_back("  " + document);
    }
  }
  for (std::string& entry : documents_of(member.store, *member.oplog.collection())) all.push_back(std::move(entry));
  return all;
}

inline void require_same(Member& a, Member& b) {
  const auto first = picture(a), second = picture(b);
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    if (first[i] == second[i]) continue;
    INFO(first[i] << "\n" << second[i]);
    FAIL("members differ");
  }
  REQUIRE(first.size() == second.size());
}

inline void require_valid(Member& member) {
  for (const std::string& db : member.store.catalog().databases()) {
    for (const auto& collection : member.store.catalog().collections(db)) {
      if (collection->read_only()) continue;
      const auto report = storage::validate_collection(member.store, collection, true);
      for (const auto& error : report.errors) UNSCOPED_INFO(error);
      REQUIRE(report.valid);
    }
  }
}

}  // namespace replication::test
