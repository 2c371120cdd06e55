// Members of a tar archive in their order: ustar, GNU long names, pax paths.
#pragma once

#include <optional>

#include "datasets/input/stream.h"

namespace datasets {

class TarReader {
 public:
  struct Member {
    std::string path;
    uint64_t bytes = 0;
    bool file = false;  // a regular file; directories and links have no content
  };

  explicit TarReader(std::unique_ptr<BufferedStream> archive) : archive_(std::move(archive)) {}

  // Steps over what is left of the current member. nullopt at the end of the
  // archive. Throws StreamError where a header is damaged or the archive is cut,
  // once; then, as after a failed read of a member, it has ended.
  std::optional<Member> next();

  // The current member's content; valid until next() and while the reader lives.
  std::unique_ptr<Stream> content();

  // Do these bytes (512 of them) begin a tar archive?
  static bool recognizes(base::BytesView head);

 private:
  friend class TarContent;
  size_t read(char* to, size_t bytes_max);
  std::string read_text(uint64_t bytes);
  void skip_rest();

  std::unique_ptr<BufferedStream> archive_;
  uint64_t left_ = 0;     // bytes of the member not yet read
  uint64_t padding_ = 0;  // to the next multiple of 512
  bool broken_ = false;
};

}  // namespace datasets
