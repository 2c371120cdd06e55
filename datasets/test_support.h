// The tests of the loaders share these functions.
#pragma once

#include <string>
#include <vector>

#include "datasets/loader.h"
#include "datasets/problems.h"
#include "datasets/source.h"

namespace datasets::test {

inline const std::string fixtures = PALIMPSEST_FIXTURES;

std::string read_file(const std::string& path);

// A folder that goes away with the test.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& content) const;  // the file's path

 private:
  std::string path_;
};

std::vector<Item> all(Loader& loader);
std::vector<Item> load(const std::string& source, Problems& problems, Kind kind = Kind::detect);

// Loads a source and fails the test where a problem came up.
std::vector<Item> load_cleanly(const std::string& source, Kind kind = Kind::detect);

std::string zstd(const std::string& bytes, int window_log = 0);
std::string gzip(const std::string& bytes);
std::string bzip2(const std::string& bytes);

// Returns one member of a tar archive: a ustar header of this type, and the content.
std::string tar_member(const std::string& name, const std::string& content, char type);
// Returns the header, 512 bytes, with the checksum that it should have.
std::string with_tar_checksum(std::string header);

// Returns a ustar archive of these files.
std::string tar(const std::vector<std::pair<std::string, std::string>>& files);

// Returns what makes this page load something, for example "src="; empty where nothing does.
std::string fetched_by(const std::string& html);

}  // namespace datasets::test
