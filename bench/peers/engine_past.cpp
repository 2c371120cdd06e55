#include "bench/peers/engine_past.h"

#include <fmt/core.h>
#include <wiredtiger.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "bench/measure/cpu_clock.h"

namespace bench {
namespace {

constexpr const char* table = "table:rows";
constexpr const char* file = "statistics:table:rows";

void check(int error, const char* what) {
  if (error != 0) throw std::runtime_error(fmt::format("WiredTiger, {}: {}", what, wiredtiger_strerror(error)));
}

int64_t statistic(WT_SESSION* session, const char* of, int key) {
  WT_CURSOR* cursor = nullptr;
  check(session->open_cursor(session, of, nullptr, nullptr, &cursor), "statistics");
  const char *name = nullptr, *text = nullptr;
  int64_t value = 0;
  cursor->set_key(cursor, key);
  check(cursor->search(cursor), "statistics");
  check(cursor->get_value(cursor, &name, &text, &value), "statistics");
  cursor->close(cursor);
  return value;
}

}  // namespace

EnginePast::EnginePast(const std::string& path, Way way, size_t rows, size_t row_bytes) : way_(way) {
  std::filesystem::create_directories(path);
  check(wiredtiger_open(path.c_str(), nullptr, "create,cache_size=512MB,statistics=(all)", &connection_), "open");
  check(connection_->open_session(connection_, nullptr, nullptr, &session_), "session");
  check(session_->create(session_, table, "key_format=q,value_format=u"), "table");
  std::string text(row_bytes, '\0');
  for (size_t i = 0; i < rows; ++i) {
    for (char& c : text) c = static_cast<char>('a' + random_.below(26));
    rows_.push_back(text);
  }
  for (size_t done = 0; done < rows; done += 1'000) update(std::min<size_t>(1'000, rows - done));
}

EnginePast::~EnginePast() {
  if (connection_) connection_->close(connection_, nullptr);
}

double EnginePast::update(size_t rows) {
  const CpuWatch watch;
  check(session_->begin_transaction(session_, nullptr), "begin");
  WT_CURSOR* cursor = nullptr;
  check(session_->open_cursor(session_, table, nullptr, nullptr, &cursor), "cursor");
  for (size_t i = 0; i < rows; ++i) {
    const size_t at = next_++ % rows_.size();
    std::memcpy(rows_[at].data(), &next_, sizeof next_);
    const WT_ITEM value{rows_[at].data(), rows_[at].size(), {}, 0, 0};
    cursor->set_key(cursor, static_cast<int64_t>(at));
    cursor->set_value(cursor, &value);
    check(cursor->insert(cursor), "write");
  }
  cursor->close(cursor);
  ++clock_;
  const std::string at = way_ == Way::pinned_timestamp ? fmt::format("commit_timestamp={:x}", clock_) : "";
  check(session_->commit_transaction(session_, at.c_str()), "commit");
  return watch.seconds();
}

int EnginePast::declare() {
  declared_.push_back(clock_);
  const size_t number = declared_.size();
  if (way_ == Way::named_checkpoints) {
    check(session_->checkpoint(session_, fmt::format("name=s{}", number).c_str()), "checkpoint");
  } else if (way_ == Way::pinned_timestamp) {
    check(connection_->set_timestamp(
              connection_, fmt::format("oldest_timestamp={:x},stable_timestamp={:x}", declared_.front(), clock_).c_str()),
          "timestamp");
  }
  return static_cast<int>(number);
}

void EnginePast::reading(int as_of, const std::function<void(void*)>& read) {
  const bool old = as_of > 0, checkpoint = old && way_ == Way::named_checkpoints;
  if (!checkpoint) {
    const std::string at = old ? fmt::format("read_timestamp={:x}", declared_[static_cast<size_t>(as_of - 1)]) : "";
    check(session_->begin_transaction(session_, at.c_str()), "begin");
  }
  WT_CURSOR* cursor = nullptr;
  const std::string from = checkpoint ? fmt::format("checkpoint=s{}", as_of) : "";
  check(session_->open_cursor(session_, table, nullptr, from.c_str(), &cursor), "cursor");
  read(cursor);
  cursor->close(cursor);
  if (!checkpoint) check(session_->rollback_transaction(session_, nullptr), "end");
}

double EnginePast::find(size_t reads, int as_of) {
  double seconds = 0;
  reading(as_of, [&](void* opened) {
    auto* cursor = static_cast<WT_CURSOR*>(opened);
    const CpuWatch watch;
    for (size_t i = 0; i < reads; ++i) {
      WT_ITEM value{};
      cursor->set_key(cursor, static_cast<int64_t>(random_.below(rows_.size())));
      check(cursor->search(cursor), "read");
      check(cursor->get_value(cursor, &value), "read");
    }
    seconds = watch.seconds();
  });
  return seconds;
}

double EnginePast::scan(int as_of) {
  double seconds = 0;
  reading(as_of, [&](void* opened) {
    auto* cursor = static_cast<WT_CURSOR*>(opened);
    const CpuWatch watch;
    size_t count = 0;
    int ended = 0;
    while ((ended = cursor->next(cursor)) == 0) {
      WT_ITEM value{};
      check(cursor->get_value(cursor, &value), "read");
      count += value.size > 0;
    }
    if (ended != WT_NOTFOUND || count != rows_.size()) throw std::runtime_error("WiredTiger does not show every row");
    seconds = watch.seconds();
  });
  return seconds;
}

int64_t EnginePast::file_bytes() {
  if (way_ == Way::pinned_timestamp)
    check(connection_->set_timestamp(connection_, fmt::format("stable_timestamp={:x}", clock_).c_str()), "timestamp");
  check(session_->checkpoint(session_, nullptr), "checkpoint");
  int64_t bytes = 0;
  for (const char* of : {file, "statistics:file:WiredTigerHS.wt"}) {
    bytes += statistic(session_, of, WT_STAT_DSRC_BLOCK_SIZE) - statistic(session_, of, WT_STAT_DSRC_BLOCK_REUSE_BYTES);
  }
  return bytes;
}

}  // namespace bench
