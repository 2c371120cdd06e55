// ReadMarks remembers which records of a collection were read lately; their heads are not demoted.
//
//   turn       1          2          3          now
//   marks   cleared    cleared   [ before ][  current  ]     a record is cold when it is in neither
//
// Each record has a bit, chosen by its id. When there are more records than bits, several records share a bit and count as read
// together: a record may count as read that wasn't, but never the other way round. A read looks at the bit and sets it only if
// it isn't set. It takes no lock, allocates nothing, and does nothing at all while nobody wants the marks.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "storage/engine/record_id.h"

namespace storage {

// Any thread may call `note` and `recent`; only one thread calls the others.
class ReadMarks {
 public:
  void note(RecordId record) {
    if (Bits* bits = current_.load(std::memory_order_acquire)) bits->set(record);
  }
  bool wanted() const { return current_.load(std::memory_order_relaxed) != nullptr; }

  // Returns true if the record was read in this turn or the one before. Returns false while nobody wants the marks.
  bool recent(RecordId record) const {
    const Bits* now = current_.load(std::memory_order_acquire);
    const Bits* before = before_.load(std::memory_order_acquire);
    return (now && now->has(record)) || (before && before->has(record));
  }

  // Begins to mark, and begins a new turn when the last one has lasted for `secs`. So once marking has gone on that long, a
  // record that isn't `recent` wasn't read for at least `secs`. The number of `records` of the collection decides the number of
  // bits.
  void turn(int64_t now_us, int64_t secs, int64_t records);
  void stop();

  // Returns for how long reads have been marked.
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
  // Outgrown bits stay, too, since a reader may still use them. Each has twice the size of the one before.
  std::vector<std::unique_ptr<Bits>> all_;
  int64_t begun_us_ = 0, turned_us_ = 0;
};

// ReadHints holds records that were read although they are stored as deltas and needn't be; a background pass takes them now
// and then. It holds a few at a time; a record that is pushed out is noted again at its next read. This class is thread-safe.
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
