#include "replication/log_record.h"

#include <zstd.h>

#include "base/varint.h"

namespace replication {

using storage::Stamp;

namespace {

enum class RecordForm : uint8_t { plain = 1, compressed = 2 };
constexpr uint8_t goes_on_flag = 0x10;
constexpr int compression_level = 3;      // contents that went whole, most likely
constexpr uint64_t entry_bytes_min = 27;  // what decode of an entry wants at least

base::Failure damaged(const std::string& what) {
  return {base::ErrorCode::data_corruption_detected, "damaged record of the set's log: " + what};
}

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Empty where it would not be smaller.
Bytes compressed(BytesView body) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  Bytes out(ZSTD_compressBound(body.size()), '\0');
  const size_t bytes = ZSTD_compressCCtx(context.get(), out.data(), out.size(), body.data(), body.size(), compression_level);
  if (ZSTD_isError(bytes) || bytes + base::varint_bytes(body.size()) >= body.size()) return {};
  out.resize(bytes);
  return out;
}

std::optional<Bytes> decompressed(BytesView frame, uint64_t bytes) {
  if (bytes > log_record_bytes_max || ZSTD_getFrameContentSize(frame.data(), frame.size()) != bytes) return std::nullopt;
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  Bytes out(bytes, '\0');
  const size_t made = ZSTD_decompressDCtx(context.get(), out.data(), out.size(), frame.data(), frame.size());
  return made == bytes ? std::optional(std::move(out)) : std::nullopt;
}

base::Result<LogRecord> parse(std::shared_ptr<const Bytes> body) {
  LogRecord record;
  BytesView rest = *body;
  const auto first = base::take_varint(rest);
  const auto count = first ? base::take_varint(rest) : std::nullopt;
  if (!count || *count == 0 || *count > rest.size() / entry_bytes_min) return damaged("its count of entries");
  record.entries.reserve(*count);
  for (uint64_t i = 0; i < *count; ++i) {
    const auto bytes = base::take_varint(rest);
    if (!bytes || *bytes > rest.size()) return damaged("an entry is cut short");
    auto entry = decode_logged(rest.substr(0, *bytes));
    if (!entry.ok()) return damaged(entry.failure().message);
    rest.remove_prefix(*bytes);
    const Stamp stamp = *first + entry.value().behind_first;
    if (entry.value().form == Entry::Form::delta && entry.value().delta.base_behind >= stamp)
      return damaged("a base before all others");
    if (stamp < *first || (!record.entries.empty() && stamp <= record.last())) return damaged("timestamps out of order");
    record.entries.push_back({stamp, std::move(entry).value()});
  }
  if (!rest.empty()) return damaged("bytes behind its last entry");
  record.body = std::move(body);
  return record;
}

}  // namespace

void LogRecordBuilder::add(Stamp stamp, const Entry& entry) {
  base::check(entry.form != Entry::Form::named, "an entry of the set's log has its content");
  if (count_ == 0) first_ = stamp - entry.behind_first;
  base::check(stamp - entry.behind_first == first_, "entries of one record are of one transaction");
  scratch_.clear();
  encode(entry, scratch_);
  base::append_varint(entries_, scratch_.size());
  entries_.append(scratch_);
  ++count_;
}

LogRecord LogRecordBuilder::done(bool goes_on) {
  auto body = std::make_shared<Bytes>();
  body->reserve(entries_.size() + 20);
  base::append_varint(*body, first_);
  base::append_varint(*body, count_);
  body->append(entries_);
  *this = {};
  LogRecord record = parse(std::move(body)).or_throw();
  record.goes_on = goes_on;
  return record;
}

Bytes encode(const LogRecord& record, size_t compress_from) {
  base::check(record.bodies_before.empty(), "parts of a transaction travel one by one");
  const Bytes& body = *record.body;
  const auto form = [&](RecordForm of) {
    return static_cast<char>(static_cast<uint8_t>(of) | (record.goes_on ? goes_on_flag : 0));
  };
  Bytes out;
  if (body.size() > compress_from) {
    if (const Bytes frame = compressed(body); !frame.empty()) {
      out.reserve(frame.size() + 10);
      out.push_back(form(RecordForm::compressed));
      base::append_varint(out, body.size());
      out.append(frame);
      return out;
    }
  }
  out.reserve(body.size() + 1);
  out.push_back(form(RecordForm::plain));
  out.append(body);
  return out;
}

LogRecord join(std::vector<LogRecord> parts) {
  LogRecord whole;
  for (LogRecord& part : parts) {
    whole.entries.insert(whole.entries.end(), part.entries.begin(), part.entries.end());
    if (whole.body) whole.bodies_before.push_back(std::move(whole.body));
    whole.body = std::move(part.body);
  }
  return whole;
}

namespace {

base::Result<LogRecord> decode_body(BytesView bytes, RecordForm form) {
  if (form == RecordForm::plain) {
    if (bytes.size() > log_record_bytes_max) return damaged("too large");
    return parse(std::make_shared<const Bytes>(bytes));
  }
  if (form != RecordForm::compressed) return damaged("unknown form");
  const auto body_bytes = base::take_varint(bytes);
  auto body = body_bytes ? decompressed(bytes, *body_bytes) : std::nullopt;
  if (!body) return damaged("what is compressed in it");
  return parse(std::make_shared<const Bytes>(std::move(*body)));
}

}  // namespace

base::Result<LogRecord> decode_record(BytesView bytes) {
  if (bytes.empty()) return damaged("it is empty");
  const auto first = static_cast<uint8_t>(bytes[0]);
  auto record = decode_body(bytes.substr(1), static_cast<RecordForm>(first & ~goes_on_flag));
  if (!record.ok()) return record;
  LogRecord whole = std::move(record).value();
  whole.goes_on = first & goes_on_flag;
  return whole;
}

Bytes stamp_context(storage::Stamp stamp) {
  Bytes context;
  base::append_be64(context, stamp);
  return context;
}

storage::Stamp stamp_of_context(BytesView context) {
  return context.size() == sizeof(storage::Stamp) ? base::load_be64(context.data()) : 0;
}

}  // namespace replication
