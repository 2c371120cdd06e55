// These functions damage the files of a directory that nobody has open, as a failing disk would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace storage::test {

struct FileBlock {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  bool leaf = false;  // it holds rows
};

// Returns the blocks of a table's file whose checksums are right, in the file's order. Blocks that the table no longer uses are
// among them.
std::vector<FileBlock> file_blocks(const std::string& path);

void flip_byte(const std::string& path, uint64_t offset);
void zero_bytes(const std::string& path, uint64_t offset, uint64_t bytes);
// Puts the beginnings of two blocks in each other's place, as many bytes as the smaller one has.
void swap_blocks(const std::string& path, const FileBlock& one, const FileBlock& other);

}  // namespace storage::test
