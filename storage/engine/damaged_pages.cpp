#include "storage/engine/damaged_pages.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "storage/engine/verification.h"
#include "storage/engine/wt.h"

namespace storage {
namespace {

constexpr std::string_view file_suffix = ".wt";

std::optional<uint64_t> number_behind(std::string_view text, std::string_view before) {
  const size_t at = text.find(before);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

// These are the messages about a checksum that is wrong, and about a page that can't be decompressed:
//
//   ... records-17.wt: potential hardware corruption, read checksum error for 4096B block at offset 8192: ...
//   ... file:records-17.wt, WT_CURSOR.search: ... {0: 8192, 4096, 0x3e1f}: (chunk 1 of 4): 00 00 ...
std::optional<DamagedPage> damaged_page(std::string_view message) {
  constexpr std::string_view wrong = ": potential hardware corruption, read checksum error for ", dump = "}: (chunk 1 of ";
  std::optional<uint64_t> offset, bytes;
  size_t name_end = message.find(wrong);
  if (name_end != message.npos) {
    bytes = number_behind(message, wrong);
    offset = number_behind(message, "block at offset ");
  } else if (message.find(dump) != message.npos) {
    constexpr std::string_view place = "{0: ";
    const size_t at = message.find(place);
    if (at == message.npos) return std::nullopt;
    offset = number_behind(message, place);
    bytes = number_behind(message.substr(at + place.size()), ", ");
    name_end = message.find(".wt, ");
    if (name_end != message.npos) name_end += file_suffix.size();
  }
  if (name_end == message.npos || !offset || !bytes || !message.substr(0, name_end).ends_with(file_suffix)) return std::nullopt;
  std::string_view table = message.substr(0, name_end - file_suffix.size());
  if (const size_t before = table.find_last_of(" :/"); before != table.npos) table.remove_prefix(before + 1);
  return DamagedPage{std::string(table), *offset, *bytes};
}

bool DamagedPages::add(const DamagedPage& page) {
  const base::MutexLock lock(mutex_);
  if (pages_.size() >= pages_max || std::find(pages_.begin(), pages_.end(), page) != pages_.end()) return false;
  pages_.push_back(page);
  return true;
}

std::vector<DamagedPage> DamagedPages::all() const {
  const base::MutexLock lock(mutex_);
  return pages_;
}

bool DamagedPages::any_in(std::string_view table) const {
  const base::MutexLock lock(mutex_);
  return std::any_of(pages_.begin(), pages_.end(), [&](const DamagedPage& page) { return page.table == table; });
}

void DamagedPages::forget(std::string_view table) {
  const base::MutexLock lock(mutex_);
  std::erase_if(pages_, [&](const DamagedPage& page) { return page.table == table; });
}

}  // namespace storage

// The linker puts these functions (__wrap_...) in front of WiredTiger's own (__real_...).
#define WIREDTIGERS(name) __asm__("__real_" name)
#define IN_FRONT_OF(name) __asm__("__wrap_" name)

namespace {

thread_local bool met_damage = false;

// WiredTiger writes a damaged page into its error messages, which takes tens of milliseconds. So a block that was found damaged
// is not read again while its table stays open.
class KnownBlocks {
 public:
  // Returns why the block can't be read; an empty string if nothing is known of it.
  std::string find(const void* manager, std::string_view address) {
    if (!any_.load(std::memory_order_relaxed)) return {};
    const base::MutexLock lock(mutex_);
    const auto found = blocks_.find({manager, std::string(address)});
    return found == blocks_.end() ? std::string() : found->second;
  }
  void add(const void* manager, std::string_view address, std::string why) {
    const base::MutexLock lock(mutex_);
    if (blocks_.size() < blocks_max) blocks_[{manager, std::string(address)}] = std::move(why);
    any_ = true;
  }
  // A table that is opened now may have its block manager where that of a closed one was.
  void forget() {
    if (!any_.load(std::memory_order_relaxed)) return;
    const base::MutexLock lock(mutex_);
    blocks_.clear();
    any_ = false;
  }

