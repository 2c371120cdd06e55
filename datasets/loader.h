// A loader turns a data set into documents, one at a time.
//
// Whatever the format, the result is the same: an Item is one write that a client of a document server would
// make. Loaders pull: no item is read before it is asked for, and memory doesn't grow with the size of the
// data.
//
//   file, folder, archive --Files--> streams --Loader--> items --> replay
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bson/document.h"

namespace datasets {

struct Item {
  enum class Op : uint8_t { insert, replace, remove };

  Op op = Op::insert;
  std::string collection;
  bson::Document document;   // with _id; for remove nothing but _id
  int64_t timestamp_ms = 0;  // when its author wrote it, 0 where the data doesn't say
  uint64_t group = 0;        // page, thread, post, path: what its versions or replies share
  uint64_t text_bytes = 0;   // of the body text alone
  uint32_t views = 0;        // how often it was read, where the data says so

  uint64_t logical_bytes() const { return op == Op::remove ? 0 : document.size(); }
};

// Loaders aren't thread-safe.
class Loader {
 public:
  virtual ~Loader() = default;

  // Returns the next item; nullopt at the end, and from then on. Throws InputError.
  virtual std::optional<Item> next() = 0;

  // Returns how much of the input has been read, 0 to 1, or a negative number where that isn't known.
  virtual double fraction() const { return -1; }
};

}  // namespace datasets
