#include "bson/simple8b.h"

#include "base/error.h"

namespace bson {
namespace {

constexpr int selector_bits = 4;
constexpr int run_selector = 15;
constexpr int run_unit = 120;
constexpr int word_bits = 64;

[[noreturn]] void damaged() {
  throw base::OperationError(base::ErrorCode::bad_value, "A word of the compressed column has no meaning");
}

// The bits of an integer in a slot; 0: there is no such form.
int plain_bits(int selector) {
  constexpr int bits[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 60};
  return bits[selector];
}

// A Shifted says how a slot is divided that counts the zeros at its integer's end.
struct Shifted {
  int integer_bits;
  int zeros_bits;
  int zeros_unit;
};

Shifted shifted(int selector, int extension) {
  constexpr int few[] = {2, 3, 4, 5, 7, 10, 14, 24, 52};
  constexpr int some[] = {4, 5, 7, 10, 14, 24, 52};
  constexpr int many[] = {4, 6, 9, 13, 23, 51};
  const int at = extension - 1;
  if (selector == 7) return at < 9 ? Shifted{few[at], 4, 1} : Shifted{};
  if (at < 7) return {some[at], 4, 4};
  return at < 13 ? Shifted{many[at - 7], 5, 4} : Shifted{};
}

}  // namespace

void Simple8bReader::load_slots(int selector, int extension) {
  zeros_bits_ = zeros_unit_ = 0;
  slot_bits_ = plain_bits(selector);
  if (extension != 0) {
    const Shifted form = shifted(selector, extension);
    zeros_bits_ = form.zeros_bits;
    zeros_unit_ = form.zeros_unit;
    slot_bits_ = form.integer_bits + form.zeros_bits;
  }
  if (slot_bits_ == 0) damaged();
  const int used = selector == 7 || selector == 8 ? 2 * selector_bits : selector_bits;
  bits_ >>= used;
  slots_ = (word_bits - used) / slot_bits_;
}

void Simple8bReader::load() {
  bits_ = base::load_le<uint64_t>(words_.data());
  words_.remove_prefix(sizeof(uint64_t));
  const int selector = static_cast<int>(bits_ & 15), extension = static_cast<int>(bits_ >> selector_bits & 15);
  if (selector == run_selector) {
    run_ = (extension + 1) * run_unit;
  } else {
    load_slots(selector, selector == 7 || selector == 8 ? extension : 0);
  }
}

void Simple8bReader::take_slot() {
  const uint64_t all = (uint64_t{1} << slot_bits_) - 1, slot = bits_ & all;
  bits_ >>= slot_bits_;
  --slots_;
  is_skipped_ = slot == all;
  if (is_skipped_) return;
  const auto zeros = static_cast<int>(slot & ((uint64_t{1} << zeros_bits_) - 1)) * zeros_unit_;
  integer_ = static_cast<Wide>(slot >> zeros_bits_) << zeros;
}

Simple8bReader::Slot Simple8bReader::next() {
  if (run_ == 0 && slots_ == 0) {
    if (words_.size() < sizeof(uint64_t)) return Slot::end;
    load();
  }
  if (run_ > 0) {
    --run_;
  } else {
    take_slot();
  }
  return is_skipped_ ? Slot::skipped : Slot::integer;
}

}  // namespace bson
