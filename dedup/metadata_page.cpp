#include "dedup/metadata_page.h"

#include "base/hash.h"
#include "base/varint.h"

namespace dedup {

namespace {

using base::append_varint;

constexpr uint64_t format = 3;  // it seeds the checksum: pages of another format count as damaged

constexpr uint8_t present = 1;
constexpr uint8_t other_collection = 2;
constexpr uint8_t with_lineage = 4;  // the first feature is that of the lineage
constexpr uint8_t in_chain = 8;
constexpr int count_shift = 4;
constexpr uint8_t count_follows = 15;

constexpr uint32_t hop_bases_max = 32;

// Differences wrap, so any two names have one.
void append_distance(Bytes& out, uint64_t from, uint64_t to) {
  append_varint(out, base::zigzag(static_cast<int64_t>(to - from)));
}

// The upper half is mostly a time and the lower one a count, and each changes by itself.
void append_generation(Bytes& out, uint64_t from, uint64_t to) {
  append_distance(out, from >> 32, to >> 32);
  append_distance(out, from & UINT32_MAX, to & UINT32_MAX);
}

class Reader {
 public:
  explicit Reader(BytesView bytes) : bytes_(bytes) {}

  std::optional<Metadata> entry(uint8_t tag, const ContentId& before) {
    Metadata entry;
    uint64_t features = tag >> count_shift;
    if (features == count_follows) features = number();
    entry.id.collection = tag & other_collection ? static_cast<uint32_t>(number()) : before.collection;
    entry.id.record = step(before.record);
    entry.id.generation = generation(before.generation);
    entry.placement = {entry.id.record, 0};
    if (tag & in_chain) {
      entry.placement.chain = step(entry.id.record);
      entry.placement.ordinal = static_cast<uint32_t>(number());
      entry.demoted_below = static_cast<uint8_t>(number());
      entry.delta_bytes = static_cast<uint32_t>(number());
      const uint64_t bases = number();
      if (bases > hop_bases_max) return std::nullopt;
      for (uint64_t i = 0; i < bases; ++i) {
        const int64_t record = step(entry.id.record);
        entry.hop_bases.push_back({entry.id.collection, record, generation(entry.id.generation)});
      }
    }
    entry.has_lineage = tag & with_lineage;
    if (!good_ || features > Features::max || bytes_.size() < features * 4 || (entry.has_lineage && features == 0))
      return std::nullopt;
    for (uint64_t i = 0; i < features; ++i) entry.features.add(base::load_le<uint32_t>(bytes_.data() + 4 * i));
    if (entry.features.size() != features) return std::nullopt;
    bytes_.remove_prefix(features * 4);
    return entry;
  }

  uint64_t number() {
    const auto value = good_ ? base::take_varint(bytes_) : std::nullopt;
    good_ = value.has_value();
    return value.value_or(0);
  }
  std::optional<uint8_t> byte() {
    if (!good_ || bytes_.empty()) return std::nullopt;
    const auto value = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  bool good() const { return good_; }
  bool at_end() const { return good_ && bytes_.empty(); }

 private:
  uint64_t far(uint64_t from) { return from + static_cast<uint64_t>(base::unzigzag(number())); }
  int64_t step(int64_t from) { return static_cast<int64_t>(far(static_cast<uint64_t>(from))); }
  uint64_t generation(uint64_t from) {
    const uint64_t upper = far(from >> 32);
    return upper << 32 | (far(from & UINT32_MAX) & UINT32_MAX);
  }

  BytesView bytes_;
  bool good_ = true;
};

}  // namespace

uint32_t metadata_page_checksum(BytesView page) {
  return static_cast<uint32_t>(base::hash64(page.substr(4), format));
}

MetadataPageWriter::MetadataPageWriter(size_t slots) : out_(4, '\0') {
  append_varint(out_, slots);
}

void MetadataPageWriter::write_skipped() {
  if (skipped_ == 0) return;
  out_.push_back(0);
  append_varint(out_, skipped_);
  skipped_ = 0;
}

void MetadataPageWriter::add(const ContentId& id, const Placement& placement, bool has_lineage, uint8_t demoted_below,
                             uint32_t delta_bytes, std::span<const uint32_t> features, std::span<const ContentId> hop_bases) {
  write_skipped();
  const bool other = id.collection != before_.collection;
  const bool chained = placement != Placement{id.record, 0} || demoted_below || delta_bytes || !hop_bases.empty();
  const auto count = static_cast<uint8_t>(std::min<size_t>(features.size(), count_follows));
  out_.push_back(static_cast<char>(present | (other ? other_collection : 0) | (has_lineage ? with_lineage : 0) |
                                   (chained ? in_chain : 0) | count << count_shift));
  if (count == count_follows) append_varint(out_, features.size());
  if (other) append_varint(out_, id.collection);
  const auto record = static_cast<uint64_t>(id.record);
  append_distance(out_, static_cast<uint64_t>(before_.record), record);
  append_generation(out_, before_.generation, id.generation);
  if (chained) {
    append_distance(out_, record, static_cast<uint64_t>(placement.chain));
    append_varint(out_, placement.ordinal);
    append_varint(out_, demoted_below);
    append_varint(out_, delta_bytes);
    append_varint(out_, hop_bases.size());
    for (const ContentId& base : hop_bases) {
      append_distance(out_, record, static_cast<uint64_t>(base.record));
      append_generation(out_, id.generation, base.generation);
    }
  }
  for (const uint32_t feature : features) base::append_le(out_, feature);
  before_ = id;
}

Bytes MetadataPageWriter::finish() {
  write_skipped();
  base::store_le(out_.data(), metadata_page_checksum(out_));
  return std::move(out_);
}

Bytes write_metadata_page(const MetadataSlots& slots) {
  MetadataPageWriter writer(slots.size());
  for (const auto& slot : slots) {
    if (slot) {
      writer.add(slot->id, slot->placement, slot->has_lineage, slot->demoted_below, slot->delta_bytes,
                 {slot->features.begin(), slot->features.size()}, slot->hop_bases);
    } else {
      writer.skip();
    }
  }
  return writer.finish();
}

std::optional<MetadataSlots> read_metadata_page(BytesView bytes) {
  if (bytes.size() < 4 || base::load_le<uint32_t>(bytes.data()) != metadata_page_checksum(bytes)) return std::nullopt;
  Reader reader(bytes.substr(4));
  const uint64_t count = reader.number();
  if (count > metadata_slots_max) return std::nullopt;
  MetadataSlots slots;
  slots.reserve(count);
  ContentId before;
  while (slots.size() < count) {
    const auto tag = reader.byte();
    if (!tag) return std::nullopt;
    if (*tag & present) {
      auto entry = reader.entry(*tag, before);
      if (!entry) return std::nullopt;
      before = entry->id;
      slots.push_back(std::move(entry));
    } else {
      const uint64_t nothing = reader.number();
      if (*tag || nothing == 0 || nothing > count - slots.size()) return std::nullopt;
      slots.resize(slots.size() + nothing);
    }
  }
  if (!reader.at_end()) return std::nullopt;
  return slots;
}

size_t metadata_entry_bytes(size_t features, size_t hop_bases) {
  return 6 + 4 * features + (hop_bases ? 4 + 6 * hop_bases : 0);
}

}  // namespace dedup
