#include "storage/upkeep/repair.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "bson/keystring.h"
#include "bson/validate.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/stored_catalog.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/internals.h"
#include "storage/engine/readable_rows.h"
#include "storage/store.h"
#include "storage/upkeep/backup.h"
#include "storage/upkeep/damaged_documents.h"
#include "storage/upkeep/validate.h"

namespace storage {
namespace {

using base::ErrorCode;

constexpr int log_removed = 7200301;
constexpr int log_restored = 7200302;
constexpr size_t batch = 256;  // This many changes go into one transaction.
constexpr size_t lost_bytes_max = 15 << 20;

bool holds(BytesView content) {
  const auto document = bson::validate(content);
  return document.ok() && document.value().size() == content.size();
}

std::string lost_and_found(const Collection& collection) {
  const std::string hex = base::to_hex(collection.uuid_bytes());
  return "local.lost_and_found." + hex.substr(0, 8) + '-' + hex.substr(8, 4) + '-' + hex.substr(12, 4) + '-' + hex.substr(16, 4) +
         '-' + hex.substr(20);
}

class Repair {
 public:
  Repair(Store& store, StoredCollection& collection, const ContentCopies& copies, VersionEntries* versions,
         const std::function<void()>& interrupted, DocumentLog* log)
      : store_(store),
        engine_(store.engine()),
        collection_(collection),
        chains_(collection.records().state().chains),
        tables_(chains_.tables()),
        copies_(copies),
        versions_(versions),
        interrupted_(interrupted),
        log_(log) {}

  RepairReport report;

  void run() {
    mend_tables();
    restore_from_log();
    heal_contents();
    drop_damaged_pre_states();
    correct_chains();
    const auto indexes = collection_.stored_indexes();
    for (const auto& index : *indexes) correct_index(*index);
    correct_counts();
    warn(report.restored_contents, "Restored {} contents from copies and the log.");
    warn(report.removed_records, "Removed {} invalid documents.");
    warn(report.moved_documents, "Removed {} duplicate documents.");
    warn(report.inserted_keys, "Inserted {} missing index entries.");
    warn(report.removed_keys, "Removed {} extra index entries.");
    warn(report.corrected_types, "Corrected the types of {} index entries.");
    warn(report.corrected_chains, "Corrected {} chain entries.");
    if (lost_) report.warnings.push_back("What was removed is in " + lost_->ns() + ".");
    name_lost();
  }

 private:
  void ask() const {
    if (interrupted_) interrupted_();
  }
  void warn(int64_t count, std::string text) {
    if (count > 0) report.warnings.push_back(text.replace(text.find("{}"), 2, std::to_string(count)));
  }

  // --- files

  bool sound(const std::string& table) {
    Tables& tables = engine_.internals().tables;
    bool busy = false;
    std::string problem = tables.verify(table, busy, interrupted_);
    if (busy) {
      engine_.checkpoint();
      problem = tables.verify(table, busy, interrupted_);
    }
    return busy ? can_be_read(engine_, Table(table)) : problem.empty();
  }

  void mend_tables() {
    std::vector<std::string> names = store_table_names(collection_.id()), damaged;
    for (const auto& index : *collection_.stored_indexes()) names.push_back(index->table().name());
    for (const std::string& name : names) {
      ask();
      if (!sound(name)) damaged.push_back(name);
    }
    if (damaged.empty()) return;
    if (engine_.options().replicated)
      throw base::OperationError(ErrorCode::data_corruption_detected,
                                 "files of this member are damaged (" + damaged.front() +
                                     ".wt and others); empty its directory, so that it copies the data of another member");
    unreadable_ = damaged_documents(engine_, collection_, SIZE_MAX, interrupted_);
    for (const std::string& name : damaged) {
      const Tables::Kept kept = engine_.internals().tables.keep_readable(engine_, name);
      collection_.contents().unreadable_ranges.forget();
      ++report.rewritten_tables;
      report.warnings.push_back(
          "Table " + name + " was damaged; " + std::to_string(kept.rows) + " rows could be kept." +
          (kept.from_journal > 0 ? " The journal had " + std::to_string(kept.from_journal) + " of them." : "") +
          (kept.salvaged ? " They are what WiredTiger found in the file, so some may be older than the last that "
                           "were written."
                         : ""));
    }
    drop_doubles(std::find(damaged.begin(), damaged.end(), tables_.records.name()) == damaged.end());
  }

