#include "bench/chapter6/replay.h"

#include "bench/measure/cpu_clock.h"

namespace bench::chapter6 {

namespace {

constexpr uint64_t seed = 1;

}  // namespace

Replay::Replay(const Options& options, Versions versions)
    : options_(options), versions_(versions), encoder_(std::make_unique<dedup::Encoder>(options, seed, pages_)) {}

const Encoding& Replay::step(const Record& from) {
  const BytesView content = from.document;
  const int64_t record = next_++;
  records_.insert(record, content);
  const auto lineage = versions_ == Versions::declared ? static_cast<dedup::Lineage>(from.group | 1) : dedup::no_lineage;
  const CpuWatch watch;
  last_ = encoder_->encode(MemoryRecords::name(from.collection, record), content, records_, lineage);
  encode_seconds_ += watch.seconds();
  content_bytes_ += content.size();
  forward_bytes_ += last_.source ? last_.forward.size() : content.size();
  write_backs_ += last_.write_backs.size();
  for (const auto& backward : last_.write_backs) records_.write_back(backward);
  return last_;
}

void Replay::run(const Workload& workload) {
  for (const Record& record : workload.records) step(record);
}

double Replay::restart() {
  encoder_->flush();
  encoder_ = std::make_unique<dedup::Encoder>(options_, seed, pages_);
  const CpuWatch watch;
  encoder_->rebuild();
  return watch.seconds();
}

void Replay::lose_index() {
  pages_.kept.clear();
  encoder_ = std::make_unique<dedup::Encoder>(options_, seed, pages_);
}

Options thesis(uint32_t chunk_bytes) {
  Options options = Options::of(Profile::thesis);
  options.chunk_bytes = chunk_bytes;
  return options;
}

}  // namespace bench::chapter6