 private:
  static constexpr size_t blocks_max = 10000;
  std::atomic<bool> any_{false};
  base::Mutex mutex_;
  std::map<std::pair<const void*, std::string>, std::string> blocks_ GUARDED_BY(mutex_);
};

KnownBlocks& known_blocks() {
  static KnownBlocks blocks;
  return blocks;
}

}  // namespace

// --- the panic

int wiredtiger_panic(void* session, int error, const char* function, int line, int category, const char* format, ...)
    WIREDTIGERS("__wt_panic_func");
int before_panic(void* session, int error, const char* function, int line, int category, const char* format, ...)
    IN_FRONT_OF("__wt_panic_func");

int before_panic(void* session, int error, const char* function, int line, int category, const char* format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  const std::string_view from(function), text(message);
  const bool read = from == "__wti_block_read_off" || from == "__blkcache_read_corrupt";
  // The name of WiredTiger's own files begins with its own; a table's file is "records-17.wt" or "file:records-17.wt".
  if (read && !text.starts_with("WiredTiger") && !text.starts_with("file:WiredTiger")) {
    storage::wt::page_unreadable(text);
    met_damage = true;
    return error;
  }
  return wiredtiger_panic(session, error, function, line, category, "%s", message);
}

// --- the cleanup behind checkpoints

// Every few minutes a thread of WiredTiger walks all tables for pages that nobody needs any more, and panics if it can't read
// one. It skips a table that is busy, so a damaged one is busy for it.
namespace {

thread_local bool cleans = false;
thread_local bool creates_cleaner = false;

struct Cleaner {
  void* (*work)(void*);
  void* argument;
};

void* run_cleaner(void* given) {
  const std::unique_ptr<Cleaner> cleaner(static_cast<Cleaner*>(given));
  cleans = true;
  return cleaner->work(cleaner->argument);
}

int skipped_by_cleaner(int result) {
  return cleans && result == WT_ERROR ? EBUSY : result;
}

}  // namespace

int wiredtiger_create_cleaner(void* session, const char** configuration) WIREDTIGERS("__wt_checkpoint_cleanup_create");
int create_cleaner(void* session, const char** configuration) IN_FRONT_OF("__wt_checkpoint_cleanup_create");
int wiredtiger_create_thread(void* session, void* thread, void* (*work)(void*), void* argument) WIREDTIGERS("__wt_thread_create");
int create_thread(void* session, void* thread, void* (*work)(void*), void* argument) IN_FRONT_OF("__wt_thread_create");
int wiredtiger_walk_tree(void* session, void* place, void* skip, void* cookie, uint32_t flags)
    WIREDTIGERS("__wt_tree_walk_custom_skip");
int walk_tree(void* session, void* place, void* skip, void* cookie, uint32_t flags) IN_FRONT_OF("__wt_tree_walk_custom_skip");

int create_cleaner(void* session, const char** configuration) {
  creates_cleaner = true;
  const int result = wiredtiger_create_cleaner(session, configuration);
  creates_cleaner = false;
  return result;
}

int create_thread(void* session, void* thread, void* (*work)(void*), void* argument) {
  if (!creates_cleaner) return wiredtiger_create_thread(session, thread, work, argument);
  auto cleaner = std::make_unique<Cleaner>(Cleaner{work, argument});
  const int result = wiredtiger_create_thread(session, thread, run_cleaner, cleaner.get());
  if (result == 0) static_cast<void>(cleaner.release());
  return result;
}

int walk_tree(void* session, void* place, void* skip, void* cookie, uint32_t flags) {
  return skipped_by_cleaner(wiredtiger_walk_tree(session, place, skip, cookie, flags));
}

// --- opening a table

// While WiredTiger opens a table, it reads the root page, and then the pages below it to warm its cache. It gives up if one of
// these can't be read, though only who needs that page should.
namespace {
thread_local bool opening = false;
thread_local int pages_read = 0;
}  // namespace

int wiredtiger_open_tree(void* session, const char* const* configuration) WIREDTIGERS("__wt_btree_open");
int open_tree(void* session, const char* const* configuration) IN_FRONT_OF("__wt_btree_open");
int wiredtiger_read_page(void* session, void* to, const uint8_t* address, size_t bytes) WIREDTIGERS("__wt_blkcache_read");
int read_page(void* session, void* to, const uint8_t* address, size_t bytes) IN_FRONT_OF("__wt_blkcache_read");

int open_tree(void* session, const char* const* configuration) {
  opening = true;
  pages_read = 0;
  const int result = wiredtiger_open_tree(session, configuration);
  opening = false;
  known_blocks().forget();
  return skipped_by_cleaner(result);
}

int read_page(void* session, void* to, const uint8_t* address, size_t bytes) {
  const int result = wiredtiger_read_page(session, to, address, bytes);
  if (!opening) return result;
  const bool root = pages_read++ == 0;
  return root || result != WT_ERROR ? result : 0;
}

// --- reading a block

int wiredtiger_read_block(void* manager, void* session, void* to, const uint8_t* address, size_t bytes)
    WIREDTIGERS("__wt_bm_read");
int read_block(void* manager, void* session, void* to, const uint8_t* address, size_t bytes) IN_FRONT_OF("__wt_bm_read");

int read_block(void* manager, void* session, void* to, const uint8_t* address, size_t bytes) {
  if (auto* verification = storage::wt::Verification::current(); verification && verification->stops()) return WT_ERROR;
  const std::string_view at(reinterpret_cast<const char*>(address), bytes);
  if (const std::string why = known_blocks().find(manager, at); !why.empty()) {
    storage::wt::set_last_message(why);
    return WT_ERROR;
  }
  met_damage = false;
  const int result = wiredtiger_read_block(manager, session, to, address, bytes);
  if (result == WT_ERROR && met_damage) known_blocks().add(manager, at, storage::wt::last_message());
  return result;
}

// --- lists of free space

// A file lists which of its space is in use and which is free. If a list can't be read, it is taken to be empty: that space isn't
// used again, while the rows are all there. Without this the table couldn't be opened, or no checkpoint taken any more. A repair
// writes the file anew.
int wiredtiger_read_list(void* session, void* block, void* list, int64_t bytes) WIREDTIGERS("__wti_block_extlist_read");
int read_list(void* session, void* block, void* list, int64_t bytes) IN_FRONT_OF("__wti_block_extlist_read");
int wiredtiger_read_free_list(void* session, void* block, void* list, int64_t bytes)
    WIREDTIGERS("__wti_block_extlist_read_avail");
int read_free_list(void* session, void* block, void* list, int64_t bytes) IN_FRONT_OF("__wti_block_extlist_read_avail");

int read_list(void* session, void* block, void* list, int64_t bytes) {
  const int result = wiredtiger_read_list(session, block, list, bytes);
  return result == WT_ERROR && !storage::wt::Verification::current() ? 0 : result;
}

int read_free_list(void* session, void* block, void* list, int64_t bytes) {
  const int result = wiredtiger_read_free_list(session, block, list, bytes);
  return result == WT_ERROR && !storage::wt::Verification::current() ? 0 : result;
}
