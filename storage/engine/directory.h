// The data directory describes itself: the file palimpsest.json, which is written before anything else, names the format and its
// version.
#pragma once

#include <string>

namespace storage {

inline constexpr int directory_version = 3;
inline constexpr char directory_file[] = "palimpsest.json";

// Makes the directory and its marker file, or checks the marker that is there. Throws UnsupportedFormat for a newer version, for
// a damaged marker, and for a directory that holds somebody else's files.
void prepare_directory(const std::string& path);

// Writes a file of the directory. The file is written whole or not at all, and it survives a power loss once this returns. Throws
// OutOfDiskSpace.
void write_file(const std::string& directory, const std::string& name, const std::string& text);

}  // namespace storage
