#include "replication/pre_images.h"

#include <vector>

#include "base/hash.h"
#include "base/varint.h"
#include "dedup/delta.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace replication {

using storage::CollectionId;
using storage::RecordId;
using storage::Stamp;
using storage::Transaction;

namespace {

enum class Form : uint8_t { whole = 1, delta = 2 };

constexpr size_t header_bytes = 1 + sizeof(uint32_t);
constexpr size_t record_key_bytes = 1 + 3 * sizeof(uint64_t);
constexpr size_t delta_content_min = 256;  // smaller contents are kept whole
constexpr uint64_t whole_every = 32;
constexpr int expired_per_transaction = 1000;
constexpr char by_stamp = 's', by_record = 'r';

Bytes stamp_key(Stamp stamp) {
  Bytes key(1, by_stamp);
  base::append_be64(key, stamp);
  return key;
}

Bytes record_key(CollectionId collection, RecordId record, Stamp stamp) {
  Bytes key(1, by_record);
  base::append_be64(key, collection);
  base::append_be64(key, static_cast<uint64_t>(record));
  base::append_be64(key, stamp);
  return key;
}

struct Place {
  CollectionId collection;
  RecordId record;
};

std::optional<Place> place_in(BytesView value) {
  const auto collection = base::take_varint(value);
  const auto record = collection ? base::take_varint(value) : std::nullopt;
  if (!record) return std::nullopt;
  return Place{static_cast<CollectionId>(*collection), static_cast<RecordId>(*record)};
}

[[noreturn]] void damaged(Stamp stamp) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "the pre-image of the change at Timestamp(" + std::to_string(stamp >> 32) + ", " +
                                 std::to_string(static_cast<uint32_t>(stamp)) + ") is damaged");
}

Bytes value_of(Form form, bson::DocumentView image, BytesView body) {
  Bytes value(1, static_cast<char>(form));
  base::append_le(value, base::checksum32(image.bytes()));
  return value.append(body);
}

bool is_whole(Stamp stamp) {
  Bytes bytes;
  base::append_be64(bytes, stamp);
  return base::hash64(bytes) % whole_every == 0;
}

}  // namespace

PreImages::PreImages(storage::Store& store)
    : store_(store),
      table_(store.engine().open_table("pre-images",
                                       {.block_compressor = store.options().block_compressor, .leaf_page_bytes = 64 << 10})) {}

void PreImages::keep(Transaction& transaction, CollectionId collection, RecordId record, Stamp stamp, bson::DocumentView before,
                     const bson::DocumentView* after, bool moved) {
  std::optional<Bytes> delta;
  if (after && !moved && before.size() >= delta_content_min && !is_whole(stamp)) {
    delta = dedup::encode(after->bytes(), before.bytes(), {.literal_bytes_max = before.size() / 2});
  }
  const Bytes value = value_of(delta ? Form::delta : Form::whole, before, delta ? BytesView(*delta) : before.bytes());
  Bytes place;
  base::append_varint(place, collection);
  base::append_varint(place, static_cast<uint64_t>(record));
  table_.put(transaction, stamp_key(stamp), place);
  table_.put(transaction, record_key(collection, record, stamp), value);
}

std::optional<Bytes> PreImages::find(Stamp stamp) {
  Transaction transaction(store_, Transaction::Mode::read);
  std::optional<Place> place;
  if (const auto row = table_.get(transaction, stamp_key(stamp))) place = place_in(*row);
  if (!place) return std::nullopt;

  // The deltas lead to the first content that is whole: a later pre-image, or what the record has after the last change.
  struct Step {
    uint32_t checksum;
    Bytes delta;
  };
  std::vector<Step> steps;
  std::optional<Bytes> content;
  Stamp last = 0;
  const Bytes end = record_key(place->collection, place->record, UINT64_MAX);
  storage::TableCursor rows = table_.cursor(transaction);
  for (bool on = rows.seek(record_key(place->collection, place->record, stamp)); on && rows.key() <= end && !content;
       on = rows.next()) {
    if (rows.key().size() != record_key_bytes) damaged(stamp);
    const BytesView value = rows.value();
    last = base::load_be64(rows.key().data() + rows.key().size() - sizeof(uint64_t));
    if (steps.empty() && last != stamp) return std::nullopt;
    if (value.size() < header_bytes) damaged(stamp);
    const auto checksum = base::load_le<uint32_t>(value.data() + 1);
    if (static_cast<Form>(value[0]) == Form::whole) {
      content = Bytes(value.substr(header_bytes));
      if (base::checksum32(*content) != checksum) damaged(stamp);
    } else if (static_cast<Form>(value[0]) == Form::delta) {
      steps.push_back({checksum, Bytes(value.substr(header_bytes))});
    } else {
      damaged(stamp);
    }
  }
  if (!content) {
    auto collection = store_.catalog().open(place->collection);
    if (!collection) collection = store_.catalog().dropped(place->collection);
    if (collection) content = collection->records().find(transaction, place->record, last);
    if (!content) return std::nullopt;
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    auto made = dedup::apply(*content, step->delta, {.output_bytes_max = bson::document_bytes_max_internal});
    // The collection may have kept no images for a while: then the content is another one than the delta is of.
    if (!made.ok() || base::checksum32(made.value()) != step->checksum) return std::nullopt;
    content = std::move(made).value();
  }
  return content;
}

