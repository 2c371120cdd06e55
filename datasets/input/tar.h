// A TarReader gives the members of a tar archive in their order. libarchive reads them: ustar, GNU and pax.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "datasets/input/stream.h"

namespace datasets {

class TarReader {
 public:
  struct Member {
    std::string path;   // the bytes that the archive has, or UTF-8 where it names another encoding
    bool file = false;  // a regular file; directories and links have no content
  };

  explicit TarReader(std::unique_ptr<BufferedStream> archive);
  ~TarReader();

  // Steps over what is left of the current member. Returns nullopt at the end
  // of the archive. Throws StreamError once, where a header is damaged or the
  // archive is cut short; after that, or after a failed read of a member, the
  // archive has ended.
  std::optional<Member> next();

  // Returns the current member's content, which is valid until next() and while the reader lives.
  std::unique_ptr<Stream> content();

  // Tells whether these bytes, the first 512 of a file, claim to begin a tar
  // archive. The first next() fails when they are damaged.
  static bool recognizes(base::BytesView head);

 private:
  struct Library;
  class Content;

  std::unique_ptr<Library> library_;
};

}  // namespace datasets
