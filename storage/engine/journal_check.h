// WiredTiger replays the journal up to the first record that isn't whole, because a crash leaves such a record at the end. A byte
// that a disk changed in the middle would end the replay in the same way, and what was acknowledged behind it would be gone.
//
// A crash leaves a record of which parts were never written: the end, or sectors, are zeros. A record without such parts, whose
// checksum is wrong, is damaged. One that has so many zeros of its own can't be told from a record that a crash cut.
#pragma once

#include <string>

namespace storage {

// Reads the journal of a directory that isn't open, from the last checkpoint on. Returns what is wrong with it, or an empty
// string.
std::string journal_damage(const std::string& directory);

}  // namespace storage
