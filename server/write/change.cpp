#include "server/write/change.h"

#include <span>
#include <unordered_set>

#include "server/core/operation.h"
#include "server/query/match/text.h"
#include "server/query/matcher.h"
#include "server/query/plan_notes.h"
#include "server/query/reader.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/target.h"
#include "server/write/update/update_path.h"
#include "storage/collections/catalog.h"
#include "storage/engine/room.h"
#include "storage/store.h"

namespace server::write {

namespace {

using storage::RecordId;
using storage::Transaction;

constexpr size_t batch_max = 128;
constexpr size_t batch_bytes_max = 8 << 20;  // a transaction travels to other members as one record
// A checkpoint writes once more what an open transaction has changed or removed, so on a full disk that has to be little.
constexpr size_t batch_bytes_max_on_full_disk = 256 << 10;

// Returns the value of a filter {_id: 5}: the write transaction finds the document by its index, without a plan. A hint or a sort
// needs the planner.
std::optional<bson::ValueView> exact_id(const Selection& selection) {
  if (selection.hint.exists() || !selection.sort.empty() || selection.filter.count() != 1) return std::nullopt;
  const bson::Element first = selection.filter.first();
  if (first.name != "_id" || first.is_array() || first.is_nullish() || first.type() == bson::Type::regex) return std::nullopt;
  if (first.is_object() && first.as_document().first().name.starts_with("$")) return std::nullopt;
  return first;
}

// A look-up by _id examines one entry of the index and one document.
void count_examined(OperationContext& op, int64_t found) {
  op.counts.keys_examined = std::max<int64_t>(0, op.counts.keys_examined) + found;
  op.counts.docs_examined = std::max<int64_t>(0, op.counts.docs_examined) + found;
}

// Finds the records that match, in read transactions of their own.
class Finder {
 public:
  Finder(OperationContext& op, std::string_view ns, const Selection& selection, const bson::CollatorPtr& collator) : op_(op) {
    query::Query query;
    query.filter = bson::Document(selection.filter);
    query.sort = bson::Document(selection.sort);
    query.hint = bson::Value(selection.hint);
    query.let = bson::Document(selection.let);
    query.collation = collator;
    query.changes = true;
    // A sort reads everything before it returns the first document, so it is better to run the query again in the rare case that
    // the document is gone.
    if (!selection.all && !selection.sort.empty()) query.limit = 1;
    auto collection = query::open_present(op, std::string(ns));
    if (!collection || (collection->moves() && !op.transaction && !store_of(op).catalog().find(ns))) check_writable(op, ns);
    reader_.emplace(op, std::move(collection), std::string(ns), query);
    query::note_plan(op, reader_->executor());
    once_ = reader_->executor().summary().starts_with("COLLSCAN");
  }

  // Returns at most `count` more; none at the end. It holds no transaction or lock when it returns.
  std::vector<RecordId> next(size_t count) {
    if (!reading_) reader_->begin(op_);
    reading_ = false;
    std::vector<RecordId> found;
    while (found.size() < count && reader_->next()) {
      // A scan of the records meets each once; an index may show a changed record again.
      if (once_ || seen_.insert(reader_->record()).second) found.push_back(reader_->record());
    }
    reader_->end();
    return found;
  }

  void count_examined() {
    const auto stats = reader_->executor().stats();
    op_.counts.keys_examined = std::max<int64_t>(0, op_.counts.keys_examined) + stats.keys_examined;
    op_.counts.docs_examined = std::max<int64_t>(0, op_.counts.docs_examined) + stats.docs_examined;
    query::note_execution(op_, reader_->executor());
  }

 private:
  OperationContext& op_;
  std::optional<query::Reader> reader_;
  bool reading_ = true;  // a new reader has begun
  bool once_ = false;
  std::unordered_set<RecordId> seen_;
};

class Changer {
 public:
  Changer(OperationContext& op, std::string_view ns, const Selection& selection, const DocumentChange& change)
      : op_(op),
        ns_(ns),
        selection_(selection),
        change_(change),
        collator_(query::collator_for(op, std::string(ns), selection.collation)),
        matcher_(query::Matcher::parse(selection.filter, query::filter_context(op, selection.let, collator_))),
        has_text_(query::match::find_text(matcher_->root()) != nullptr) {}

