#include "server/write/document_writer.h"

#include <atomic>

#include "base/clock.h"
#include "base/log.h"
#include "bson/json.h"
#include "replication/committer.h"
#include "server/core/command.h"
#include "server/core/key_claims.h"
#include "server/core/operation.h"
#include "server/core/redaction.h"
#include "server/core/services.h"
#include "server/core/transaction_registry.h"
#include "server/core/valid_text.h"
#include "server/write/detailed_error.h"
#include "server/write/retry.h"
#include "server/write/target.h"

namespace server::write {

namespace {

constexpr int document_broke_rules = 20294;

constexpr size_t logged_bytes_max = 10'000;

std::string log_text(bson::DocumentView details) {
  std::string text = bson::to_shell(details);
  if (text.size() <= logged_bytes_max) return text;
  text.resize(logged_bytes_max);
  return valid_text(text + "…");
}

bool is_bypassed(const OperationContext& op) {
  return op.request().body["bypassDocumentValidation"].truthy();
}

}  // namespace

DocumentWriter::DocumentWriter(OperationContext& op, const Target& target, Validate validate)
    : op_(op), target_(target), retry_(replication::has_history(target->ns()) ? op.retry.get() : nullptr) {
  if (validate == Validate::never) return;
  validation_ = query::read_validation(target->options().document);
  if (!validation_) return;
  if (is_bypassed(op))
    validation_.reset();
  else
    rules_ = query::compile_validator(validation_->rules, query::parse_context(op, {}, target->options().collator));
}

bool DocumentWriter::fulfils(bson::DocumentView document) const {
  return query::fulfils(op_, *rules_, document);
}

void DocumentWriter::check_valid(bson::DocumentView document, const bson::DocumentView* before) {
  if (fulfils(document)) return;
  if (before && validation_->moderate && !fulfils(*before)) return;
  const auto context = query::parse_context(op_, {}, target_->options().collator);
  bson::Builder details;
  details.append("errInfo", query::error_info(op_, validation_->rules, document, context));
  write::DetailedError error(base::ErrorCode::document_validation_failure, "Document failed validation", details.done());
  if (!validation_->only_warns) throw error;
  base::log(base::Severity::warning, base::LogComponent::storage, document_broke_rules, "Document would fail validation",
            base::Attributes()
                .add("namespace", target_->ns())
                .add("error", op_.services().redacts_log ? redacted : log_text(error.details())));
}

// A client's transaction that commits has the record and its documents' keys to itself: the writer waits as for any conflict.
void DocumentWriter::check_claims(std::optional<storage::RecordId> record, const bson::DocumentView* document) const {
  if (const TransactionRegistry* const transactions = op_.services().transactions)
    server::check_claims(transactions->claims, *target_, record, document);
}

storage::RecordId DocumentWriter::insert(storage::Transaction& transaction, bson::DocumentView document) {
  if (validation_) check_valid(document, nullptr);
  if (target_.use()) return op_.transaction->insert(*target_.use(), document);
  std::optional<replication::SessionWrite> session;
  bytes_ += document.size();
  if (retry_) session = retry_->before(false);
  const storage::Stored stored = op_.services().committer->insert(transaction, *target_, document, session ? &*session : nullptr);
  check_claims(std::nullopt, &document);
  op_.last_write = std::max(op_.last_write, stored.generation);
  if (session) retry_->after(transaction, stored.generation, nullptr);
  return stored.id;
}

void DocumentWriter::update(storage::Transaction& transaction, storage::RecordId record, bson::DocumentView before,
                            bson::DocumentView after, const replication::UpdateForm& form) {
  if (validation_) check_valid(after, &before);
  if (target_.use()) return op_.transaction->update(*target_.use(), record, before, after, form);
  bytes_ += after.size();
  std::optional<replication::SessionWrite> session;
  std::optional<bson::Document> image;  // `before` may be a view that the update invalidates
  if (retry_) {
    session = retry_->before(true);
    if (session->image == replication::SessionWrite::Image::before) image.emplace(before);
    if (session->image == replication::SessionWrite::Image::after) image.emplace(after);
  }
  const storage::Stamp stamp =
      op_.services().committer->update(transaction, *target_, record, before, after, form, session ? &*session : nullptr);
  check_claims(record, &after);
  op_.last_write = std::max(op_.last_write, stamp);
  if (session) keep(transaction, stamp, image);
}

void DocumentWriter::keep(storage::Transaction& transaction, storage::Stamp stamp, const std::optional<bson::Document>& image) {
  const bson::DocumentView view = image ? image->view() : bson::DocumentView();
  retry_->after(transaction, stamp, image ? &view : nullptr);
}

void DocumentWriter::remove(storage::Transaction& transaction, storage::RecordId record, bson::DocumentView before) {
  if (target_.use()) return op_.transaction->remove(*target_.use(), record, before);
  bytes_ += before.size();
  std::optional<replication::SessionWrite> session;
  std::optional<bson::Document> image;
  if (retry_) {
    session = retry_->before(true);
    if (session->image == replication::SessionWrite::Image::before) image.emplace(before);
  }
  const storage::Stamp stamp =
      op_.services().committer->remove(transaction, *target_, record, before, session ? &*session : nullptr);
  check_claims(record, nullptr);
  op_.last_write = std::max(op_.last_write, stamp);
  if (session) keep(transaction, stamp, image);
}

bson::Timestamp unique_timestamp(OperationContext& op) {
  static std::atomic<uint64_t> last{0};
  const uint64_t now = static_cast<uint64_t>(op.services().clock.wall_ms() / 1000) << 32;
  uint64_t before = last.load();
  uint64_t next;
  do next = std::max(before + 1, now + 1);
  while (!last.compare_exchange_weak(before, next));
  return {static_cast<uint32_t>(next >> 32), static_cast<uint32_t>(next)};
}

}  // namespace server::write
