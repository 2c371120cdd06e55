// Any bytes are taken as a backup, in pieces of any length; and as the frames of one, whose magic and checksums are made to fit,
// so that what lies behind them is tried too.
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "storage/upkeep/backup_format.h"

#include <algorithm>

namespace {

using namespace storage;
using base::Bytes;
using base::BytesView;

struct Read {
  BackupHead head;
  std::vector<BackupPart> parts;
  bool ended = false;
};

Read read(BytesView bytes, size_t piece) {
  BackupDecoder decoder;
  Read out;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    decoder.feed(bytes.substr(at, piece));
    while (auto part = decoder.next()) out.parts.push_back(std::move(*part));
  }
  if (decoder.head()) out.head = *decoder.head();
  out.ended = decoder.ended();
  return out;
}

Bytes written(const Read& backup) {
  BackupEncoder encoder;
  Bytes out = encoder.head(backup.head);
  for (const BackupPart& part : backup.parts) out += encoder.part(part);
  return out + encoder.end();
}

void check_same(const Read& a, const Read& b) {
  base::check(a.ended == b.ended && a.head.link.id == b.head.link.id && a.head.link.from == b.head.link.from, "the same backup");
  base::check(a.head.time_ms == b.head.time_ms && a.head.checkpoint == b.head.checkpoint && a.head.log_below == b.head.log_below,
              "heads keep what they say");
  base::check(
      std::equal(a.head.files.begin(), a.head.files.end(), b.head.files.begin(), b.head.files.end(),
                 [](const auto& x, const auto& y) { return x.name == y.name && x.bytes == y.bytes && x.whole == y.whole; }),
      "heads keep their files");
  base::check(std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                         [](const auto& x, const auto& y) {
                           return x.file == y.file && x.offset == y.offset && x.data == y.data && x.zeros == y.zeros;
                         }),
              "parts keep what they say");
}

bool reads(BytesView bytes) {
  Read backup;
  const bool refused = base::refuses([&] { backup = read(bytes, std::max<size_t>(bytes.size(), 1)); });
  Read in_pieces;
  const bool refused_in_pieces = base::refuses([&] { in_pieces = read(bytes, 7); });
  base::check(refused == refused_in_pieces, "it doesn't matter where the pieces end");
  if (refused) return false;
  check_same(backup, in_pieces);
  uint64_t bytes_of_parts = 0;
  for (const BackupPart& part : backup.parts) {
    base::check(part.file < backup.head.files.size(), "a part is of a file");
    base::check(part.offset + part.bytes() <= backup.head.files[part.file].bytes, "a part lies in its file");
    bytes_of_parts += part.bytes();
  }
  if (!backup.ended) return false;
  base::check(bytes_of_parts == backup.head.bytes, "no part is missing");
  check_same(read(written(backup), 1 << 20), backup);
  return true;
}

// kind 1 | bytes 2 | payload, again and again
Bytes framed(BytesView frames) {
  Bytes out("PBAK\x01");
  uint64_t checksum = 0;
  while (frames.size() >= 3) {
    const auto bytes = std::min<size_t>(base::load_le<uint16_t>(frames.data() + 1), frames.size() - 3);
    Bytes frame(1, frames[0]);
    base::append_le(frame, static_cast<uint32_t>(bytes));
    frame += frames.substr(3, bytes);
    frames.remove_prefix(3 + bytes);
    checksum = base::hash64(frame, checksum);
    out += frame;
    base::append_le(out, checksum);
  }
  return out;
}

Bytes unframed(BytesView backup) {
  Bytes out;
  backup.remove_prefix(5);
  while (!backup.empty()) {
    const auto bytes = base::load_le<uint32_t>(backup.data() + 1);
    out.push_back(backup[0]);
    base::append_le(out, static_cast<uint16_t>(bytes));
    out += backup.substr(5, bytes);
    backup.remove_prefix(5 + bytes + sizeof(uint64_t));
  }
  return out;
}

bool run_backup(BytesView input) {
  return reads(input);
}
bool run_frames(BytesView input) {
  return reads(framed(input));
}

Read whole_backup() {
  Read backup;
  backup.head.link.id = "a1";
  backup.head.time_ms = 1'700'000'000'000;
  backup.head.checkpoint = (Stamp{1'700'000'000} << 32) | 3;
  backup.head.log_below = backup.head.checkpoint + 1;
  backup.head.files = {{{"WiredTiger", 8}, true}, {{"catalog.wt", 0}, true}, {{"journal/WiredTigerLog.0000000001", 4096}, true}};
  backup.parts = {{.file = 0, .offset = 0, .data = "contents", .zeros = 0},
                  {.file = 2, .offset = 0, .data = "journal", .zeros = 1017},
                  {.file = 2, .offset = 1024, .data = {}, .zeros = 3072}};
  backup.head.bytes = 8 + 4096;
  return backup;
}

Read later_backup() {
  Read backup;
  backup.head.link = {.id = "a2", .from = "a1"};
  backup.head.files = {{{"WiredTiger", 8}, true}, {{"records-1.wt", 1 << 20}, false}};
  backup.parts = {{.file = 0, .offset = 0, .data = "contents", .zeros = 0},
                  {.file = 1, .offset = 262'144, .data = "changed", .zeros = 9},
                  {.file = 1, .offset = 524'288, .data = "again", .zeros = 0}};
  backup.head.bytes = 8 + 16 + 5;
  return backup;
}

std::vector<Bytes> backups() {
  return {written(whole_backup()), written(later_backup())};
}
std::vector<Bytes> frames() {
  return {unframed(written(whole_backup())), unframed(written(later_backup()))};
}

const base::FuzzTarget backup_target("backup", run_backup, backups);
const base::FuzzTarget frames_target("backup_frames", run_frames, frames);

}  // namespace
