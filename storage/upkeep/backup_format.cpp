#include "storage/upkeep/backup_format.h"

#include <limits>

#include "base/error.h"
#include "base/hash.h"
#include "bson/builder.h"
#include "bson/validate.h"
#include "storage/engine/engine_files.h"

namespace storage {
namespace {

using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using base::OperationError;

constexpr BytesView magic = "PBAK";
constexpr char kind_head = 'H', kind_part = 'P', kind_end = 'E';
constexpr size_t frame_head_bytes = 1 + sizeof(uint32_t);
constexpr size_t part_head_bytes = sizeof(uint32_t) + 2 * sizeof(uint64_t);
constexpr size_t end_bytes = 2 * sizeof(uint64_t);
constexpr uint32_t head_bytes_max = 64 << 20, part_bytes_max = 4 << 20;
constexpr size_t id_bytes_max = 64;

[[noreturn]] void damaged(const std::string& why) {
  throw OperationError(ErrorCode::data_corruption_detected, "the backup is damaged: " + why);
}

uint32_t payload_bytes_max(char kind) {
  switch (kind) {
    case kind_head: return head_bytes_max;
    case kind_part: return part_bytes_max;
    case kind_end: return end_bytes;
    default: damaged("there is no such kind of frame");
  }
}

bool is_id(std::string_view id) {
  if (id.empty() || id.size() > id_bytes_max) return false;
  for (const char c : id)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  return true;
}

std::string read_id(const bson::Element& field) {
  if (!field.is_string() || !is_id(field.as_string())) damaged("its head has no proper id");
  return std::string(field.as_string());
}

uint64_t read_length(const bson::Element& field) {
  if (field.type() != bson::Type::int64 || field.as_int64() < 0) damaged("its head has no proper length");
  return static_cast<uint64_t>(field.as_int64());
}

bson::Document encode_head(const BackupHead& head) {
  bson::Builder out;
  out.append("id", head.link.id);
  if (!head.link.from.empty()) out.append("from", head.link.from);
  out.append("time", bson::Date{head.time_ms}).append("checkpoint", static_cast<int64_t>(head.checkpoint));
  if (head.log_below != 0) out.append("logBelow", static_cast<int64_t>(head.log_below));
  out.append("bytes", static_cast<int64_t>(head.bytes));
  {
    auto files = out.array("files");
    for (const BackupHead::File& file : head.files) {
      auto one = files.object();
      one.append("name", file.name).append("bytes", static_cast<int64_t>(file.bytes)).append("whole", file.whole);
    }
  }
  return out.done();
}

BackupHead decode_head(BytesView payload) {
  const auto validated = bson::validate(payload, {.bytes_max = head_bytes_max, .utf8 = true});
  if (!validated.ok() || validated.value().size() != payload.size()) damaged("its head is no document");
  const bson::DocumentView document = validated.value();
  BackupHead head;
  head.link.id = read_id(document["id"]);
  if (document.has("from")) head.link.from = read_id(document["from"]);
  if (document["time"].type() != bson::Type::date || !document["files"].is_array()) damaged("its head lacks a field");
  head.time_ms = document["time"].as_date().ms;
  head.checkpoint = read_length(document["checkpoint"]);
  if (document.has("logBelow")) head.log_below = read_length(document["logBelow"]);
  head.bytes = read_length(document["bytes"]);
  for (const bson::Element& element : document["files"].as_document()) {
    if (!element.is_object()) damaged("its head has a file that is none");
    const bson::DocumentView one = element.as_document();
    BackupHead::File file;
    if (!one["name"].is_string() || !is_engine_file(one["name"].as_string())) damaged("its head has a file with a wrong name");
    file.name = one["name"].as_string();
    file.bytes = read_length(one["bytes"]);
    if (one["whole"].type() != bson::Type::boolean) damaged("its head lacks a field");
    file.whole = one["whole"].as_bool();
    if (!file.whole && head.link.from.empty()) damaged("it continues no other one, and has changes of a file");
    if (!head.files.empty() && head.files.back().name >= file.name) damaged("its files aren't sorted");
    head.files.push_back(std::move(file));
  }
  return head;
}

}  // namespace

Bytes BackupEncoder::frame(char kind, BytesView payload) {
  Bytes out(1, kind);
  base::append_le(out, static_cast<uint32_t>(payload.size()));
  out += payload;
  checksum_ = base::hash64(out, checksum_);
  base::append_le(out, checksum_);
  return out;
}

Bytes BackupEncoder::head(const BackupHead& head) {
  Bytes out(magic);
  out.push_back(backup_format_version);
  const bson::Document document = encode_head(head);
  return out + frame(kind_head, document.view().bytes());
}

Bytes BackupEncoder::part(const BackupPart& part) {
  Bytes payload;
  payload.reserve(part_head_bytes + part.data.size());
  base::append_le(payload, static_cast<uint32_t>(part.file));
  base::append_le(payload, part.offset);
  base::append_le(payload, part.zeros);
  payload += part.data;
  ++parts_;
  bytes_ += part.bytes();
  return frame(kind_part, payload);
}

Bytes BackupEncoder::end() {
  Bytes payload;
  base::append_le(payload, parts_);
  base::append_le(payload, bytes_);
  return frame(kind_end, payload);
}

void BackupDecoder::feed(BytesView bytes) {
  if (ended_ && !bytes.empty()) damaged("it goes on behind its end");
  pending_.erase(0, taken_);
  taken_ = 0;
  pending_ += bytes;
}

// Returns the payload of the next complete frame, which is valid until the decoder is fed.
std::optional<BytesView> BackupDecoder::frame(char& kind) {
  BytesView in = BytesView(pending_).substr(taken_);
  if (!begun_) {
    if (in.size() <= magic.size()) return std::nullopt;
    if (!in.starts_with(magic)) damaged("it doesn't begin as one");
    if (in[magic.size()] != backup_format_version) {
      throw OperationError(ErrorCode::unsupported_format, "the backup has a format that this program doesn't know");
    }
    begun_ = true;
    taken_ += magic.size() + 1;
    in.remove_prefix(magic.size() + 1);
  }
  if (in.size() < frame_head_bytes) return std::nullopt;
  kind = in[0];
  const auto payload = base::load_le<uint32_t>(in.data() + 1);
  if (payload > payload_bytes_max(kind)) damaged("a frame is too long");
  const size_t bytes = frame_head_bytes + payload;
  if (in.size() < bytes + sizeof(uint64_t)) return std::nullopt;
  checksum_ = base::hash64(in.substr(0, bytes), checksum_);
  if (checksum_ != base::load_le<uint64_t>(in.data() + bytes)) damaged("a checksum is wrong");
  taken_ += bytes + sizeof(uint64_t);
  return in.substr(frame_head_bytes, payload);
}

// Whole files before `file_end` must have all their bytes.
void BackupDecoder::require_written(size_t file_end) const {
  for (size_t i = file_; i < file_end; ++i) {
    const BackupHead::File& file = head_->files[i];
    if (file.whole && file.bytes != (i == file_ ? written_ : 0)) damaged("a part of " + file.name + " is missing");
  }
}

BackupPart BackupDecoder::decode_part(BytesView payload) {
  if (payload.size() < part_head_bytes) damaged("a part is too short");
  BackupPart part;
  part.file = base::load_le<uint32_t>(payload.data());
  part.offset = base::load_le<uint64_t>(payload.data() + 4);
  part.zeros = base::load_le<uint64_t>(payload.data() + 12);
  part.data = payload.substr(part_head_bytes);
  if (part.file < file_ || part.file >= head_->files.size()) damaged("a part is of no file");
  if (part.file > file_) {
    require_written(part.file);
    file_ = part.file;
    written_ = 0;
  }
  const BackupHead::File& file = head_->files[part.file];
  if (part.zeros > part_bytes_max - part.data.size()) damaged("a part is too long");
  if (part.offset > file.bytes || part.zeros > file.bytes || part.data.size() > file.bytes ||
      part.bytes() > file.bytes - part.offset) {
    damaged("a part lies behind the end of " + file.name);
  }
  if (file.whole ? part.offset != written_ : part.offset < written_) damaged("a part of " + file.name + " is out of order");
  written_ = part.offset + part.bytes();
  ++parts_;
  bytes_ += part.bytes();
  return part;
}

std::optional<BackupPart> BackupDecoder::next() {
  char kind = 0;
  while (!ended_) {
    const auto payload = frame(kind);
    if (!payload) return std::nullopt;
    if ((kind == kind_head) == head_.has_value()) damaged("its head isn't at its beginning");
    if (kind == kind_part) return decode_part(*payload);
    if (kind == kind_head) {
      head_ = decode_head(*payload);
      continue;
    }
    if (payload->size() != end_bytes || base::load_le<uint64_t>(payload->data()) != parts_ ||
        base::load_le<uint64_t>(payload->data() + 8) != bytes_ || bytes_ != head_->bytes) {
      damaged("parts are missing");
    }
    require_written(head_->files.size());
    ended_ = true;
    if (taken_ != pending_.size()) damaged("it goes on behind its end");
  }
  return std::nullopt;
}

}  // namespace storage
