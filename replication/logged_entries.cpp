#include "replication/logged_entries.h"

#include "base/guarded.h"
#include "bson/diff.h"
#include "storage/engine/readable_rows.h"

namespace replication {
namespace {

using storage::LoggedEntry;
using storage::Stamp;

constexpr size_t ask_every = 256;
constexpr std::string_view log_table = "oplog";

bool is_diff(const Entry& entry) {
  return entry.op == 'u' && entry.o2 && entry.o.has("$v");
}

// nullopt: the entry is about neither a document nor a command.
std::optional<LoggedEntry> seen(Stamp stamp, const Entry& entry) {
  using Kind = LoggedEntry::Kind;
  LoggedEntry seen{.stamp = stamp, .transaction = stamp - entry.behind_first, .ns = entry.ns, .uuid = entry.uuid};
  if (entry.op == 'c') {
    seen.command = entry.o;
    return seen;
  }
  if (entry.op != 'i' && entry.op != 'u' && entry.op != 'd') return std::nullopt;
  if (entry.form == Entry::Form::named) {
    seen.kind = Kind::names;
    seen.collection = entry.collection;
    seen.record = entry.record;
    return seen;
  }
  seen.kind = entry.op == 'd' ? Kind::removes : is_diff(entry) ? Kind::changes : Kind::has;
  seen.with_id = entry.o2 ? *entry.o2 : entry.o;
  return seen;
}

}  // namespace

void LoggedEntries::walk(const Meet& meet, const MeetHole& meet_hole, const std::function<void()>& interrupted) {
  storage::ReadableRows rows(store_, storage::Table(std::string(log_table)));
  int64_t holes = 0;
  size_t met = 0;
  const auto hole_before = [&](Stamp stamp) { meet_hole("the log is damaged before its entry " + storage::text_of(stamp)); };
  while (rows.next()) {
    if (interrupted && ++met % ask_every == 0) interrupted();
    const Stamp stamp = stamp_from_key(rows.key());
    if (rows.holes() != std::exchange(holes, rows.holes())) hole_before(stamp);
    if (stamp == 0) continue;  // the log's own state
    const BytesView value = rows.value();
    const auto entry = decode(value);
    if (!entry) {
      hole_before(stamp);
    } else if (const auto one = seen(stamp, entry.value())) {
      meet(*one);
    }
  }
  if (rows.holes() != holes) meet_hole("the end of the log is damaged");
}

// nullopt: the row was cut off, or it can't be read.
std::optional<Bytes> LoggedEntries::readable_row(Stamp stamp) {
  return base::guarded([&] { return oplog_.row(stamp); });
}

std::optional<bson::Document> LoggedEntries::after(Stamp stamp, const std::optional<bson::Document>& before) {
  const auto row = readable_row(stamp);
  if (!row) return std::nullopt;
  const auto decoded = decode(*row);
  if (!decoded || decoded.value().form != Entry::Form::whole) return std::nullopt;
  const Entry& entry = decoded.value();
  if (!is_diff(entry)) return bson::Document(entry.o);
  const auto diff = entry.o["diff"];
  if (!before || !diff.is_object()) return std::nullopt;
  auto made = bson::diff::apply(*before, diff.as_document());
  return made ? std::optional(std::move(made.value())) : std::nullopt;
}

std::optional<Bytes> LoggedEntries::copy(BytesView uuid, Stamp generation) {
  const auto row = readable_row(generation);
  if (!row) return std::nullopt;
  const auto decoded = decode(*row);
  if (!decoded || decoded.value().uuid != uuid || decoded.value().form != Entry::Form::whole) return std::nullopt;
  const Entry& entry = decoded.value();
  if ((entry.op != 'i' && entry.op != 'u') || is_diff(entry)) return std::nullopt;
  return Bytes(entry.o.bytes());
}

}  // namespace replication
