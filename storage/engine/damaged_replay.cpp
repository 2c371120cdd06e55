#include "storage/engine/damaged_replay.h"

#include <cerrno>
#include <charconv>
#include <exception>
#include <map>
#include <new>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "storage/engine/readable_rows.h"
#include "storage/engine/wt.h"

// These are functions of WiredTiger (src/include/log.h), which packs and unpacks the journal's records with them.
struct Position;  // in the journal
using Apply = int (*)(WT_SESSION* session, WT_ITEM* record, Position* at, Position* next, void* cookie, int first);

#define WIREDTIGERS(name) __asm__("__real_" name)
#define IN_FRONT_OF(name) __asm__("__wrap_" name)

int wiredtiger_scan(WT_SESSION* session, Position* from, Position* to, uint32_t flags, Apply apply, void* cookie)
    WIREDTIGERS("__wt_log_scan");
int scan(WT_SESSION* session, Position* from, Position* to, uint32_t flags, Apply apply, void* cookie)
    IN_FRONT_OF("__wt_log_scan");
int read_record_type(WT_SESSION* session, const uint8_t** at, const uint8_t* end, uint32_t* type) __asm__("__wt_logrec_read");
int read_change_type(WT_SESSION* session, const uint8_t** at, const uint8_t* end, uint32_t* type,
                     uint32_t* bytes) __asm__("__wt_logop_read");
int unpack_put(WT_SESSION* session, const uint8_t** at, const uint8_t* end, uint32_t* file, WT_ITEM* key,
               WT_ITEM* value) __asm__("__wt_logop_row_put_unpack");
int unpack_remove(WT_SESSION* session, const uint8_t** at, const uint8_t* end, uint32_t* file,
                  WT_ITEM* key) __asm__("__wt_logop_row_remove_unpack");
int unpack_truncate(WT_SESSION* session, const uint8_t** at, const uint8_t* end, uint32_t* file, WT_ITEM* from, WT_ITEM* to,
                    uint32_t* mode) __asm__("__wt_logop_row_truncate_unpack");

namespace storage {
namespace {

thread_local UnappliedRows* kept = nullptr;

constexpr size_t record_header = 16;
// WT_LOGSCAN_FIRST, ..._RECOVER and ..._RECOVER_METADATA. The metadata is replayed first, from the last checkpoint on, or from
// the first file if there is none; then the tables.
constexpr uint32_t from_first = 0x01, replays_tables = 0x08, replays_metadata = 0x10;
constexpr uint32_t metadata_id = 0;
enum TruncateMode : uint32_t { all_rows, between, from_on, up_to };  // WT_TXN_TRUNC_MODE

// The results by which WiredTiger says that a page, or a whole file, is damaged. EIO is not among them, because the next start
// may be able to read the file.
bool is_damage(int result) {
  return result == WT_ERROR || result == WT_TRY_SALVAGE || result == ENOENT;
}

// WiredTiger's packed numbers: 10xxxxxx, 110xxxxx and a byte, or 1110 with the count of bytes that follow.
size_t packed_bytes(uint8_t first) {
  if (first >= 0xe0) return 1 + (first & 0xf);
  return first >= 0xc0 ? 2 : 1;
}

struct Change {
  uint32_t type = 0;
  uint32_t file = 0;
  BytesView key;
  BytesView value;
  std::optional<Bytes> from, to;
};

// A Replay is that of one journal.
class Replay {
 public:
  Replay(WT_SESSION* session, UnappliedRows& rows, Apply apply, void* cookie)
      : session_(session), rows_(rows), apply_(apply), cookie_(cookie) {}

