// What the past keeps of a record in its own row: contents that it had, newest first, each as a delta of the one before it; the
// first of the row's own content. They are found where the record is, and take no row more (docs/design/0007-past.md).
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
  size_t end = 0;         // of its entry, in the list
};

// Steps through a list, newest first. Throws nothing: what can't be read ends it.
class PreStateWalk {
 public:
  // `above`: the row's own generation. The list is borrowed.
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

// What there is to know of a list before it is changed.
struct PreStateSummary {
  size_t count = 0;
  PreState newest;  // where there is one
  Stamp oldest = 0;

  static base::Result<PreStateSummary> of(BytesView list, Stamp above);
};

// All of a list.
class RowPreStates {
 public:
  static constexpr size_t count_max = 8;
  static constexpr size_t header_max = 40;  // bytes of an entry beside its delta

  static base::Result<RowPreStates> parse(BytesView list, Stamp above);

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const PreState& operator[](size_t i) const { return of_[i]; }

 private:
  std::array<PreState, count_max> of_;
  size_t count_ = 0;
};

// The newest pre-state of a list that is of a generation or before: found first, and made of the row's own content where that is
// wanted.
class PreStateSearch {
 public:
  // Its generation; 0: there is none. The list is borrowed.
  base::Result<Stamp> find(BytesView list, Stamp above, Stamp newest);
  // The content of what was found, verified. Failure: `out` holds anything.
  std::optional<base::Failure> make(BytesView own, Bytes& out) const;

 private:
  std::array<dedup::DeltaLink, RowPreStates::count_max> links_;  // the last `count_`, that of what was found first
  size_t count_ = 0;
  uint32_t checksum_ = 0;
};

void append_pre_state(Bytes& list, Stamp above, const PreState& pre_state);

}  // namespace storage
