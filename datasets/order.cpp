#include "datasets/order.h"

#include <algorithm>
#include <utility>

namespace datasets {
namespace {

struct Fixed {
  int64_t timestamp_ms;
  uint64_t group;
  uint64_t text_bytes;
  uint32_t views;
  uint32_t collection_bytes;
  uint64_t op;
};

void encode(const Item& item, bson::Bytes& out) {
  const Fixed fixed{item.timestamp_ms,
                    item.group,
                    item.text_bytes,
                    item.views,
                    static_cast<uint32_t>(item.collection.size()),
                    static_cast<uint64_t>(item.op)};
  out.assign(reinterpret_cast<const char*>(&fixed), sizeof fixed);
  out.append(item.collection).append(item.document.bytes());
}

Item decode(const bson::Bytes& bytes) {
  Fixed fixed;
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  Item item;
  item.op = static_cast<Item::Op>(fixed.op);
  item.collection = bytes.substr(sizeof fixed, fixed.collection_bytes);
  item.document = bson::Document(bytes.substr(sizeof fixed + fixed.collection_bytes));
  item.timestamp_ms = fixed.timestamp_ms;
  item.group = fixed.group;
  item.text_bytes = fixed.text_bytes;
  item.views = fixed.views;
  return item;
}

}  // namespace

void TimestampOrder::read_all() {
  bson::Bytes bytes;
  while (auto item = from_->next()) {
    encode(*item, bytes);
    places_.push_back({item->timestamp_ms, spool_.append(bytes)});
  }
  std::sort(places_.begin(), places_.end());  // places grow, so equal moments keep their order
}

std::optional<Item> TimestampOrder::next() {
  if (!std::exchange(read_, true)) read_all();
  if (given_ == places_.size()) return std::nullopt;
  bson::Bytes bytes;
  spool_.read(places_[given_++].at, bytes);
  return decode(bytes);
}

double TimestampOrder::fraction() const {
  if (!read_) return std::max(0.0, from_->fraction()) / 2;
  return places_.empty() ? 1.0 : 0.5 + 0.5 * static_cast<double>(given_) / static_cast<double>(places_.size());
}

}  // namespace datasets
