// Dictionaries of a collection: what its documents have in common, so that a
// page need not say it again.
//
// A page of 32 KB holds a dozen documents; field names, headers and phrases that
// all of them share are told once a page. A dictionary trained on the rows tells
// them once a collection (zstd's ZDICT). One is made when there is enough to
// learn from, another when the collection has outgrown it; pages name the one
// they need, so none is ever thrown away while its collection lives.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace storage {

using base::Bytes;
using base::BytesView;

constexpr size_t dictionaries_max = 8;  // of one collection

// A dictionary of at most `bytes_max` bytes named `number` (1 to dictionaries_max), as zstd takes it. Empty: these
// samples have nothing in common that is worth it.
Bytes train_dictionary(const std::vector<Bytes>& samples, size_t bytes_max, uint32_t number);

// The file of a collection's dictionaries (docs/formats/dictionaries.md).
Bytes write_dictionaries(const std::vector<Bytes>& dictionaries);
base::Result<std::vector<Bytes>> read_dictionaries(BytesView file);

}  // namespace storage