  // Returns nullopt if the index on _id has another collation than the filter.
  std::optional<Changed> by_id(const bson::ValueView& id) {
    const Target target = Target::open(op_, ns_);
    if (!target) return Changed();
    if (bson::is_collatable(id.type()) && !bson::same_collation(collator_.get(), target->options().collator.get()))
      return std::nullopt;
    DocumentWriter writer(op_, target);
    op_.set_plan_summary("IDHACK");
    auto effect = in_own_or_draft(op_, [&](Transaction& transaction) -> std::optional<Effect> {
      const auto record = target->find_id(transaction, id);
      if (!record) return std::nullopt;
      return change_if_matching(transaction, target, writer, *record);
    });
    Changed changed;
    count_examined(op_, effect ? 1 : 0);
    if (effect) count(std::move(*effect), changed);
    return changed;
  }

  Changed first() {
    for (;;) {
      Finder finder(op_, ns_, selection_, collator_);
      bool found = false;
      for (auto records = finder.next(1); !records.empty(); records = finder.next(1)) {
        found = true;
        Changed changed;
        change_batch(records, changed);
        if (changed.matched > 0) return finder.count_examined(), changed;
        op_.check_interrupt();
      }
      finder.count_examined();
      // With a sort, only the first document was returned; there may be a next one.
      if (!found || selection_.sort.empty()) return {};
    }
  }

  Changed all() {
    Finder finder(op_, ns_, selection_, collator_);
    Changed changed;
    for (auto records = finder.next(batch_max); !records.empty(); records = finder.next(batch_max)) {
      change_batch(records, changed);
      op_.check_interrupt();
    }
    finder.count_examined();
    return changed;
  }

 private:
  // $text looks into the collection's index, which may be another one now.
  void bind_text(const storage::Collection& target) { query::match::bind_text(matcher_->root(), &target, std::string(ns_)); }

  std::optional<Effect> change_if_matching(Transaction& transaction, const Target& target, DocumentWriter& writer,
                                           RecordId record) {
    const auto now = target->current(transaction, record);
    if (!now) return std::nullopt;
    const auto document = target->find(transaction, *now);
    std::optional<std::string> position;
    if (!document || !matcher_->matches(*document, position)) return std::nullopt;
    return change_(transaction, writer, {*now, *document, position ? array_index(*position) : std::nullopt});
  }

  void change_batch(const std::vector<RecordId>& records, Changed& changed) {
    for (size_t done = 0; done < records.size();) done += change_some(std::span(records).subspan(done), changed);
  }

  // Returns how many records it changed: all, or as many as one transaction may have.
  size_t change_some(std::span<const RecordId> records, Changed& changed) {
    const Target target = Target::open(op_, ns_);
    if (!target) return records.size();
    if (has_text_) bind_text(*target);
    DocumentWriter writer(op_, target);
    std::vector<std::optional<Effect>> effects(records.size());
    const auto stop = run_batch(
        op_, records.size(),
        [&](Transaction& transaction, size_t i) {
          if (i == 0) writer.begin();
          effects[i] = change_if_matching(transaction, target, writer, records[i]);
        },
        [&] {
          const bool full = storage::is_full(store_of(op_).engine());
          return writer.bytes() >= (full ? batch_bytes_max_on_full_disk : batch_bytes_max);
        });
    effects.resize(stop ? stop->index : records.size());
    for (auto& effect : effects) {
      if (effect) count(std::move(*effect), changed);
    }
    if (stop && stop->error) std::rethrow_exception(stop->error);
    return effects.size();
  }

  static void count(Effect effect, Changed& changed) {
    ++changed.matched;
    if (effect.modified) ++changed.modified;
    changed.before = std::move(effect.before);
    changed.after = std::move(effect.after);
  }

  OperationContext& op_;
  std::string_view ns_;
  const Selection& selection_;
  const DocumentChange& change_;
  const bson::CollatorPtr collator_;
  std::unique_ptr<query::Matcher> matcher_;
  const bool has_text_;
};

}  // namespace

Changed change_matching(OperationContext& op, std::string_view ns, const Selection& selection, const DocumentChange& change) {
  Changer changer(op, ns, selection, change);
  if (const auto id = exact_id(selection)) {
    if (auto changed = changer.by_id(*id)) return *std::move(changed);
  }
  return selection.all ? changer.all() : changer.first();
}

}  // namespace server::write