RecordId PreImages::make_last_whole(const storage::Collection& collection, RecordId from) {
  constexpr size_t records_max = 1000, bytes_max = 4 << 20;
  std::vector<std::pair<Stamp, Bytes>> deltas;  // by key
  RecordId next = 0;
  {
    Transaction transaction(store_, Transaction::Mode::read);
    storage::TableCursor rows = table_.cursor(transaction);
    const Bytes end = record_key(collection.id(), static_cast<RecordId>(UINT64_MAX), UINT64_MAX);
    size_t records = 0;
    for (bool on = rows.seek(record_key(collection.id(), from, 0)); on && rows.key() <= end;) {
      if (rows.key().size() != record_key_bytes) {  // damaged: no record is in it, and the way back below could lead here again
        on = rows.next();
        continue;
      }
      const auto record = static_cast<RecordId>(base::load_be64(rows.key().data() + 1 + sizeof(uint64_t)));
      if (records++ == records_max) {
        next = record;
        break;
      }
      rows.seek_back(record_key(collection.id(), record, UINT64_MAX));
      if (!rows.value().empty() && static_cast<Form>(rows.value()[0]) == Form::delta)
        deltas.emplace_back(base::load_be64(rows.key().data() + rows.key().size() - sizeof(uint64_t)), Bytes(rows.key()));
      on = rows.next();
    }
  }
  for (size_t at = 0; at < deltas.size();) {
    std::vector<std::pair<Bytes, Bytes>> whole;  // key, content
    for (size_t bytes = 0; at < deltas.size() && bytes < bytes_max; ++at) {
      auto content = find(deltas[at].first);
      if (!content) continue;  // it expired meanwhile, or was a delta of another content
      bytes += content->size();
      whole.emplace_back(std::move(deltas[at].second), std::move(*content));
    }
    storage::in_transaction(store_, [&](Transaction& transaction) {
      for (const auto& [key, content] : whole) {
        if (table_.get(transaction, key))
          table_.put(transaction, key, value_of(Form::whole, bson::DocumentView(content), content));
      }
    });
  }
  return next;
}

int64_t PreImages::expire(Stamp below) {
  int64_t expired = 0;
  for (bool more = true; more;) {
    more = false;
    storage::in_transaction(store_, [&](Transaction& transaction) {
      std::vector<std::pair<Bytes, Bytes>> gone;
      storage::TableCursor rows = table_.cursor(transaction);
      for (bool on = rows.seek(stamp_key(0)); on && rows.key() < BytesView(stamp_key(below)); on = rows.next()) {
        const bool is_key = rows.key().size() == stamp_key(0).size();
        const Stamp stamp = is_key ? base::load_be64(rows.key().data() + 1) : 0;
        const auto place = is_key ? place_in(rows.value()) : std::nullopt;
        gone.emplace_back(Bytes(rows.key()), place ? record_key(place->collection, place->record, stamp) : Bytes());
        if (gone.size() == expired_per_transaction) break;
      }
      rows.reset();
      for (const auto& [by_time, by_place] : gone) {
        table_.remove(transaction, by_time);
        if (!by_place.empty()) table_.remove(transaction, by_place);
      }
      more = gone.size() == expired_per_transaction;
      expired += static_cast<int64_t>(gone.size());
    });
  }
  return expired;
}

}  // namespace replication
