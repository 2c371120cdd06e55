// A record's own row keeps pre-states for snapshots, newest first, each as a delta of the one before it; the first is a delta
// of the row's own content. They are found where the record is found, and need no further row (docs/design/0007-past.md).
//
//   list     entry …
//   entry    generation, as differences of seconds and of counts from the one before | length | checksum 4 | delta's length |
//   delta
#pragma once

#include <array>
#include <optional>

#include "dedup/delta_chain.h"
#include "storage/format/record_format.h"

namespace storage {

struct PreState {
  Stamp generation = 0;
  uint64_t length = 0;    // of the content
  uint32_t checksum = 0;  // of the content
  BytesView delta;        // borrowed
  size_t end = 0;         // where its entry ends in the list
};

// PreStateWalk steps through a list, newest first. It throws nothing: an entry that can't be read ends the walk.
class PreStateWalk {
 public:
  // `above` is the row's own generation. The walk borrows the list.
  PreStateWalk(BytesView list, Stamp above) : list_(list), bytes_(list.size()), above_(above) {}
  bool next();
  const PreState& at() const { return at_; }
  bool damaged() const { return damaged_; }

 private:
  BytesView list_;
  size_t bytes_;
  Stamp above_;
  PreState at_;
  bool damaged_ = false;
};

// PreStateSummary holds what a writer needs to know of a list before it changes it.
struct PreStateSummary {
  size_t count = 0;
  PreState newest;  // if the list has any
  Stamp oldest = 0;

  static base::Result<PreStateSummary> of(BytesView list, Stamp above);
};

// RowPreStates holds all entries of a list.
class RowPreStates {
 public:
  static constexpr size_t count_max = 8;
  static constexpr size_t header_max = 40;  // the most bytes of an entry, without its delta

  static base::Result<RowPreStates> parse(BytesView list, Stamp above);

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const PreState& operator[](size_t i) const { return of_[i]; }

 private:
  std::array<PreState, count_max> of_;
  size_t count_ = 0;
};

// PreStateSearch looks for a list's newest pre-state up to a generation. It finds the pre-state first, and makes its content
// out of the row's own content on demand.
class PreStateSearch {
 public:
  // Returns the pre-state's generation; 0: there is none. The search borrows the list.
  base::Result<Stamp> find(BytesView list, Stamp above, Stamp newest);
  // Makes and verifies the content that was found. After a failure `out` holds anything.
  std::optional<base::Failure> make(BytesView own, Bytes& out) const;

 private:
  // The last `count_` links are used; the delta of the found pre-state comes first.
  std::array<dedup::DeltaLink, RowPreStates::count_max> links_;
  size_t count_ = 0;
  uint32_t checksum_ = 0;
};

void append_pre_state(Bytes& list, Stamp above, const PreState& pre_state);

}  // namespace storage
