#include "storage/engine/unapplied_rows.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "storage/engine/directory.h"

namespace storage {
namespace {

constexpr int log_unreadable = 7200512;
constexpr int log_set_aside = 7200522;
constexpr uint64_t no_file = 0;
constexpr uint8_t format_version = 1;
constexpr uint8_t removed = 0, has_value = 1;

// Each part of the file stands behind its length.
void append_part(Bytes& out, BytesView part) {
  base::append_le(out, static_cast<uint64_t>(part.size()));
  out.append(part);
}

class Reader {
 public:
  explicit Reader(BytesView bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  std::optional<uint8_t> byte() {
    if (rest_.empty()) return std::nullopt;
    const auto value = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return value;
  }
  std::optional<uint64_t> number() {
    if (rest_.size() < sizeof(uint64_t)) return std::nullopt;
    const auto value = base::load_le<uint64_t>(rest_.data());
    rest_.remove_prefix(sizeof(uint64_t));
    return value;
  }
  std::optional<BytesView> part() {
    const auto bytes = number();
    if (!bytes || *bytes > rest_.size()) return std::nullopt;
    const BytesView value = rest_.substr(0, *bytes);
    rest_.remove_prefix(*bytes);
    return value;
  }

 private:
  BytesView rest_;
};

bool read_rows(Reader& in, uint64_t count, UnappliedRows::Rows& rows) {
  for (uint64_t i = 0; i < count; ++i) {
    const auto key = in.part();
    const auto kind = in.byte();
    if (!key || !kind || *kind > has_value || (!rows.empty() && rows.rbegin()->first >= *key)) return false;
    std::optional<Bytes> value;
    if (*kind == has_value) {
      const auto found = in.part();
      if (!found) return false;
      value.emplace(*found);
    }
    rows.emplace_hint(rows.end(), *key, std::move(value));
  }
  return count > 0;
}

// Returns nullopt if there is no such file.
std::optional<Bytes> read_whole(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) return std::nullopt;
  Bytes content;
  if (!error) {
    content.resize(bytes);
    std::ifstream in(path, std::ios::binary);
    if (!in.read(content.data(), static_cast<std::streamsize>(bytes)))
      error.assign(errno != 0 ? errno : EIO, std::generic_category());
  }
  if (error) throw base::OperationError(base::ErrorCode::internal_error, "cannot read " + path + ": " + error.message());
  return content;
}

uint64_t stored_hash(BytesView plain) {
  return base::load_le<uint64_t>(plain.data() + plain.size() - sizeof(uint64_t));
}

}  // namespace

// | version, 1 | a table: name, count of rows, rows; ... | hash of what is before it, 8 |
// a row: | key | 0: it was removed; 1: it has a value | value |
Bytes encode_unapplied(const UnappliedRows::Tables& tables) {
  Bytes out(1, static_cast<char>(format_version));
  for (const auto& [name, rows] : tables) {
    append_part(out, name);
    base::append_le(out, static_cast<uint64_t>(rows.size()));
    for (const auto& [key, value] : rows) {
      append_part(out, key);
      out.push_back(static_cast<char>(value ? has_value : removed));
      if (value) append_part(out, *value);
    }
  }
  base::append_le(out, base::hash64(out));
  return out;
}

std::optional<UnappliedRows::Tables> decode_unapplied(BytesView bytes) {
  if (bytes.size() < 1 + sizeof(uint64_t)) return std::nullopt;
  const BytesView body = bytes.substr(0, bytes.size() - sizeof(uint64_t));
  if (base::hash64(body) != base::load_le<uint64_t>(bytes.data() + body.size())) return std::nullopt;
  Reader in(body);
  if (in.byte() != format_version) return std::nullopt;
  UnappliedRows::Tables tables;
  while (!in.done()) {
    const auto name = in.part();
    const auto count = in.number();
    if (!name || !count || (!tables.empty() && tables.rbegin()->first >= *name)) return std::nullopt;
    UnappliedRows::Rows rows;
    if (!read_rows(in, *count, rows)) return std::nullopt;
    tables.emplace(*name, std::move(rows));
  }
  return tables;
}

UnappliedRows::UnappliedRows(std::string directory, const base::Cipher* cipher)
    : directory_(std::move(directory)), cipher_(cipher) {
  const std::string path = directory_ + "/" + unapplied_file;
  const auto stored = read_whole(path);
  const base::MutexLock lock(mutex_);
  stored_ = no_file;
  if (!stored) return;
  const auto plain = cipher_ ? cipher_->open(*stored) : stored;
  auto tables = plain ? decode_unapplied(*plain) : std::nullopt;
  if (!tables) {
    damaged_file_ = true;
    base::log(base::Severity::error, base::LogComponent::storage, log_unreadable,
              "A file is damaged that has rows of the journal for damaged pages. A repair can't restore these rows",
              base::Attributes().add("file", path));
    return;
  }
  stored_ = stored_hash(*plain);
  tables_ = std::move(*tables);
  any_ = !tables_.empty();
}

void UnappliedRows::change(const std::string& table, BytesView key, std::optional<Bytes> value) {
  const base::MutexLock lock(mutex_);
  tables_[table].insert_or_assign(Bytes(key), std::move(value));
  any_ = true;
}

UnappliedRows::Range UnappliedRows::range(Rows& rows, const std::optional<Bytes>& from, const std::optional<Bytes>& to) {
  if (from && to && *from > *to) return {rows.end(), rows.end()};
  return {from ? rows.lower_bound(*from) : rows.begin(), to ? rows.upper_bound(*to) : rows.end()};
}

void UnappliedRows::remove(const std::string& table, const std::optional<Bytes>& from, const std::optional<Bytes>& to) {
  const base::MutexLock lock(mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return;
  const Range removed = range(found->second, from, to);
  for (auto row = removed.first; row != removed.end; ++row) row->second.reset();
}

void UnappliedRows::applied(const std::string& table, BytesView key) {
  applied(table, Bytes(key), Bytes(key));
}

void UnappliedRows::applied(const std::string& table, const std::optional<Bytes>& from, const std::optional<Bytes>& to) {
  const base::MutexLock lock(mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return;
  const Range settled = range(found->second, from, to);
  found->second.erase(settled.first, settled.end);
  if (found->second.empty()) tables_.erase(found);
}

void UnappliedRows::save() {
  const base::MutexLock lock(mutex_);
  write(tables_);
}

UnappliedRows::Tables UnappliedRows::all() const {
  const base::MutexLock lock(mutex_);
  return tables_;
}

UnappliedRows::Rows UnappliedRows::of(const std::string& table) const {
  const base::MutexLock lock(mutex_);
  const auto found = tables_.find(table);
  return found == tables_.end() ? Rows() : found->second;
}

void UnappliedRows::forget(const std::string& table) {
  if (!any()) return;
  const base::MutexLock lock(mutex_);
  if (!tables_.contains(table)) return;
  Tables left = tables_;
  left.erase(table);
  write(std::move(left));
}

void UnappliedRows::forget_others(const std::set<std::string>& tables) {
  const base::MutexLock lock(mutex_);
  std::erase_if(tables_, [&](const auto& one) { return !tables.contains(one.first); });
}

void UnappliedRows::forget(const std::string& table, BytesView from, BytesView to) {
  const base::MutexLock lock(mutex_);
  if (!tables_.contains(table)) return;
  Tables left = tables_;
  Rows& rows = left[table];
  const Range gone = range(rows, Bytes(from), Bytes(to));
  if (gone.first == gone.end) return;
  rows.erase(gone.first, gone.end);
  if (rows.empty()) left.erase(table);
  write(std::move(left));
}

void UnappliedRows::keep(Tables left) {
  const base::MutexLock lock(mutex_);
  write(std::move(left));
}

bool UnappliedRows::blocks(std::string_view table, std::optional<BytesView> from, std::optional<BytesView> to) const {
  const base::MutexLock lock(mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end() || unblocked_.contains(table)) return false;
  const Rows& rows = found->second;
  const auto first = from ? rows.lower_bound(*from) : rows.begin();
  return first != rows.end() && (!to || first->first <= *to);
}

UnappliedRows::Unblocked::Unblocked(UnappliedRows& rows, std::string table) : rows_(rows), table_(std::move(table)) {
  const base::MutexLock lock(rows_.mutex_);
  rows_.unblocked_.insert(table_);
}
UnappliedRows::Unblocked::~Unblocked() {
  const base::MutexLock lock(rows_.mutex_);
  rows_.unblocked_.erase(table_);
}

// The rows in memory change once the file has.
void UnappliedRows::write(Tables tables) {
  const Bytes plain = tables.empty() ? Bytes() : encode_unapplied(tables);
  const uint64_t hash = tables.empty() ? no_file : stored_hash(plain);
  if (stored_ != hash) {
    if (damaged_file_) set_aside();
    stored_.reset();
    if (tables.empty())
      remove_file(directory_, unapplied_file);
    else
      write_file(directory_, unapplied_file, cipher_ ? cipher_->seal(plain) : plain);
    stored_ = hash;
  }
  tables_ = std::move(tables);
  any_ = !tables_.empty();
}

// Gives the damaged file another name, since somebody may be able to read it.
void UnappliedRows::set_aside() {
  const std::string path = directory_ + "/" + unapplied_file;
  std::string other;
  for (int number = 1; other.empty() || std::filesystem::exists(other); ++number)
    other = path + ".damaged-" + std::to_string(number);
  std::error_code error;
  std::filesystem::rename(path, other, error);
  if (error) throw base::OperationError(base::ErrorCode::internal_error, "cannot rename " + path + ": " + error.message());
  damaged_file_ = false;
  base::log(base::Severity::warning, base::LogComponent::storage, log_set_aside,
            "The damaged file that has rows of the journal has another name now", base::Attributes().add("file", other));
}

}  // namespace storage
