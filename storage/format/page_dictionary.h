// The dictionaries of a collection hold what its documents have in common, so that a page needn't repeat it.
//
// A page of 32 KB holds a dozen documents; without a dictionary, each page repeats the field names, headers and phrases that all
// of them share. A dictionary that was trained on the rows (zstd's ZDICT) holds them once for the collection. A dictionary is
// made when there is enough to learn from, and another when the collection has outgrown it. Each page names the dictionary that
// it needs, so no dictionary is removed while its collection lives.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace storage {

using base::Bytes;
using base::BytesView;

constexpr size_t dictionaries_max = 8;  // one collection has at most so many

// Returns a dictionary in zstd's form, of at most `bytes_max` bytes, named `number` (1 to dictionaries_max). The result is empty
// if these samples have too little in common to be worth one.
Bytes train_dictionary(const std::vector<Bytes>& samples, size_t bytes_max, uint32_t number);

// These write and read the file of a collection's dictionaries (docs/formats/dictionaries.md).
Bytes write_dictionaries(const std::vector<Bytes>& dictionaries);
base::Result<std::vector<Bytes>> read_dictionaries(BytesView file);

}  // namespace storage
