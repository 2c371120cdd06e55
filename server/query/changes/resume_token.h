// A resume token says where a change stream goes on: {_data: "82…"}. The text sorts as the events do.
//
//   _data    hex of  | 82 | time, 8 | 2b 04 | kind | place | invalidate | collection | part | 04 |
//            kind        a number: 0 high-water mark, before all events of its time · 64 of a difference · 128 event
//            place       in the client's transaction, or among the difference's, as a number
//            invalidate  6f the invalidation that follows the event · 6e the event
//            collection  5a 10 04 and its UUID · 14 none
//            part        of a split event, from 0 on; else nothing
//   number   29 zero; or 2b + bytes - 1, and twice the number in so many bytes, big-endian
//
// Numbers, and the start up to the collection, are as MongoDB writes them, so that tools which take the time out of a token do.
#pragma once

#include <optional>

#include "bson/builder.h"
#include "storage/engine/record_id.h"

namespace server::query {

struct ResumeToken {
  storage::Stamp time = 0;
  // A difference's event tells what a snapshot and a later time show differently.
  enum class Kind { high_water = 0, difference = 64, event = 128 };
  Kind kind = Kind::high_water;
  int64_t index = 0;
  bool from_invalidate = false;
  bson::Bytes collection = {};       // its UUID; empty: none
  std::optional<int64_t> part = {};  // of a split event

  static ResumeToken at(storage::Stamp time) { return {.time = time}; }

  bson::Document document() const;
  // Throws InvalidResumeToken, 40647 or 40649.
  static ResumeToken parse(bson::DocumentView token);
  // Returns whether both are of one event, in whatever parts.
  bool same_event(const ResumeToken& other) const;
};

}  // namespace server::query
