// Simple-8b packs small unsigned integers into words of 64 bits, which are little-endian. The lowest four bits of a word, its
// selector, say how the others are used:
//
//   1 … 6, 9 … 14   60, 30, 20, 15, 12, 10, 6, 5, 4, 3, 2 or 1 slots, from the lowest bits upwards
//   7, 8            four more bits are an extension: 0 means 8 or 7 slots; others mean slots that end with a number of zeros
//   15              a run: the next four bits, plus one, times 120 repetitions of the slot before
//
// A slot whose bits are all set is skipped: there is no integer. Words for integers of 128 bits have the same form, since zeros
// at the end may lead up to there. (Compressed columns use this dialect; the idea is of Anh and Moffat, 2010.)
#pragma once

#include "base/bytes.h"

namespace bson {

using base::BytesView;
using Wide = unsigned __int128;

class Simple8bReader {
 public:
  enum class Slot { end, skipped, integer };

  // Goes on with these words, whose number of bytes is a multiple of 8; a run at the beginning repeats the slot before them.
  // They must outlive the reader.
  void go_on(BytesView words) { words_ = words; }
  // Forgets everything; a run at the beginning is one of zeros.
  void reset() { *this = Simple8bReader(); }

  // Throws OperationError (BadValue) for a word that has no meaning.
  Slot next();
  // The integer of the last slot that was one.
  Wide integer() const { return integer_; }

 private:
  void load();
  void load_slots(int selector, int extension);
  void take_slot();

  BytesView words_;
  uint64_t bits_ = 0;  // what is left of the word, the next slot in the lowest bits
  int slots_ = 0;      // left in the word
  int slot_bits_ = 0;
  int zeros_bits_ = 0;  // so many of the lowest bits of a slot count zeros at its integer's end
  int zeros_unit_ = 0;  // the count is of so many zeros
  int run_ = 0;         // repetitions that are left
  bool is_skipped_ = false;
  Wide integer_ = 0;
};

}  // namespace bson
