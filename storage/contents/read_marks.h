// Which records of a collection were read lately: what a head is not demoted for.
//
//   turn       1          2          3          now
//   marks   cleared    cleared   [ before ][  current  ]     a record is cold when it is in neither
//
// A bit a record, by its id; where there are more records than bits, several
// share one and are read together: who was not read may then be taken for read,
// never the other way round. A read looks at a bit and sets it where it isn't
// set: no lock, no allocation, and nothing at all while nobody wants to know.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "storage/engine/record_id.h"

namespace storage {

// `note` and `recent` from any thread; the others from one.
class ReadMarks {
 public:
  void note(RecordId record) {
    if (Bits* bits = current_.load(std::memory_order_acquire)) bits->set(record);
  }
  bool wanted() const { return current_.load(std::memory_order_relaxed) != nullptr; }

  // Read in this turn or the one before. False while nobody wanted to know.
  bool recent(RecordId record) const {
    const Bits* now = current_.load(std::memory_order_acquire);
    const Bits* before = before_.load(std::memory_order_acquire);
    return (now && now->has(record)) || (before && before->has(record));
  }

  // Begins to mark, and begins a new turn where the last one has lasted for `secs`. So what is not `recent` was not
  // read for `secs` at least, once that long has been marked. `records`: of the collection, for the size.
  void turn(int64_t now_us, int64_t secs, int64_t records);
  void stop();

  // Since when reads are marked.
  int64_t marked_for_us(int64_t now_us) const { return wanted() ? now_us - begun_us_ : 0; }
  size_t memory_bytes() const;

  static constexpr size_t bits_min = 1 << 16, bits_max = 1 << 23;

 private:
  struct Bits {
    explicit Bits(size_t bits) : mask(bits - 1), words(bits / 64) {}
    const size_t mask;
    std::vector<std::atomic<uint64_t>> words;

    bool has(RecordId record) const {
      const size_t at = static_cast<size_t>(record) & mask;
      return words[at / 64].load(std::memory_order_relaxed) >> (at % 64) & 1;
    }
    void set(RecordId record) {
      if (has(record)) return;
      const size_t at = static_cast<size_t>(record) & mask;
      words[at / 64].fetch_or(uint64_t{1} << (at % 64), std::memory_order_relaxed);
    }
    void clear() {
      for (auto& word : words) word.store(0, std::memory_order_relaxed);
    }
  };

  std::atomic<Bits*> current_{nullptr}, before_{nullptr};
  std::vector<std::unique_ptr<Bits>> all_;  // outgrown ones too: a reader may still be at one. Each is twice the one before.
  int64_t begun_us_ = 0, turned_us_ = 0;
};

// Records that were read although they are kept as deltas and need not be: whoever tidies up takes them now and then.
// A few at a time; one that is pushed out is noted again when it is read again. Thread-safe.
class ReadHints {
 public:
  void note(RecordId record) {
    slots_[static_cast<size_t>(record) % slots_.size()].store(record, std::memory_order_relaxed);
    any_.store(true, std::memory_order_release);
  }
  bool any() const { return any_.load(std::memory_order_relaxed); }
  std::vector<RecordId> take() {
    std::vector<RecordId> records;
    if (!any_.exchange(false, std::memory_order_acquire)) return records;
    for (auto& slot : slots_)
      if (const RecordId record = slot.exchange(0, std::memory_order_relaxed)) records.push_back(record);
    return records;
  }

 private:
  std::atomic<bool> any_{false};
  std::array<std::atomic<RecordId>, 32> slots_{};
};

}  // namespace storage
