#include "storage/background/log_estimate.h"

#include <zstd.h>

#include "base/varint.h"

namespace storage {

namespace {
constexpr size_t batch_bytes = 1 << 20;
constexpr int zstd_level = 3;
// This counts batches. Only every eighth is compressed, because an estimate is enough and compression costs time.
constexpr uint64_t compressed_every = 8;
}  // namespace

struct LogEstimate::Compressor {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  mutable base::Bytes out;
  ~Compressor() { ZSTD_freeCCtx(context); }
};

LogEstimate::LogEstimate() : compressor_(std::make_unique<Compressor>()) {}
LogEstimate::~LogEstimate() = default;

LogFigures& LogFigures::operator+=(const LogFigures& more) {
  entries += more.entries;
  raw_bytes += more.raw_bytes;
  forward_bytes += more.forward_bytes;
  batches += more.batches;
  batch_bytes += more.batch_bytes;
  zstd_bytes += more.zstd_bytes;
  return *this;
}

void LogEstimate::add(base::BytesView content, const dedup::Encoding& encoding) {
  const size_t before = batch_.size();
  // An entry carries two names: that of the content, and that of the source as a distance.
  base::append_varint(batch_, static_cast<uint64_t>(encoding.placement.chain));
  base::append_varint(batch_, encoding.placement.ordinal);
  if (encoding.source) {
    base::append_varint(batch_, static_cast<uint64_t>(encoding.source->record));
    base::append_varint(batch_, encoding.source->generation);
    batch_ += encoding.forward;
  } else {
    batch_.append(content);
  }
  ++figures_.entries;
  figures_.raw_bytes += content.size() + 12;
  figures_.forward_bytes += batch_.size() - before;
  if (batch_.size() >= batch_bytes) close_batch();
}

size_t LogEstimate::compressed() const {
  compressor_->out.resize(ZSTD_compressBound(batch_.size()));
  const size_t bytes = ZSTD_compressCCtx(compressor_->context, compressor_->out.data(), compressor_->out.size(), batch_.data(),
                                         batch_.size(), zstd_level);
  return ZSTD_isError(bytes) ? batch_.size() : bytes;
}

void LogEstimate::close_batch() {
  if (figures_.batches++ % compressed_every == 0) {
    sampled_bytes_ += batch_.size();
    sampled_zstd_bytes_ += compressed();
    base::Bytes().swap(compressor_->out);
  }
  figures_.batch_bytes += batch_.size();
  figures_.zstd_bytes = figures_.batch_bytes * sampled_zstd_bytes_ / sampled_bytes_;
  batch_.clear();
}

LogFigures LogEstimate::figures_now() const {
  LogFigures now = figures_;
  if (batch_.empty()) return now;
  ++now.batches;
  now.batch_bytes += batch_.size();
  now.zstd_bytes += compressed();
  return now;
}

}  // namespace storage
