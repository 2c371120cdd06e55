// The memory of a merge is counted by whoever runs it.
//
// A merge keeps keys, conflicts and the documents that it makes until it is written. It says how many bytes these are, so that a
// merge of more than its operation may keep ends before it has made all of it.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace versions {

// Counts so many bytes more, or fewer if the number is negative. It may throw if they are more, and then has counted nothing.
// Empty: nobody counts.
using Hold = std::function<void(std::ptrdiff_t bytes)>;

// Bytes that an object keeps, as long as it lives.
class KeptBytes {
 public:
  KeptBytes() = default;
  explicit KeptBytes(Hold hold) : hold_(std::move(hold)) {}
  ~KeptBytes() { release(); }
  KeptBytes(KeptBytes&& other) noexcept : hold_(std::move(other.hold_)), bytes_(std::exchange(other.bytes_, 0)) {}
  KeptBytes& operator=(KeptBytes&& other) noexcept {
    if (this == &other) return *this;
    release();
    hold_ = std::move(other.hold_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  // Throws what the Hold throws.
  void add(size_t bytes) {
    if (!hold_) return;
    hold_(static_cast<std::ptrdiff_t>(bytes));
    bytes_ += bytes;
  }
  // Keeps from now on what the other kept, which must have the same Hold.
  void take(KeptBytes& other) { bytes_ += std::exchange(other.bytes_, 0); }
  void release() {
    if (const size_t bytes = std::exchange(bytes_, 0); bytes > 0) hold_(-static_cast<std::ptrdiff_t>(bytes));
  }

 private:
  Hold hold_;
  size_t bytes_ = 0;
};

// A container takes so much for an element: for a node of a tree or table with a key, or a place in a vector that grows.
inline constexpr size_t kept_node_bytes = 96, kept_place_bytes = 64;

}  // namespace versions
