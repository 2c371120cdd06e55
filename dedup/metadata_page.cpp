#include "dedup/metadata_page.h"

#include "base/hash.h"
#include "base/varint.h"

namespace dedup {

namespace {

using base::append_varint;

constexpr uint8_t present = 1;
constexpr uint8_t other_collection = 2;
constexpr int count_shift = 2;          // five bits: features
constexpr uint8_t with_lineage = 0x80;  // the first feature is that of the lineage

// Differences wrap: any two names have one.
uint64_t distance(uint64_t from, uint64_t to) { return base::zigzag(static_cast<int64_t>(to - from)); }
uint64_t step(uint64_t from, uint64_t zigzag) { return from + static_cast<uint64_t>(base::unzigzag(zigzag)); }

void append_entry(Bytes& out, const Metadata& entry, const ContentId& before) {
  const bool other = entry.id.collection != before.collection;
  out.push_back(static_cast<char>(present | (other ? other_collection : 0) | (entry.has_lineage ? with_lineage : 0) |
                                  entry.features.size() << count_shift));
  if (other) append_varint(out, entry.id.collection);
  const auto record = static_cast<uint64_t>(entry.id.record);
  append_varint(out, distance(static_cast<uint64_t>(before.record), record));
  append_varint(out, distance(before.generation, entry.id.generation));
  append_varint(out, distance(static_cast<uint64_t>(entry.placement.chain), record));
  append_varint(out, entry.placement.ordinal);
  append_varint(out, entry.hop_bases.size());
  for (const ContentId& base : entry.hop_bases) {
    append_varint(out, distance(static_cast<uint64_t>(base.record), record));
    append_varint(out, distance(base.generation, entry.id.generation));
  }
  for (const uint32_t feature : entry.features) base::append_le(out, feature);
}

class Reader {
 public:
  explicit Reader(BytesView bytes) : bytes_(bytes) {}

  std::optional<Metadata> entry(uint8_t tag, const ContentId& before) {
    Metadata entry;
    entry.id.collection = tag & other_collection ? static_cast<uint32_t>(number()) : before.collection;
    const uint64_t record = step(static_cast<uint64_t>(before.record), number());
    entry.id.record = static_cast<int64_t>(record);
    entry.id.generation = step(before.generation, number());
    entry.placement.chain = static_cast<int64_t>(record - static_cast<uint64_t>(base::unzigzag(number())));
    entry.placement.ordinal = static_cast<uint32_t>(number());
    const uint64_t bases = number();
    if (bases > 32) return std::nullopt;
    for (uint64_t i = 0; i < bases; ++i) {
      const uint64_t base_record = record - static_cast<uint64_t>(base::unzigzag(number()));
      const uint64_t generation = entry.id.generation - static_cast<uint64_t>(base::unzigzag(number()));
      entry.hop_bases.push_back({entry.id.collection, static_cast<int64_t>(base_record), generation});
    }
    const uint32_t features = (tag & ~with_lineage) >> count_shift;
    entry.has_lineage = tag & with_lineage;
    if (entry.has_lineage && features == 0) return std::nullopt;
    if (!good_ || features > Features::max || bytes_.size() < features * 4) return std::nullopt;
    for (uint32_t i = 0; i < features; ++i) entry.features.add(base::load_le<uint32_t>(bytes_.data() + 4 * i));
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
  bool at_end() const { return good_ && bytes_.empty(); }
  size_t left() const { return bytes_.size(); }

 private:
  BytesView bytes_;
  bool good_ = true;
};

}  // namespace

Bytes write_metadata_page(const MetadataSlots& slots) {
  Bytes out(4, '\0');
  append_varint(out, slots.size());
  ContentId before;
  for (const auto& slot : slots) {
    if (!slot || slot->superseded) {
      out.push_back(0);
      continue;
    }
    append_entry(out, *slot, before);
    before = slot->id;
  }
  base::store_le(out.data(), base::checksum32(BytesView(out).substr(4)));
  return out;
}

std::optional<MetadataSlots> read_metadata_page(BytesView bytes) {
  if (bytes.size() < 4 || base::load_le<uint32_t>(bytes.data()) != base::checksum32(bytes.substr(4))) return std::nullopt;
  Reader reader(bytes.substr(4));
  const uint64_t count = reader.number();
  if (count > reader.left()) return std::nullopt;
  MetadataSlots slots(count);
  ContentId before;
  for (auto& slot : slots) {
    const auto tag = reader.byte();
    if (!tag) return std::nullopt;
    if (*tag == 0) continue;
    slot = reader.entry(*tag, before);
    if (!slot) return std::nullopt;
    before = slot->id;
  }
  if (!reader.at_end()) return std::nullopt;
  return slots;
}

size_t metadata_entry_bytes(const Metadata& entry, const Metadata* before) {
  Bytes out;
  append_entry(out, entry, before ? before->id : ContentId{});
  return out.size();
}

}  // namespace dedup
