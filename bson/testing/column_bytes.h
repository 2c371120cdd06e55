// Tests write compressed columns with these functions, part by part.
#pragma once

#include <initializer_list>
#include <vector>

#include "bson/json.h"
#include "bson/value.h"

namespace bson::testing {

inline const Bytes column_end(1, '\0');

// A value as it stands in a column: `value` is JSON.
inline Bytes literal(const std::string& value) {
  const Document document = json("{v: " + value + "}");
  Bytes bytes;
  bytes.push_back(static_cast<char>(document["v"].type()));
  bytes.push_back('\0');
  return bytes.append(document["v"].bytes());
}

// Returns a word of Simple-8b: slots of so many bits each above the selector, the first one lowest.
inline uint64_t word(int selector, int slot_bits, const std::vector<uint64_t>& slots) {
  uint64_t bits = static_cast<uint64_t>(selector);
  int shift = selector == 7 || selector == 8 ? 8 : 4;
  for (const uint64_t slot : slots) {
    bits |= slot << shift;
    shift += slot_bits;
  }
  return bits;
}
// Returns the same for selectors 7 and 8 with an extension.
inline uint64_t extended_word(int selector, int extension, int slot_bits, const std::vector<uint64_t>& slots) {
  return word(selector, slot_bits, slots) | static_cast<uint64_t>(extension) << 4;
}
// Returns the word of a run of 120 * `times` repetitions.
inline uint64_t run_word(int times) {
  return 15 | static_cast<uint64_t>(times - 1) << 4;
}

// Returns what a slot has for a difference.
inline uint64_t delta(int64_t difference) {
  return static_cast<uint64_t>(difference) << 1 ^ static_cast<uint64_t>(difference >> 63);
}
// Returns a word with one slot.
inline uint64_t one_delta(int64_t difference) {
  return word(14, 60, {delta(difference)});
}
inline uint64_t skip_word() {
  return word(14, 60, {(uint64_t{1} << 60) - 1});
}

// Returns a control byte, and up to 16 words. `scale` is 8 for bits and all but doubles, 9 … 13 for factors of doubles.
inline Bytes words(int scale, const std::vector<uint64_t>& some) {
  Bytes bytes(1, static_cast<char>(scale << 4 | static_cast<int>(some.size() - 1)));
  for (const uint64_t one : some) base::append_le(bytes, one);
  return bytes;
}
inline Bytes deltas(std::initializer_list<int64_t> differences) {
  std::vector<uint64_t> all;
  for (const int64_t one : differences) all.push_back(one_delta(one));
  return words(8, all);
}

// Returns the beginning of a series of objects (f1), of those without arrays (f0), or of arrays (f2).
inline Bytes objects(int control, const std::string& example) {
  return Bytes(1, static_cast<char>(control)).append(json(example).bytes());
}

}  // namespace bson::testing
