// A JSON Patch (RFC 6902) is a list of operations that make one document of another. Paths are JSON Pointers (RFC 6901):
//
//   [{op: "test", path: "/price/net", value: 3}, {op: "replace", path: "/price/net", value: 4}, {op: "add", path: "/tags/0",
//   value: "x"}]
//
//   /a~1b/0      the member "0" of the object, or the first element of the array, that is the member "a/b"
//   ""           the document itself
//
// Values are compared with their types, byte by byte. The patches that are made here test each value before they replace or
// remove it, so that they apply only to a document which has what they change.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"

namespace bson {

class JsonPatch {
 public:
  // `operations` is an array's, and must outlive the patch. Throws FailedToParse for what is no patch, or has more than
  // operations_max.
  explicit JsonPatch(DocumentView operations);

  static constexpr size_t operations_max = 100'000;

  struct Outcome {
    std::optional<Document> document;     // nullopt: the patch removes it, or there is none
    std::optional<std::string> mismatch;  // the path of the first operation that doesn't fit; then `document` says nothing
  };
  // `before`: nullopt is a document that doesn't exist yet, which an operation on the path "" adds. Unlike in the RFC, an `add`
  // of a member that exists with another value doesn't fit. Throws BSONObjectTooLarge, Overflow for what nests too deep, and
  // BadValue for a patch that takes too much work, or makes something else than an object.
  Outcome apply(std::optional<DocumentView> before) const;

 private:
  enum class Kind : uint8_t { add, remove, replace, move, copy, test };
  struct Operation {
    Kind kind;
    std::vector<std::string> path, from;
    std::string text;  // of the path
    ValueView value;
  };
  class Run;

  std::vector<Operation> operations_;
};

// The maker of a patch calls it for each member that it looks at and each operation that it writes, before it compares or copies
// so many bytes. It may throw.
using PatchWork = std::function<void(size_t bytes)>;

// It is called with how many bytes the maker keeps of the objects and arrays that it compares, whenever these become more or
// less. It may throw where they become more.
using PatchMemory = std::function<void(size_t bytes)>;

// Returns the operations, as an array, that make `after` of `before`; nullopt is a document that doesn't exist. Applied to
// `before` they give the same bytes, the order of fields included. Throws 13548 if they have more than buffer_bytes_max.
Document json_patch_of(std::optional<DocumentView> before, std::optional<DocumentView> after, const PatchWork& work = {},
                       const PatchMemory& memory = {});

}  // namespace bson
