#include "storage/contents/store_tables.h"

#include <span>

#include "storage/contents/contents.h"
#include "storage/engine/engine.h"

namespace storage {

namespace {

constexpr int64_t StoreCounts::*count_fields[] = {&StoreCounts::records,
                                                  &StoreCounts::logical_bytes,
                                                  &StoreCounts::raw_bytes,
                                                  &StoreCounts::stubs,
                                                  &StoreCounts::heads,
                                                  &StoreCounts::chain_rows,
                                                  &StoreCounts::chain_bytes,
                                                  &StoreCounts::dead,
                                                  &StoreCounts::dead_bytes,
                                                  &StoreCounts::thinned_bytes,
                                                  &StoreCounts::thinned_packed_bytes,
                                                  &StoreCounts::unsettled_bytes};
constexpr size_t count_fields_before = 11;  // the number in version 1

}  // namespace

std::vector<std::string> store_table_names(CollectionId collection) {
  const std::string id = std::to_string(collection);
  return {"records-" + id, "packed-" + id, "heads-" + id, "chains-" + id};
}

PageLayout page_layout(const std::string& profile) {
  if (profile == "thesis") return {.settled_level = level_fresh, .dictionaries = false, .columns = false};
  if (profile == "archive") return {.settled_page_bytes = 512 << 10, .settled_level = level_archived};
  return {};
}

StoreTables StoreTables::open(Contents& contents, CollectionId collection, const std::string& profile) {
  Engine& engine = contents.engine;
  const auto names = store_table_names(collection);
  const PageLayout layout = page_layout(profile);
  std::string fresh = engine.options().block_compressor, stays = fresh;
  PageCompressors& compressors = contents.page_compressors;
  compressors.add(collection);
  compressors.set_settled(collection, layout.settled_level, layout.columns);
  if (fresh == "zstd") {
    fresh = PageCompressors::fresh_name(collection);
    stays = PageCompressors::settled_name(collection);
  }
  // Pages are small where rows come and go, and large where they stay: a larger page compresses better, but is read and written
  // as a whole.
  const TableOptions growing{.block_compressor = fresh, .leaf_page_bytes = 32 << 10, .allocation_bytes = 512};
  const TableOptions settled{.block_compressor = stays,
                             .leaf_page_bytes = layout.settled_page_bytes,
                             .memory_page_bytes = 8 * layout.settled_page_bytes,
                             .allocation_bytes = 512};
  TableOptions settling = settled;
  settling.block_compressor = fresh;
  const TableOptions small{
      .block_compressor = fresh, .leaf_page_bytes = 16 << 10, .allocation_bytes = 512, .prefix_compression = true};
  return {engine.open_table(names[0], growing),
          engine.open_table(names[1], settled),
          engine.open_table(names[2], small),
          engine.open_table(names[3], settling),
          &contents,
          collection};
}

StoreCounts& StoreCounts::operator+=(const StoreCounts& more) {
  for (auto field : count_fields) this->*field += more.*field;
  return *this;
}

StoreCounts& StoreCounts::operator-=(const StoreCounts& less) {
  for (auto field : count_fields) this->*field -= less.*field;
  return *this;
}

StoreCounts StoreCounts::of_rows() const {
  StoreCounts counts = *this;
  counts.thinned_bytes = counts.thinned_packed_bytes = counts.unsettled_bytes = 0;
  return counts;
}

Bytes write_counts(const StoreCounts& counts) {
  Bytes out(1, '\2');
  for (auto field : count_fields) base::append_varint(out, base::zigzag(counts.*field));
  return out;
}

std::optional<StoreCounts> read_counts(BytesView bytes) {
  if (bytes.empty() || (bytes[0] != '\1' && bytes[0] != '\2')) return std::nullopt;
  const size_t fields = bytes[0] == '\1' ? count_fields_before : std::size(count_fields);
  bytes.remove_prefix(1);
  StoreCounts counts;
  for (auto field : std::span(count_fields).first(fields)) {
    const auto value = base::take_varint(bytes);
    if (!value) return std::nullopt;
    counts.*field = base::unzigzag(*value);
  }
  return bytes.empty() ? std::optional(counts) : std::nullopt;
}

void StoreCounters::add(const StoreCounts& change) {
  size_t at = 0;
  for (auto field : count_fields) {
    if (change.*field != 0) fields_[at].add(change.*field);
    ++at;
  }
}

void StoreCounters::add_after_commit(Transaction& transaction, const StoreCounts& change) {
  transaction.after_commit([this, change] { add(change); });
}

void StoreCounters::set(const StoreCounts& counts) {
  size_t at = 0;
  for (auto field : count_fields) fields_[at++].set(counts.*field);
}

StoreCounts StoreCounters::get() const {
  StoreCounts counts;
  size_t at = 0;
  for (auto field : count_fields) counts.*field = fields_[at++].get();
  return counts;
}

}  // namespace storage
