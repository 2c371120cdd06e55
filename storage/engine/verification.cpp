#include "storage/engine/verification.h"

namespace storage::wt {

namespace {

thread_local Verification* now = nullptr;

}  // namespace

Verification::Verification(const std::function<void()>& interrupted) : interrupted_(interrupted) {
  now = this;
}

Verification::~Verification() {
  now = nullptr;
}

Verification* Verification::current() {
  return now;
}

bool Verification::stops() noexcept {
  if (thrown_) return true;
  if (!interrupted_) return false;
  try {
    interrupted_();
    return false;
  } catch (...) {
    thrown_ = std::current_exception();
    return true;
  }
}

void Verification::rethrow() const {
  if (thrown_) std::rethrow_exception(thrown_);
}

}  // namespace storage::wt
