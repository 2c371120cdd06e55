// These are the read traces of dbDedup §6.1. They say what is read, and how often, while data is written.
//
//   insert    nothing is read
//   mail      every message once, right after it was written
//   threads   after every post all posts of its thread: as often as the thread's
//             view count divided by its posts, where the data has view counts
//   views     after every document with a view count, that document as many times
//   wiki      after the first revisions are loaded, 99.9 reads to 0.1 writes; 99.7 %
//             of the reads ask for the latest revision of a page, pages by popularity (Zipf), the
//             rest for any revision
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "bson/value.h"
#include "datasets/loader.h"

namespace datasets::replay {

enum class Trace { insert, mail, threads, views, wiki };
std::optional<Trace> trace_of(std::string_view name);
std::string_view trace_name(Trace trace);

// Popularity knows which revisions there are and chooses the next one to read. It keeps a page's latest _id and a sample of all
// _ids in memory, and isn't thread-safe.
class Popularity {
 public:
  explicit Popularity(uint64_t seed) : random_(seed) {}

  void written(std::string_view collection, uint64_t page, const bson::ValueView& id);

  struct Wanted {
    std::string_view collection;
    bson::ValueView id;
  };
  // Returns nullopt before anything was written.
  std::optional<Wanted> next_read();
  bool next_is_write() { return random_.below(1000) == 0; }

 private:
  struct Known {
    uint32_t collection;
    bson::Value id;
  };
  static constexpr size_t sample_max = 100'000;

  base::Random random_;
  std::vector<std::string> collections_;
  std::vector<Known> latest_;                       // by page, in order of appearance
  std::unordered_map<uint64_t, uint32_t> page_at_;  // its place in latest_
  std::vector<Known> sample_;                       // of all revisions, every one as likely
  uint64_t written_ = 0;
};

}  // namespace datasets::replay