  // A salvaged table may have rows again that have moved to the other one since: of two rows the older one goes. `records_sound`:
  // the table of records is the one that wasn't salvaged.
  void drop_doubles(bool records_sound) {
    std::vector<Bytes> doubles;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      size_t seen = 0;
      TableCursor packed = tables_.packed.cursor(transaction);
      while (packed.next()) {
        if (++seen % batch == 0) ask();
        if (tables_.records.get(transaction, packed.key())) doubles.emplace_back(packed.key());
      }
    }
    const auto generation = [](BytesView row, RecordId record) {
      const auto parsed = parse_record_row(row, record);
      return parsed ? std::optional(parsed.value().generation) : std::nullopt;
    };
    for (const Bytes& key : doubles) {
      in_transaction(engine_, [&](Transaction& transaction) {
        const RecordId record = record_from_key(key);
        const Bytes in_records(tables_.records.get(transaction, key).value_or(BytesView()));
        const Bytes in_packed(tables_.packed.get(transaction, key).value_or(BytesView()));
        const auto one = generation(in_records, record), other = generation(in_packed, record);
        const bool keep_record = one == other ? records_sound : one > other;
        (keep_record ? tables_.packed : tables_.records).remove(transaction, key);
      });
      ++report.corrected_chains;
    }
  }

  void name_lost() {
    for (const DamagedDocument& document : unreadable_) {
      Transaction transaction(engine_, Transaction::Mode::read);
      if (readable(transaction, document.record)) continue;
      report.lost.push_back(name_of(document));
      const auto why = why_not_.find(document.record);
      report.warnings.push_back("Lost: " + report.lost.back() + (why == why_not_.end() ? "" : "; " + why->second));
    }
  }

  // --- documents in the log

  void restore_from_log() {
    if (!log_ || unreadable_.empty()) return;
    // There the log's entries don't say which of a document's records they are of.
    if (versions_) {
      for (const DamagedDocument& document : unreadable_)
        why_not_[document.record] = "the log isn't searched for documents of a database with branches";
      return;
    }
    const auto logged = log_->find(collection_, unreadable_, interrupted_);
    for (const DamagedDocument& document : unreadable_) {
      ask();
      const auto found = logged.find(document.record);
      if (found == logged.end()) {
        why_not_[document.record] = "its _id isn't known, so the log can't be searched for it";
      } else if (found->second.entries.empty()) {
        why_not_[document.record] = found->second.why_not;
      } else {
        restore_from_log(document, found->second);
      }
    }
  }

  void restore_from_log(const DamagedDocument& document, const LoggedDocument& logged) {
    const RecordId record = document.record;
    const Stamp generation = logged.entries.back();
    const auto content = log_->content(logged);
    if (!content || !holds(*content) || !is_of(*content, document.id)) {
      why_not_[record] = "the log's entries of it don't make a document of that _id";
      return;
    }
    bool older = false, row_lost = false;
    const bool made = in_transaction(engine_, [&](Transaction& transaction) {
      if (readable(transaction, record)) return false;
      // If the row is there, it says what the newest content is.
      const auto place = find_sound_row(tables_, transaction, record);
      row_lost = !place;
      older = place && place->row.generation != generation;
      if (older) return false;
      const RecordId chain = place && place->row.form == RecordRow::Form::stub ? place->row.chain : record;
      make_whole(transaction, {{chain, {record, generation}}, std::nullopt, false, false, 0}, *content);
      return true;
    });
    if (older) why_not_[record] = "the log has another content of it than its record had";
    if (!made) return;
    ++report.restored_contents;
    report.restored.push_back(name_of(document));
    report.warnings.push_back("Restored from the log: " + report.restored.back() + ", as of Timestamp(" +
                              std::to_string(generation >> 32) + ", " + std::to_string(static_cast<uint32_t>(generation)) + ")");
    // The row also had older contents, which the log doesn't say.
    if (row_lost && store_.declared_snapshots().newest_before(generation) != 0)
      report.warnings.push_back("Lost: older contents of " + report.restored.back() +
                                " that only snapshots show and that its row had, if there were any");
    base::log(base::Severity::warning, base::LogComponent::storage, log_restored, "A lost document was restored from the log",
              base::Attributes().add("ns", collection_.ns()).add("document", report.restored.back()));
  }

