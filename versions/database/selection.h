// A Selection says how much of a database's commits comes to another server: some collections, whole or by a filter.
//
//   {collections: ["authors", "pages"], filter: {pages: {lang: "de"}}}      authors whole, and the German pages
//
// It is part of the ids of the commits that are made with it, in the field `madeFrom` of their metadata. So it is always written
// in the same bytes: names ascend, and `collections` has those of `filter` too.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "bson/builder.h"

namespace versions {

struct Selection {
  std::set<std::string> collections = {};              // names
  std::map<std::string, bson::Document> filters = {};  // of some of these, each a query; they show what it matches alone

  bool empty() const { return collections.empty(); }  // all of every commit
  bool operator==(const Selection& other) const { return document().bytes() == other.document().bytes(); }
  // Appends nothing if it is empty.
  void append_to(bson::Builder& out) const;
  bson::Document document() const;
};

// All filters of a selection have so many bytes at most, since each commit repeats them.
constexpr size_t filter_bytes_max = 16 << 10;

// Reads the fields `collections` and `filter`, in any order of names; an empty query is a whole collection. Throws TypeMismatch,
// and BadValue for one that is there and selects nothing, and for filters that are too long.
Selection read_selection(bson::DocumentView fields);

constexpr std::string_view made_from = "madeFrom";  // the field of metadata

// The selection with which a commit was made from another one, as its metadata says it; nullopt: it wasn't. Throws as
// read_selection does.
std::optional<Selection> selection_of(base::BytesView metadata);

}  // namespace versions
