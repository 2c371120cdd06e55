// The memory that operations work in is counted: each operation, and each cursor, has a budget that takes what it needs from the
// pool of the whole server.
//
//   expression ─┐
//   stage ──────┼─> budget of the operation ──> pool of the server <── messages and replies of connections
//   cursor ─────┘
//
// Whoever keeps documents or values that grow with a client's data holds their bytes in the budget, and releases them. Beyond a
// limit an operation ends with ExceededMemoryLimit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace server {

// Thread-safe.
class MemoryPool {
 public:
  // `bytes_max` is for all operations together, `operation_bytes_max` for one.
  MemoryPool(uint64_t bytes_max, uint64_t operation_bytes_max);

  // Takes so many bytes; returns false if fewer are left.
  bool take(uint64_t bytes) { return take_below(bytes, 1); }
  // The same for messages that arrive. They fill half of the pool at most, so that slow senders leave room for operations.
  bool take_for_message(uint64_t bytes) { return take_below(bytes, 2); }
  // Takes them even if fewer are left, for what lies in memory already.
  void take_anyway(uint64_t bytes);
  // Memory that many operations freed goes back to the kernel here, so a call may take milliseconds after a storm.
  void give_back(uint64_t bytes);

  struct Limits {
    std::atomic<int64_t> bytes_max, operation_bytes_max;  // a parameter each
  };
  Limits& limits() { return limits_; }
  const Limits& limits() const { return limits_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }        // the most since the server started
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }  // how often take() returned false

 private:
  bool take_below(uint64_t bytes, int64_t share);  // the limit is divided by `share`
  void note_peaks(uint64_t used);

  Limits limits_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> peak_{0};
  std::atomic<uint64_t> peak_since_trim_{0};
  std::atomic<uint64_t> refused_{0};
};

// It serves one thread at a time.
class MemoryBudget {
 public:
  // nullptr: nothing is limited.
  explicit MemoryBudget(MemoryPool* pool) : pool_(pool) {}
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Throws ExceededMemoryLimit (146), and then holds no more than before.
  void hold(size_t bytes) {
    if (!hold_if_room(bytes)) [[unlikely]]
      refuse();
  }
  // The same for those who can do with less: returns false instead.
  bool hold_if_room(size_t bytes) {
    held_ += bytes;
    return held_ <= taken_ || take(bytes);
  }
  void release(size_t bytes) {
    held_ -= bytes;
    if (taken_ - held_ > kept_bytes) [[unlikely]]
      give_back();
  }
  size_t held() const { return held_; }
  // Gives back to the pool what it took ahead.
  void give_back();

 private:
  static constexpr size_t step_bytes = 1 << 20;  // what is taken from the pool at once
  static constexpr size_t kept_bytes = 4 << 20;
  bool take(size_t bytes);
  [[noreturn]] void refuse() const;

  MemoryPool* pool_;
  size_t held_ = 0;
  size_t taken_ = 0;
  bool beyond_own_limit_ = false;  // what take() met last: the limit of one operation, else the pool's
};

// Bytes that an object keeps, as long as it lives.
class Held {
 public:
  explicit Held(MemoryBudget& budget) : budget_(budget) {}
  ~Held() { budget_.release(bytes_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  // From now on it keeps so many bytes. Throws what MemoryBudget::hold throws.
  void set(size_t bytes) {
    if (bytes > bytes_)
      budget_.hold(bytes - bytes_);
    else
      budget_.release(bytes_ - bytes);
    bytes_ = bytes;
  }
  void add(size_t bytes) { set(bytes_ + bytes); }
  // Returns false, and keeps what it kept, if there is no room for so many bytes more.
  bool add_if_room(size_t bytes) {
    if (!budget_.hold_if_room(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  size_t bytes() const { return bytes_; }

 private:
  MemoryBudget& budget_;
  size_t bytes_ = 0;
};

// A value that somebody builds is counted while it grows, in steps.
class Growth {
 public:
  explicit Growth(Held& held) : held_(held), before_(held.bytes()) {}

  // The value has so many bytes by now. They are held, besides what was held before the value was begun.
  void reach(size_t bytes) {
    if (bytes < next_) [[likely]]
      return;
    held_.set(before_ + bytes);
    next_ = bytes + step_bytes;
  }

 private:
  static constexpr size_t step_bytes = 64 << 10;
  Held& held_;
  const size_t before_;
  size_t next_ = step_bytes;
};

}  // namespace server
