// A Counted is a share of something that counts its owners itself. It is one word wide, and can be made of a plain pointer at any
// time.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace versions::merkle {

// T has `share() const` and `release() const`. They must be thread-safe if several threads have shares of one object.
template <class T>
class Counted {
 public:
  Counted() = default;
  Counted(std::nullptr_t) {}
  explicit Counted(T* at) : at_(at) { share(); }  // takes one share more
  Counted(const Counted& other) : Counted(other.at_) {}
  Counted(Counted&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Counted(const Counted<U>& other) : Counted(static_cast<T*>(other.get())) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Counted(Counted<U>&& other)
  noexcept : at_(other.detach()) {}
  Counted& operator=(Counted other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }
  ~Counted() {
    if (at_ != nullptr) at_->release();
  }

  T* get() const { return at_; }
  T* detach() { return std::exchange(at_, nullptr); }  // the caller gets its share
  T& operator*() const { return *at_; }
  T* operator->() const { return at_; }
  explicit operator bool() const { return at_ != nullptr; }

 private:
  void share() {
    if (at_ != nullptr) at_->share();
  }

  T* at_ = nullptr;
};

}  // namespace versions::merkle
