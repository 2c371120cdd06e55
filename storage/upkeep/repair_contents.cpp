#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "storage/contents/contents.h"
#include "storage/store.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

namespace {

std::string lost_and_found(const Collection& collection) {
  const std::string hex = base::to_hex(collection.uuid_bytes());
  return "local.lost_and_found." + hex.substr(0, 8) + '-' + hex.substr(8, 4) + '-' + hex.substr(12, 4) + '-' + hex.substr(16, 4) +
         '-' + hex.substr(20);
}

}  // namespace

void Repair::heal_contents() {
  std::vector<RecordId> damaged;
  size_t seen = 0;
  for (const RecordId record : records()) {
    if (++seen % batch == 0) ask();
    Transaction transaction(engine_, Transaction::Mode::read);
    if (!readable(transaction, record)) damaged.push_back(record);
  }
  // The highest records come first, because the others are made out of them.
  for (auto record = damaged.rbegin(); record != damaged.rend(); ++record) heal(*record);
  const std::vector<ChainKey> lost = rescue_from_lost(damaged);
  for (const RecordId record : damaged) {
    ask();
    in_transaction(engine_, [&](Transaction& transaction) {
      if (!readable(transaction, record)) remove(transaction, record);
    });
  }
  in_transaction(engine_, [&](Transaction& transaction) {
    for (const ChainKey& key : lost) tables_.chains.remove(transaction, chain_key(key));
  });
  report.took_away |= !lost.empty();
}

std::vector<ChainKey> Repair::rescue_from_lost(const std::vector<RecordId>& damaged) {
  std::vector<ChainKey> lost, based;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    std::set<ContentName> bad;
    for (const RecordId record : damaged) {
      ask();
      if (readable(transaction, record)) continue;
      // Nothing can be based on a content without a name.
      if (const auto place = find_sound_row(tables_, transaction, record)) bad.insert({record, place->row.generation});
    }
    size_t seen = 0;
    TableCursor cursor = tables_.chains.cursor(transaction);
    std::vector<std::pair<ChainKey, ContentName>> deltas;
    while (cursor.next()) {
      if (++seen % batch == 0) ask();
      const auto key = parse_chain_key(cursor.key());
      const auto row = key ? parse_chain_row(cursor.value(), key.value()) : base::Result<ChainRow>(key.failure());
      if (!row) continue;
      if (row.value().form == ChainRow::Form::delta) deltas.emplace_back(key.value(), row.value().base.content);
      ContentReader reader(tables_, transaction, chains_.collection());
      if (reader.read(key.value()).ok()) continue;
      lost.push_back(key.value());
      bad.insert(key.value().content);
    }
    for (const auto& [key, base] : deltas) {
      if (bad.contains(base) && !bad.contains(key.content)) based.push_back(key);
    }
  }
  for (const ChainKey& key : based) {
    ask();
    in_transaction(engine_, [&](Transaction& transaction) {
      const Bytes bytes(*tables_.chains.get(transaction, chain_key(key)));
      const ChainRow row = parse_chain_row(bytes, key).or_throw();
      ContentReader reader(tables_, transaction, chains_.collection());
      make_whole(transaction, {key, row.checksum, row.dead, row.kept, row.references}, reader.read(key).or_throw());
    });
    ++report.corrected_chains;
  }
  return lost;
}

void Repair::heal(RecordId record) {
  constexpr int members_max = 64;
  for (int i = 0; copies_ && i < members_max; ++i) {
    ask();
    const bool on = in_transaction(engine_, [&](Transaction& transaction) {
      if (readable(transaction, record)) return false;
      const auto member = first_damaged(transaction, record);
      return member && restore(transaction, *member);
    });
    if (!on) return;
    ++report.restored_contents;
  }
}

std::optional<Repair::Member> Repair::first_damaged(Transaction& transaction, RecordId record) {
  const auto place = find_sound_row(tables_, transaction, record);
  if (!place) return std::nullopt;  // Not even its name is left.
  std::vector<Member> path;
  ChainKey key{place->row.chain, {record, place->row.generation}};
  bool in_row = place->row.form == RecordRow::Form::raw;
  while (!in_row) {
    const auto bytes = tables_.chains.get(transaction, chain_key(key));
    if (!bytes) {
      in_row = true;
      break;
    }
    const auto parsed = parse_chain_row(*bytes, key);
    if (!parsed) {
      path.push_back({key, std::nullopt, key.content.record != record, false, 0});
      return path.back();
    }
    const ChainRow& row = parsed.value();
    path.push_back({key, row.checksum, row.dead, row.kept, row.references});
    if (row.form == ChainRow::Form::raw) break;
    key = row.base;
  }
  if (in_row) {
    Member member{key, std::nullopt, false, false, 0};
    const auto row = find_sound_row(tables_, transaction, key.content.record);
    if (row && row->row.form == RecordRow::Form::raw && row->row.generation == key.content.generation)
      member.checksum = row->row.checksum;
    // The record is lost entirely; its content is kept for the others from now on.
    if (!member.checksum) member.dead = !path.empty();
    path.push_back(member);
  }
  for (auto member = path.rbegin(); member != path.rend(); ++member) {
    if (!intact(transaction, *member)) return *member;
  }
  return path.front();
}

