#include "bench/data/memory_records.h"

#include "base/error.h"
#include "base/hash.h"
#include "bench/data/blocks.h"
#include "bench/measure/cpu_clock.h"

namespace bench {

void MemoryRecords::insert(int64_t record, BytesView content) {
  base::check(record == static_cast<int64_t>(forms_.size()), "records come in order");
  dedup::StoredForm form;
  form.bytes = Bytes(content);
  form.checksum = base::checksum32(content);
  form.raw_bytes = static_cast<uint32_t>(content.size());
  forms_.push_back(std::move(form));
}

void MemoryRecords::write_back(const dedup::Backward& backward) {
  dedup::StoredForm& form = forms_.at(static_cast<size_t>(backward.target.record));
  form.raw = false;
  Bytes(backward.delta).swap(form.bytes);  // an assigned delta would keep the memory of the whole content
  form.base = backward.base;
}

base::Result<dedup::StoredForm> MemoryRecords::fetch_form(const dedup::ContentId& id) {
  if (id.record < 0 || id.record >= static_cast<int64_t>(forms_.size())) {
    return base::Failure{base::ErrorCode::no_such_key, "no content " + to_string(id)};
  }
  return forms_[static_cast<size_t>(id.record)];
}

std::optional<Bytes> MemoryRecords::fetch(const dedup::ContentId& id) {
  const CpuWatch watch;
  ++fetches_;
  auto content = dedup::decode(id, *this);
  fetch_seconds_ += watch.seconds();
  return content ? std::optional(std::move(content).value()) : std::nullopt;
}

uint32_t MemoryRecords::hops(int64_t record) const {
  uint32_t hops = 0;
  for (const dedup::StoredForm* form = &forms_.at(static_cast<size_t>(record)); !form->raw; ++hops) {
    form = &forms_.at(static_cast<size_t>(form->base.record));
  }
  return hops;
}

uint64_t MemoryRecords::stored_bytes() const {
  uint64_t bytes = 0;
  for (const auto& form : forms_) bytes += form.bytes.size();
  return bytes;
}

uint64_t MemoryRecords::block_bytes(Block method, size_t block_bytes) const {
  BlockCompressor blocks(method == Block::snappy ? BlockCompressor::Method::snappy : BlockCompressor::Method::zstd, block_bytes);
  for (const auto& form : forms_) blocks.add(form.bytes);
  return blocks.finish();
}

}  // namespace bench