  int apply_record(WT_ITEM* record, Position* at, Position* next, int first) {
    // Changes are applied one by one only where this is needed. To apply some of a record's changes twice changes nothing: each
    // says what a row is then, and they come in the same order.
    if (!rows_.any()) {
      const int result = apply_(session_, record, at, next, cookie_, first);
      if (!is_damage(result)) return result;
    }
    const auto* begin = static_cast<const uint8_t*>(record->data);
    const uint8_t *place = begin + record_header, *const end = begin + record->size;
    uint32_t type = 0;
    if (const int result = read_record_type(session_, &place, end, &type); result != 0) return result;
    if (type != WT_LOGREC_COMMIT) return apply_(session_, record, at, next, cookie_, first);
    if (place >= end) return EINVAL;
    place += packed_bytes(*place);  // the transaction's id
    if (place > end) return EINVAL;
    const BytesView head(reinterpret_cast<const char*>(begin), static_cast<size_t>(place - begin));
    while (place < end && *place) {
      uint32_t bytes = 0;
      if (const int result = read_change_type(session_, &place, end, &type, &bytes); result != 0) return result;
      if (bytes == 0 || bytes > static_cast<size_t>(end - place)) return EINVAL;
      Bytes alone(head);
      alone.append(reinterpret_cast<const char*>(place), bytes);
      if (const int result = apply_change(type, alone, head.size(), at, next, first); result != 0) return result;
      place += bytes;
    }
    return 0;
  }

 private:
  int apply_change(uint32_t type, const Bytes& record, size_t head, Position* at, Position* next, int first) {
    Change change;
    if (const int result = unpack(type, BytesView(record).substr(head), change); result != 0) return result;
    if (change.type == 0 || change.file == metadata_id) return apply(record, at, next, first);
    const bool openable = !closed_.contains(change.file);
    const int result = openable ? apply(record, at, next, first) : ENOENT;
    if (result != 0 && !is_damage(result)) return result;
    if (result == 0 && !rows_.any()) return 0;
    const std::string* const uri = uri_of(change.file);
    if (!uri) return result == ENOENT ? 0 : result;  // the table was dropped
    const std::string table = table_of(*uri);
    if (result == 0) {
      applied(table, change);
      return 0;
    }
    if (openable && !can_be_opened(*uri)) closed_.insert(change.file);
    return put_off(*uri, table, change);
  }

  int apply(const Bytes& record, Position* at, Position* next, int first) {
    WT_ITEM alone = wt::item(record);
    return apply_(session_, &alone, at, next, cookie_, first);
  }

  // Leaves the type 0 for a change that this file needn't look into.
  int unpack(uint32_t type, BytesView bytes, Change& change) {
    const auto *place = reinterpret_cast<const uint8_t*>(bytes.data()), *const end = place + bytes.size();
    WT_ITEM key{}, value{};
    int result = 0;
    if (type == WT_LOGOP_ROW_PUT) {
      result = unpack_put(session_, &place, end, &change.file, &key, &value);
      change.value = wt::view(value);
    } else if (type == WT_LOGOP_ROW_REMOVE) {
      result = unpack_remove(session_, &place, end, &change.file, &key);
    } else if (type == WT_LOGOP_ROW_TRUNCATE) {
      uint32_t mode = 0;
      result = unpack_truncate(session_, &place, end, &change.file, &key, &value, &mode);
      if (mode == between || mode == from_on) change.from = Bytes(wt::view(key));
      if (mode == between || mode == up_to) change.to = Bytes(wt::view(value));
    } else {
      return 0;
    }
    change.type = type;
    change.key = wt::view(key);
    return result;
  }

  void applied(const std::string& table, const Change& change) {
    if (change.type == WT_LOGOP_ROW_TRUNCATE)
      rows_.applied(table, change.from, change.to);
    else
      rows_.applied(table, change.key);
  }

  int put_off(const std::string& uri, const std::string& table, const Change& change) {
    if (change.type == WT_LOGOP_ROW_TRUNCATE) {
      rows_.remove(table, change.from, change.to);
      return closed_.contains(change.file) ? 0 : remove_readable(uri, change);
    }
    rows_.change(table, change.key, change.type == WT_LOGOP_ROW_PUT ? std::optional(Bytes(change.value)) : std::nullopt);
    return 0;
  }