bool Repair::intact(Transaction& transaction, const Member& member) {
  ContentReader reader(tables_, transaction, chains_.collection());
  const auto content = reader.read(member.key);
  return content.ok() && member.checksum && base::checksum32(content.value()) == *member.checksum;
}

bool Repair::restore(Transaction& transaction, const Member& member) {
  const auto content = copies_(collection_, member.key.content.record, member.key.content.generation);
  if (!content || !holds(*content)) return false;
  const uint32_t checksum = base::checksum32(*content);
  if (member.checksum && *member.checksum != checksum) return false;
  make_whole(transaction, member, *content);
  base::log(base::Severity::warning, base::LogComponent::storage, log_restored, "A damaged content was restored from a copy",
            base::Attributes().add("ns", collection_.ns()).add("content", to_string(member.key.content)));
  return true;
}

void Repair::make_whole(Transaction& transaction, const Member& member, BytesView content) {
  const RecordId record = member.key.content.record;
  const uint32_t checksum = base::checksum32(content);
  if (member.dead) {
    const auto there = tables_.chains.get(transaction, chain_key(member.key));
    const Bytes copy(there ? *there : BytesView());
    const auto before = parse_chain_row(copy, member.key);
    tables_.chains.put(transaction, chain_key(member.key),
                       chain_row(member.key, {.form = ChainRow::Form::raw,
                                              .dead = true,
                                              .kept = member.kept,
                                              .references = member.references,
                                              .length = content.size(),
                                              .checksum = checksum,
                                              .base = {},
                                              .pre_states = member.kept && before ? before.value().pre_states : BytesView(),
                                              .payload = content}));
  } else {
    tables_.chains.remove(transaction, chain_key(member.key));
    const auto place = find_sound_row(tables_, transaction, record);
    const RowPast past = place ? place->row.past : RowPast{{}, has_kept_contents(transaction, record)};
    const Bytes row = raw_row(member.key.content.generation, checksum, content, past);
    table_of(transaction, record).put(transaction, record_key(record), row);
  }
}

bool Repair::has_kept_contents(Transaction& transaction, RecordId record) {
  bool kept = false;
  collection_.records().each_kept(transaction, record, 0, [&](Stamp) {
    kept = true;
    return false;
  });
  return kept;
}

const Table& Repair::table_of(Transaction& transaction, RecordId record) const {
  return tables_.packed.get(transaction, record_key(record)) ? tables_.packed : tables_.records;
}

void Repair::make_lost_and_found() {
  if (!lost_) lost_ = store_.catalog().open_or_create(lost_and_found(collection_));
}

void Repair::keep(Transaction& transaction, RecordId record, const char* why,
                  const std::vector<std::pair<std::string, Bytes>>& parts) {
  bson::Builder kept;
  kept.append("_id", static_cast<int64_t>(transaction.next_stamp()));
  kept.append("ns", collection_.ns()).append("recordId", static_cast<int64_t>(record)).append("reason", why);
  for (const auto& [name, bytes] : parts) kept.append(name, bson::Binary{0, bytes});
  lost_->insert(transaction, kept.done());
}

void Repair::remove(Transaction& transaction, RecordId record) {
  take_away(record);
  make_lost_and_found();
  std::vector<std::pair<std::string, Bytes>> parts;
  const Bytes key = record_key(record);
  size_t room = lost_bytes_max;
  const auto part = [&](const char* name, BytesView bytes) {
    parts.emplace_back(name, Bytes(bytes.substr(0, room)));
    room -= parts.back().second.size();
  };
  for (const Table* table : {&tables_.records, &tables_.packed}) {
    const auto bytes = table->get(transaction, key);
    if (!bytes) continue;
    part("row", *bytes);
    const auto row = parse_record_row(parts.back().second, record);
    if (row && row.value().form == RecordRow::Form::stub) {
      const ChainKey delta{row.value().chain, {record, row.value().generation}};
      if (const auto delta_bytes = tables_.chains.get(transaction, chain_key(delta))) {
        part("delta", *delta_bytes);
        tables_.chains.remove(transaction, chain_key(delta));
      }
    }
    table->remove(transaction, key);
  }
  tables_.heads.remove(transaction, key);
  keep(transaction, record, "it can't be read", parts);
  transaction.after_commit([this, record] {
    ++report.removed_records;
    base::log(base::Severity::error, base::LogComponent::storage, log_removed, "A corrupt record was removed",
              base::Attributes().add("ns", collection_.ns()).add("recordId", static_cast<int64_t>(record)));
  });
}

}  // namespace storage
