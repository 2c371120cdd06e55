// A PackReader reads a pack from its beginning, and checks every byte: lengths, checksums, the order of records, and the id of
// each commit against all that the commit says. Whether documents come to a commit's roots only somebody can tell who has its
// parents.
#pragma once

#include <functional>
#include <memory>
#include <unordered_set>
#include <variant>

#include "versions/pack/pack.h"

namespace versions::pack {

// This class is not thread-safe. Damage throws FailedToParse; after that the reader can't be used.
class PackReader {
 public:
  // Returns the next bytes of the pack; none: there are no more. It may throw.
  using Source = std::function<Bytes()>;
  explicit PackReader(Source source);
  ~PackReader();
  PackReader(const PackReader&) = delete;

  // Comes first.
  const Header& header() const { return header_; }
  // The next commit or row; monostate: the pack has ended, and its bytes were what its end says.
  using Item = std::variant<std::monostate, Commit, Row>;
  Item next();
  uint64_t commits() const { return commits_; }

 private:
  class Input;
  void read_header();
  bool next_record(char& type, BytesView& body);
  void read_frame();
  Commit commit_of(BytesView body);
  Row row_of(char kind, BytesView body) const;
  void end(BytesView body);

  std::unique_ptr<Input> input_;
  Bytes frame_;
  size_t at_ = 0;
  Header header_;
  std::unordered_set<std::string> known_;     // ids of commits that may be parents
  std::unordered_set<std::string> excluded_;  // ids of commits that may be parents, and don't come
  std::unordered_set<Bytes> collections_;     // UUIDs of the header's
  uint64_t commits_ = 0;
  bool purged_ = false;  // of the commit that was read last
  bool ended_ = false;
};

}  // namespace versions::pack