  static bool is_of(BytesView content, bson::DocumentView id) {
    bson::KeyString one, other;
    one.append(static_cast<bson::ValueView>(bson::DocumentView(content).find("_id")));
    other.append(static_cast<bson::ValueView>(id.find("_id")));
    return one.bytes() == other.bytes();
  }

  // --- contents

  std::vector<RecordId> records() {
    std::vector<RecordId> all;
    Transaction transaction(engine_, Transaction::Mode::read);
    for (const Table* table : {&tables_.records, &tables_.packed}) {
      TableCursor cursor = table->cursor(transaction);
      while (cursor.next()) all.push_back(record_from_key(cursor.key()));
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  std::optional<Bytes> readable(Transaction& transaction, RecordId record) {
    transaction.pass_by_caches();
    try {
      auto content = collection_.records().find(transaction, record);
      if (content && holds(*content)) return content;
    } catch (const base::OperationError& damage) {
      if (damage.code() != ErrorCode::data_corruption_detected) throw;
    }
    return std::nullopt;
  }

  void heal_contents() {
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
  }

  // A content may be readable although its base isn't, when it takes nothing from the damaged place; this function makes it
  // whole. It returns the rows of chains that can't be read.
  std::vector<ChainKey> rescue_from_lost(const std::vector<RecordId>& damaged) {
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

  // This function restores one content of the record's chain after the other, until the record can be read or there are no more
  // copies.
  void heal(RecordId record) {
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

  struct Member {
    ChainKey key;
    std::optional<uint32_t> checksum;  // The checksum is set if its row can still be read.
    bool dead = false;
    bool kept = false;
    uint64_t references = 0;
  };

  // This function goes from the content that is whole down to the record's own, and returns the first damaged one.
  std::optional<Member> first_damaged(Transaction& transaction, RecordId record) {
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

  bool intact(Transaction& transaction, const Member& member) {
    ContentReader reader(tables_, transaction, chains_.collection());
    const auto content = reader.read(member.key);
    return content.ok() && member.checksum && base::checksum32(content.value()) == *member.checksum;
  }

  bool restore(Transaction& transaction, const Member& member) {
    const auto content = copies_(collection_, member.key.content.record, member.key.content.generation);
    if (!content || !holds(*content)) return false;
    const uint32_t checksum = base::checksum32(*content);
    if (member.checksum && *member.checksum != checksum) return false;
    make_whole(transaction, member, *content);
    base::log(base::Severity::warning, base::LogComponent::storage, log_restored, "A damaged content was restored from a copy",
              base::Attributes().add("ns", collection_.ns()).add("content", to_string(member.key.content)));
    return true;
  }

  void make_whole(Transaction& transaction, const Member& member, BytesView content) {
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

  // Returns whether the chain table keeps older contents of a record whose row is lost.
  bool has_kept_contents(Transaction& transaction, RecordId record) {
    bool kept = false;
    collection_.records().each_kept(transaction, record, 0, [&](Stamp) {
      kept = true;
      return false;
    });
    return kept;
  }

  const Table& table_of(Transaction& transaction, RecordId record) const {
    return tables_.packed.get(transaction, record_key(record)) ? tables_.packed : tables_.records;
  }

  // --- records that can't be helped

  void make_lost_and_found() {
    if (!lost_) lost_ = store_.catalog().open_or_create(lost_and_found(collection_));
  }

  void keep(Transaction& transaction, RecordId record, const char* why, const std::vector<std::pair<std::string, Bytes>>& parts) {
    bson::Builder kept;
    kept.append("_id", static_cast<int64_t>(transaction.next_stamp()));
    kept.append("ns", collection_.ns()).append("recordId", static_cast<int64_t>(record)).append("reason", why);
    for (const auto& [name, bytes] : parts) kept.append(name, bson::Binary{0, bytes});
    lost_->insert(transaction, kept.done());
  }

  void remove(Transaction& transaction, RecordId record) {
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

  // --- what the past keeps in rows

  // Each pre-state is made out of the one before it, so those behind one that can't be read are lost with it. They are removed
  // from the row; the snapshots that showed them then show nothing of the record.
  void drop_damaged_pre_states() {
    for (const Table* table : {&tables_.records, &tables_.packed, &tables_.chains}) {
      std::vector<std::pair<Bytes, size_t>> damaged;
      {
        Transaction transaction(engine_, Transaction::Mode::read);
        size_t seen = 0;
        TableCursor cursor = table->cursor(transaction);
        while (cursor.next()) {
          if (++seen % batch == 0) ask();
          const PreStatesRead read = read_pre_states(transaction, *table, cursor.key(), cursor.value());
          if (read.readable_bytes < read.bytes) damaged.emplace_back(cursor.key(), read.readable_bytes);
        }
      }
      for (const auto& [key, readable_bytes] : damaged) {
        in_transaction(engine_, [&, &key = key, readable_bytes = readable_bytes](Transaction& transaction) {
          drop_pre_states(transaction, *table, key, readable_bytes);
        });
        ++report.corrected_chains;
      }
    }
  }

  struct PreStatesRead {
    size_t bytes = 0;           // of the list
    size_t readable_bytes = 0;  // the pre-states in the list's first bytes can be read
  };

  PreStatesRead read_pre_states(Transaction& transaction, const Table& table, BytesView key, BytesView value) {
    if (&table == &tables_.chains) {
      const auto name = parse_chain_key(key);
      const auto row = name ? parse_chain_row(value, name.value()) : base::Result<ChainRow>(name.failure());
      if (!row || row.value().pre_states.empty()) return {};
      const ContentName& content = name.value().content;
      return read_pre_states(content.record, row.value().pre_states, content.generation, row.value().payload);
    }
    const RecordId record = record_from_key(key);
    const auto row = parse_record_row(value, record);
    if (!row || row.value().past.pre_states.empty()) return {};
    const Bytes list(row.value().past.pre_states);  // a copy, since the read of a stub's content overwrites it
    try {
      const Bytes own = chains_.content_of(transaction, record, row.value());
      return read_pre_states(record, list, row.value().generation, own);
    } catch (const base::OperationError& damage) {
      if (damage.code() != ErrorCode::data_corruption_detected) throw;
      return {list.size(), 0};
    }
  }

  PreStatesRead read_pre_states(RecordId record, BytesView list, Stamp above, BytesView own) {
    PreStatesRead read{list.size(), 0};
    try {
      Bytes content;
      for (PreStateWalk walk(list, above); walk.next(); read.readable_bytes = walk.at().end)
        chains_.pre_state(record, list, above, own, walk.at().generation, content);
    } catch (const base::OperationError& damage) {
      if (damage.code() != ErrorCode::data_corruption_detected) throw;
    }
    return read;
  }

  void drop_pre_states(Transaction& transaction, const Table& table, const Bytes& key, size_t readable_bytes) {
    const auto bytes = table.get(transaction, key);
    if (!bytes) return;
    const Bytes copy(*bytes);
    make_lost_and_found();
    RecordId record = 0;
    if (&table == &tables_.chains) {
      const ChainKey name = parse_chain_key(key).or_throw();
      record = name.content.record;
      ChainRow row = parse_chain_row(copy, name).or_throw();
      row.pre_states = row.pre_states.substr(0, readable_bytes);
      table.put(transaction, key, chain_row(name, row));
    } else {
      record = record_from_key(key);
      const RecordRow row = parse_record_row(copy, record).or_throw();
      const RowPast past{row.past.pre_states.substr(0, readable_bytes), row.past.behind};
      table.put(transaction, key,
                row.form == RecordRow::Form::raw ? raw_row(row.generation, row.checksum, row.content, past)
                                                 : stub_row(record, row.generation, row.chain, past));
    }
    keep(transaction, record, "what the past keeps of it can't be read", {{"row", copy.substr(0, lost_bytes_max)}});
    transaction.after_commit([this, record, all = readable_bytes == 0] { warn_of_past(record, all); });
  }

  // `all`: nothing is left of what is kept in the row.
  void warn_of_past(RecordId record, bool all) {
    report.warnings.push_back(std::string("Lost: ") + (all ? "older" : "the oldest") + " contents of record " +
                              std::to_string(record) + " that only snapshots show; those snapshots now show nothing of it");
  }

  // --- chains

  struct Row {
    ChainKey key;
    bool delta = false;
    bool marked_dead = false;
    bool kept = false;
    ChainKey base = {};
    uint64_t references = 0;  // This is the count that the row has.
    uint64_t counted = 0;
    bool dead = false;
    bool gone = false;
  };

  void correct_chains() {
    std::vector<Row> rows;
    std::vector<Bytes> unreadable;
    std::map<ChainKey, size_t> at;
    std::set<std::pair<ContentName, RecordId>> led_to;  // Records' stubs lead to these contents.
    // These are the counted references to records' own contents that are whole.
    std::map<ContentName, uint64_t> raw;
    std::map<RecordId, HeadRow> heads;
    std::vector<RecordId> bad_heads;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      for (const Table* table : {&tables_.records, &tables_.packed}) {
        TableCursor cursor = table->cursor(transaction);
        while (cursor.next()) {
          const RecordId record = record_from_key(cursor.key());
          const auto row = parse_record_row(cursor.value(), record);
          if (!row) continue;
          if (row.value().form == RecordRow::Form::stub) {
            led_to.insert({{record, row.value().generation}, row.value().chain});
          } else {
            raw[{record, row.value().generation}] = 0;
          }
        }
      }
      TableCursor chain = tables_.chains.cursor(transaction);
      while (chain.next()) {
        const auto key = parse_chain_key(chain.key());
        const auto row = key ? parse_chain_row(chain.value(), key.value()) : base::Result<ChainRow>(key.failure());
        if (!row) {
          unreadable.emplace_back(chain.key());
          continue;
        }
        at[key.value()] = rows.size();
        rows.push_back({.key = key.value(),
                        .delta = row.value().form == ChainRow::Form::delta,
                        .marked_dead = row.value().dead,
                        .kept = row.value().kept,
                        .base = row.value().base,
                        .references = row.value().references});
      }
      TableCursor head = tables_.heads.cursor(transaction);
      while (head.next()) {
        const RecordId record = record_from_key(head.key());
        const auto row = parse_head_row(head.value(), record);
        if (row)
          heads[record] = row.value();
        else
          bad_heads.push_back(record);
      }
    }
    // Bases rank above the contents based on them. The loop from the highest down finds contents without a base, and the loop
    // from the lowest up finds contents that nobody needs.
    std::vector<Row*> order;
    for (Row& row : rows) order.push_back(&row);
    std::sort(order.begin(), order.end(), [](const Row* a, const Row* b) { return a->key.content < b->key.content; });
    for (auto row = order.rbegin(); row != order.rend(); ++row) {
      Row& one = **row;
      one.gone = one.delta && !stands(one.base, at, rows, raw);
      one.dead = one.marked_dead || !led_to.contains({one.key.content, one.key.chain});
    }
    std::map<ContentName, RecordId> chain_of_head;
    for (Row* row : order) {
      if (row->dead && !row->kept && row->counted == 0) row->gone = true;
      if (row->gone || !row->delta) continue;
      if (const auto base = at.find(row->base); base != at.end()) {
        ++rows[base->second].counted;
      } else {
        ++raw[row->base.content];
        chain_of_head[row->base.content] = row->base.chain;
      }
    }

    Changes changes(*this);
    for (const Bytes& key : unreadable)
      changes.add([this, key](Transaction& transaction) { tables_.chains.remove(transaction, key); });
    for (const RecordId record : bad_heads)
      changes.add([this, record](Transaction& transaction) { tables_.heads.remove(transaction, record_key(record)); });
    for (const Row* row : order) {
      if (row->gone) {
        changes.add([this, key = row->key](Transaction& transaction) { tables_.chains.remove(transaction, chain_key(key)); });
        continue;
      }
      if (row->references == row->counted && row->dead == row->marked_dead) continue;
      changes.add([this, row](Transaction& transaction) {
        const Bytes bytes(*tables_.chains.get(transaction, chain_key(row->key)));
        ChainRow stored = parse_chain_row(bytes, row->key).or_throw();
        stored.references = row->counted;
        stored.dead = row->dead;
        tables_.chains.put(transaction, chain_key(row->key), chain_row(row->key, stored));
      });
    }
    for (const auto& [content, counted] : raw) {
      const auto head = heads.find(content.record);
      const uint64_t stored = head == heads.end() ? 0 : head->second.references;
      if (stored == counted && (counted == 0) == (head == heads.end())) continue;
      HeadRow right{counted ? chain_of_head[content] : content.record, head == heads.end() ? 0 : head->second.ordinal, counted};
      changes.add([this, record = content.record, right](Transaction& transaction) {
        if (right.references == 0)
          tables_.heads.remove(transaction, record_key(record));
        else
          tables_.heads.put(transaction, record_key(record), head_row(record, right));
      });
    }
    for (const auto& [record, head] : heads) {
      const auto next = raw.lower_bound({record, 0});
      if (next != raw.end() && next->first.record == record) continue;
      changes.add([this, record = record](Transaction& transaction) { tables_.heads.remove(transaction, record_key(record)); });
    }
    changes.done();
  }

  static bool stands(const ChainKey& base, const std::map<ChainKey, size_t>& at, const std::vector<Row>& rows,
                     const std::map<ContentName, uint64_t>& raw) {
    if (const auto found = at.find(base); found != at.end()) return !rows[found->second].gone;
    return raw.contains(base.content);
  }

  // This class makes changes of rows, several in each transaction.
  class Changes {
   public:
    explicit Changes(Repair& repair) : repair_(repair) {}
    void add(std::function<void(Transaction&)> change) {
      waiting_.push_back(std::move(change));
      if (waiting_.size() >= batch) done();
    }
    void done() {
      repair_.ask();
      in_transaction(repair_.engine_, [&](Transaction& transaction) {
        for (const auto& change : waiting_) change(transaction);
      });
      repair_.report.corrected_chains += static_cast<int64_t>(waiting_.size());
      waiting_.clear();
    }

   private:
    Repair& repair_;
    std::vector<std::function<void(Transaction&)>> waiting_;
  };

  // --- indexes

  bool due(Transaction& transaction, const StoredIndex& index, RecordId record, BytesView key) {
    const auto content = readable(transaction, record);
    if (!content) return false;
    index.keys_of(bson::DocumentView(*content), keys_);
    return std::find(keys_.keys.begin(), keys_.keys.end(), key) != keys_.keys.end();
  }

  void correct_index(StoredIndex& index) {
    std::vector<std::pair<Bytes, RecordId>> extra;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      const auto cursor = index.cursor(transaction, Direction::forward);
      cursor->seek({});
      for (size_t seen = 1; cursor->next(); ++seen) {
        if (seen % batch == 0) ask();
        if (!due(transaction, index, cursor->record(), cursor->key())) extra.emplace_back(cursor->key(), cursor->record());
      }
    }
    for (const auto& [key, record] : extra) {
      ask();
      in_transaction(
          engine_, [&, &key = key, record = record](Transaction& transaction) { remove_entry(transaction, index, key, record); });
    }
    for (const RecordId record : records()) {
      ask();
      in_transaction(engine_, [&](Transaction& transaction) { correct_entries(transaction, index, record); });
    }
  }

  // The branches find versions by their `_id`s.
  bool of_versions(const StoredIndex& index) const { return index.is_id() && index.shared(); }
  // The index has the entries of versions itself. Those of `_id` are the branches', unless sort keys stand in place of strings.
  bool has_versions(const StoredIndex& index) const {
    return index.shared() && index.spec().unique && (!index.is_id() || index.spec().collator);
  }

  // The entries of branches under one key are separate rows.
  void remove_entry(Transaction& transaction, const StoredIndex& index, BytesView key, RecordId record) {
    if (!index.shared() || !index.spec().unique || index.find(transaction, key) == record) {
      index.remove(transaction, key, record);
    } else if (has_versions(index)) {
      index.remove_version(transaction, key, record);
    }
    if (of_versions(index)) versions_->remove(transaction, key, record, !readable(transaction, record));
    transaction.after_commit([this] { ++report.removed_keys; });
  }

  void correct_entries(Transaction& transaction, StoredIndex& index, RecordId record) {
    const auto content = readable(transaction, record);
    if (!content) return;
    const bson::DocumentView document(*content);
    index.keys_of(document, keys_);
    const IndexKeys keys = keys_;
    collection_.note_multikey(index, keys.multikey_fields, keys.multikey_paths);
    int64_t inserted = 0, corrected = 0;
    for (size_t i = 0; i < keys.keys.size(); ++i) {
      const Bytes& key = keys.keys[i];
      if (index.has(transaction, key, record)) {
        corrected += correct_types(transaction, index, key, record, keys.types_at(i));
        if (of_versions(index) && has_versions(index)) versions_->insert(transaction, key, record);
        continue;
      }
      if (has_versions(index) && !of_versions(index)) {
        index.add_version(transaction, key, record);
      } else if (!(of_versions(index) ? versions_->insert(transaction, key, record)
                                      : index.insert(transaction, key, record, keys.types_at(i)))) {
        move_away(transaction, record, *content);
        if (of_versions(index)) versions_->remove(transaction, key, record, true);
        return;
      }
      ++inserted;
    }
    transaction.after_commit([this, inserted, corrected] {
      report.inserted_keys += inserted;
      report.corrected_types += corrected;
    });
  }

  // This function corrects the types of an entry, and returns whether they were wrong.
  bool correct_types(Transaction& transaction, const StoredIndex& index, BytesView key, RecordId record, BytesView due) {
    const auto types = index.types(transaction, key, record);
    if (!types || *types == due) return false;
    index.retype(transaction, key, record, due);
    return true;
  }

  // Two documents have the same key in a unique index: the one that is in the index stays, as in MongoDB, and this function moves
  // the other one away.
  void move_away(Transaction& transaction, RecordId record, const Bytes& content) {
    make_lost_and_found();
    const bson::DocumentView document(content);
    const auto indexes = collection_.stored_indexes();
    for (const auto& index : *indexes) {
      index->keys_of(document, keys_);
      for (const Bytes& key : keys_.keys) {
        if (index->has(transaction, key, record)) index->remove(transaction, key, record);
      }
    }
    collection_.records().remove(transaction, record);
    lost_->insert(transaction, document);
    transaction.after_commit([this] { ++report.moved_documents; });
  }

  // --- counts

  void correct_counts() {
    StoreCounts there;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      there = check_chains(chains_, transaction, false, interrupted_).counts;
    }
    const StoreCounts counted = chains_.counters().get();
    there += counted;
    there -= counted.of_rows();
    chains_.counters().set(there);
    collection_.correct_counts(there.records, there.logical_bytes);
  }

  Store& store_;
  Engine& engine_;
  StoredCollection& collection_;
  ChainStore& chains_;
  const StoreTables& tables_;
  const ContentCopies& copies_;
  VersionEntries* const versions_;
  const std::function<void()>& interrupted_;
  DocumentLog* const log_;
  std::map<RecordId, std::string> why_not_;  // the log has nothing of these records' documents
  std::shared_ptr<Collection> lost_;
  std::vector<DamagedDocument> unreadable_;
  IndexKeys keys_;
};

}  // namespace

RepairReport repair_collection(Store& store, const std::shared_ptr<Collection>& collection, bool full,
                               const ContentCopies& copies, VersionEntries* versions, const std::function<void()>& interrupted,
                               DocumentLog* log) {
  const std::shared_ptr<Collection> home = collection->home();
  const auto stored = std::dynamic_pointer_cast<StoredCollection>(home ? home : collection);
  if (!stored)
    throw base::OperationError(ErrorCode::command_not_supported,
                               "'" + collection->ns() + "' is not kept as a collection that could be repaired");
  RepairReport report;
  {
    const auto schema = base::hold_exclusively(stored->schema_mutex(), interrupted);
    if (stored->dropped())
      throw base::OperationError(ErrorCode::namespace_not_found, "Collection '" + stored->ns() + "' does not exist to validate.");
    const auto still = store.dedup().hold();
    Repair repair(store, *stored, copies, versions, interrupted, log);
    repair.run();
    forget_backups(store.engine());
    report = std::move(repair.report);
  }
  report.after = validate_collection(store, collection, full, interrupted);
  return report;
}

std::vector<DamagedDocument> corrupt_records(Engine& engine, Collection& collection, size_t count_max,
                                             const std::function<void()>& interrupted) {
  const std::shared_ptr<Collection> home = collection.home();
  auto* const stored = dynamic_cast<StoredCollection*>(home ? home.get() : &collection);
  if (!stored) return {};
  return damaged_documents(engine, *stored, count_max, interrupted);
}

}  // namespace storage