  // Removes the range's rows whose pages can be read.
  int remove_readable(const std::string& uri, const Change& range) {
    WT_CURSOR* raw = nullptr;
    if (const int result = session_->open_cursor(session_, uri.c_str(), nullptr, "overwrite", &raw); result != 0) return result;
    const wt::Cursor cursor(raw);
    int failure = 0;
    const auto seek = [&](const Bytes& place) -> std::optional<bool> {
      int nearest = 0;
      wt::set_key(raw, place);
      int result = raw->search_near(raw, &nearest);
      if (result == 0 && nearest < 0) result = raw->next(raw);
      if (result == WT_NOTFOUND) return false;
      if (result == 0) return true;
      if (!is_damage(result)) failure = result;
      return std::nullopt;
    };
    Bytes place = range.from.value_or(Bytes());
    for (;;) {
      const auto found = seek(place);
      if (failure != 0) return failure;
      if (!found) {
        const auto behind = behind_damage(place, seek);
        if (failure != 0) return failure;
        if (!behind) return 0;
        place = *behind;
        continue;
      }
      if (!*found) return 0;
      place = wt::get_key(raw);
      if (range.to && place > *range.to) return 0;
      if (const int result = raw->remove(raw); result != 0 && result != WT_NOTFOUND) return result;
      place.push_back('\0');
    }
  }

  bool can_be_opened(const std::string& uri) {
    WT_CURSOR* raw = nullptr;
    if (session_->open_cursor(session_, uri.c_str(), nullptr, nullptr, &raw) != 0) return false;
    const wt::Cursor cursor(raw);
    return true;
  }

  // Returns nullptr if the metadata has no such file.
  const std::string* uri_of(uint32_t file) {
    if (files_.empty()) read_files();
    const auto found = files_.find(file);
    return found == files_.end() ? nullptr : &found->second;
  }

  void read_files() {
    const wt::Cursor metadata = wt::open_cursor(session_, "metadata:");
    int result = 0;
    while ((result = metadata->next(metadata.get())) == 0) {
      const char *key = nullptr, *value = nullptr;
      wt::check(metadata->get_key(metadata.get(), &key), "reading the metadata");
      wt::check(metadata->get_value(metadata.get(), &value), "reading the metadata");
      const std::string_view uri = key, settings = value;
      constexpr std::string_view id = ",id=";
      const size_t at = settings.find(id);
      if (!uri.starts_with("file:") || at == settings.npos) continue;
      uint32_t number = 0;
      std::from_chars(settings.data() + at + id.size(), settings.data() + settings.size(), number);
      files_[number] = uri;
    }
    if (result != WT_NOTFOUND) wt::fail(result, "reading the metadata");
  }

  static std::string table_of(std::string_view uri) {
    constexpr std::string_view prefix = "file:", suffix = ".wt";
    uri.remove_prefix(prefix.size());
    if (uri.ends_with(suffix)) uri.remove_suffix(suffix.size());
    return std::string(uri);
  }

  WT_SESSION* const session_;
  UnappliedRows& rows_;
  const Apply apply_;
  void* const cookie_;
  std::map<uint32_t, std::string> files_;  // their URIs
  std::set<uint32_t> closed_;              // these can't be opened
};

int apply_record(WT_SESSION*, WT_ITEM* record, Position* at, Position* next, void* replay, int first) {
  return replay_result([&] { return static_cast<Replay*>(replay)->apply_record(record, at, next, first); });
}

}  // namespace

int replay_result(const std::function<int()>& work) noexcept {
  try {
    return work();
  } catch (const base::OperationError& error) {
    wt::set_last_message(error.what());
    return error.code() == base::ErrorCode::out_of_disk_space ? ENOSPC : EINVAL;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::system_error& error) {
    wt::set_last_message(error.what());
    return error.code() == std::errc::no_space_on_device ? ENOSPC : EINVAL;
  } catch (const std::exception& error) {
    wt::set_last_message(error.what());
    return EINVAL;
  } catch (...) {
    return EINVAL;
  }
}

DamagedReplay::DamagedReplay(UnappliedRows& rows) {
  kept = &rows;
}
DamagedReplay::~DamagedReplay() {
  kept = nullptr;
}

}  // namespace storage

int scan(WT_SESSION* session, Position* from, Position* to, uint32_t flags, Apply apply, void* cookie) {
  using namespace storage;
  if (!kept || (flags & replays_tables) == 0) return wiredtiger_scan(session, from, to, flags, apply, cookie);
  Replay replay(session, *kept, apply, cookie);
  const int result = wiredtiger_scan(session, from, to, flags, apply_record, &replay);
  // The journal goes with the checkpoint that follows. A salvage takes it whatever the result is.
  const int saved = replay_result([] {
    kept->save();
    return 0;
  });
  return result != 0 ? result : saved;
}
