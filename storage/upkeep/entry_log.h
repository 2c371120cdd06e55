// EntryLog is a log as a repair reads it: what each entry says of a document, whatever the entry's bytes are.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "bson/document.h"
#include "storage/engine/engine.h"

namespace storage {

// An entry as a walk meets it; all that it has is valid until the walk goes on.
struct LoggedEntry {
  enum class Kind : uint8_t {
    names,    // a write whose content is that of a record, with the entry's timestamp as its generation
    has,      // a write whose content the entry has
    changes,  // an update that the entry describes by what it changed
    removes,
    command,
  };
  Kind kind = Kind::command;
  Stamp stamp = 0;
  Stamp transaction = 0;  // the first timestamp of the transaction that wrote the entry
  std::string_view ns = {};
  BytesView uuid = {};              // the collection's; zeros: none
  CollectionId collection = 0;      // `names`: the number that the collection has here
  RecordId record = 0;              // `names`
  bson::DocumentView with_id = {};  // `has`, `changes`, `removes`: its field `_id` is the document's
  bson::DocumentView command = {};  // `command`
};

class EntryLog {
 public:
  virtual ~EntryLog() = default;

  using Meet = std::function<void(const LoggedEntry&)>;
  // Receives why entries can't be read, in place of these entries: "the log is damaged before its entry Timestamp(1, 2)".
  using MeetHole = std::function<void(const std::string& why)>;
  // Goes over all entries, oldest first. Calls `interrupted` now and then, which may throw.
  virtual void walk(const Meet& meet, const MeetHole& meet_hole, const std::function<void()>& interrupted) = 0;

  // Returns the document after the write of this entry: what the entry has, or what it makes of `before`. nullopt: the entry was
  // cut off or only names the content, or it changes something and doesn't fit `before`.
  virtual std::optional<bson::Document> after(Stamp stamp, const std::optional<bson::Document>& before) = 0;
};

// Returns "Timestamp(1, 2)".
std::string text_of(Stamp stamp);

}  // namespace storage
