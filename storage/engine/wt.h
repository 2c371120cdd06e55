// This header wraps WiredTiger in owning types and in the project's kinds of error.
//
// Every call's result goes through `check`, which turns WiredTiger's numbers into errors that the layers above know:
//
//   WT_ROLLBACK           WriteConflict: run the transaction again
//   ENOSPC                OutOfDiskSpace: this operation failed, the server goes on
//   ENOMEM                ExceededMemoryLimit: likewise
//   EMFILE, ENFILE        TooManyFilesOpen (264): likewise
//   WT_PANIC              a fatal log line and the end of the process; the journal has what was acknowledged
//   damaged pages, files  DataCorruptionDetected (damaged_pages.h)
//   anything else         InternalError with WiredTiger's own words
#pragma once

#include <wiredtiger.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "storage/engine/damaged_pages.h"
#include "storage/engine/metadata_copy.h"
#include "storage/engine/unapplied_rows.h"

namespace storage::wt {

// Throws for any result except 0. `doing` completes the sentence "… while"; it is for example "opening table records-17".
void check(int result, std::string_view doing);
[[noreturn]] void fail(int result, std::string_view doing);

struct CloseSession {
  void operator()(WT_SESSION* session) const { session->close(session, nullptr); }
};
struct CloseCursor {
  void operator()(WT_CURSOR* cursor) const { cursor->close(cursor); }
};
using Session = std::unique_ptr<WT_SESSION, CloseSession>;
using Cursor = std::unique_ptr<WT_CURSOR, CloseCursor>;

// A directory has this file once WiredTiger's own files or the journal were salvaged, so that some writes may be gone.
inline constexpr char salvaged_file[] = "palimpsest.salvaged";

// This is an open database. Its sessions must be closed before it closes.
class Connection {
 public:
  // Damaged metadata is restored from its copy. `may_salvage`: if the files can't be opened then, WiredTiger's other files and
  // the journal are salvaged. What the journal has for damaged pages goes into `unapplied`.
  Connection(base::Clock& clock, const std::string& path, const std::string& config, UnappliedRows& unapplied,
             bool may_salvage = false);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Copies the metadata, or removes the copy to make room. One thread at a time may do so.
  void copy_metadata();
  bool give_metadata_copy_up();  // false: there is none any more
  uint64_t metadata_bytes() const;

  Session open_session(const char* config = nullptr) const;
  WT_CONNECTION* get() const { return connection_; }
  DamagedPages& damaged_pages() const;

 private:
  int open(const std::string& path, const std::string& config, UnappliedRows& unapplied);
  int salvage(const std::string& path, const std::string& config, UnappliedRows& unapplied);
  void restore_metadata(const std::string& path, const std::string& config);

  struct Events;
  std::unique_ptr<Events> events_;
  std::optional<MetadataCopy> metadata_copy_;
  WT_CONNECTION* connection_ = nullptr;
};

Cursor open_cursor(WT_SESSION* session, const std::string& uri, const char* config = nullptr);

inline WT_ITEM item(base::BytesView bytes) {
  WT_ITEM item{};
  item.data = bytes.data();
  item.size = bytes.size();
  return item;
}
inline base::BytesView view(const WT_ITEM& item) {
  return {static_cast<const char*>(item.data), item.size};
}

inline void set_key(WT_CURSOR* cursor, base::BytesView key) {
  const WT_ITEM raw = item(key);
  cursor->set_key(cursor, &raw);
}
inline void set_value(WT_CURSOR* cursor, base::BytesView value) {
  const WT_ITEM raw = item(value);
  cursor->set_value(cursor, &raw);
}
base::BytesView get_key(WT_CURSOR* cursor);
base::BytesView get_value(WT_CURSOR* cursor);

// Returns WiredTiger's last error message on this thread, and clears it.
std::string take_last_message();

const std::string& last_message();
void set_last_message(std::string_view message);

// Says why the page that this thread reads can't be read, unless WiredTiger has said it already.
void page_unreadable(std::string_view why);

}  // namespace storage::wt
