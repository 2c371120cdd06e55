// getMore returns the next batch of a cursor.
#include <algorithm>

#include "base/clock_time.h"
#include "base/error.h"
#include "replication/optime.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/fail_points.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/dispatch/authorize.h"
#include "server/dispatch/fail_command.h"
#include "server/dispatch/set_rules.h"
#include "server/query/cursor_registry.h"
#include "storage/engine/transaction.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using std::chrono::milliseconds;

constexpr milliseconds await_default{1000};
constexpr milliseconds await_step_max{20};

// Returns the namespace that the request names; the cursor must have it.
std::string requested_namespace(const Request& request) {
  const auto collection = Arguments("getMore", request.body).required_string("collection");
  if (collection.empty()) {
    throw OperationError(ErrorCode::invalid_namespace, "Collection names cannot be empty");
  }
  return request.db + "." + std::string(collection);
}

int64_t requested_id(const Request& request) {
  const bson::Element id = request.body.first();
  if (id.type() != bson::Type::int64) {
    throw OperationError(ErrorCode::type_mismatch, "BSON field 'getMore.getMore' is the wrong type '" +
                                                       std::string(bson::type_name(id.type())) + "', expected type 'long'");
  }
  return id.as_int64();
}

// A cursor that is taken out of the registry: it returns there when its batch is done, and is destroyed if that fails.
class CheckedOut {
 public:
  CheckedOut(query::CursorRegistry& registry, std::unique_ptr<query::Cursor> cursor)
      : registry_(registry), cursor_(std::move(cursor)), id_(cursor_->id) {}
  ~CheckedOut() {
    if (!cursor_) return;
    cursor_.reset();
    registry_.finish(id_);
  }
  query::Cursor& operator*() { return *cursor_; }
  query::Cursor* operator->() { return cursor_.get(); }
  bool check_in(bool parked = false) { return registry_.check_in(std::move(cursor_), parked); }

 private:
  query::CursorRegistry& registry_;
  std::unique_ptr<query::Cursor> cursor_;
  const int64_t id_;
};

class GetMore : public Command {
 public:
  std::string_view name() const override { return "getMore"; }
  std::string_view help() const override { return "retrieve more results from an existing cursor"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"collection", "batchSize", "term", "lastKnownCommittedOpTime"};
    return names;
  }
  OpKind kind() const override { return OpKind::get_more; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::later; }
  // Drivers name the snapshot with every command of a snapshot session; the cursor has its own.
  bool takes_snapshot() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    query::CursorRegistry& registry = *op.services().cursors;
    const int64_t id = requested_id(request);
    const std::string ns = requested_namespace(request);
    const auto batch_size = Arguments("getMore", request.body).unsigned_integer("batchSize");
    CheckedOut cursor(registry, registry.check_out(id, ns, op));
    if (!may_read_on(op, *cursor, request.db)) {
      cursor.check_in();
      throw OperationError(ErrorCode::unauthorized, "not authorized for getMore with cursor id " + std::to_string(id));
    }
    op.change_stream = cursor->resume_token.has_value();
    const bool awaits = cursor->tailable && cursor->await_data;
    const auto patience = request.body.find("maxTimeMS");
    if (patience.is_number() && !awaits) {
      cursor.check_in();
      throw OperationError(ErrorCode::bad_value, "cannot set maxTimeMS on getMore command for a non-awaitData cursor");
    }
    fail_if_asked(op);
    // A getMore that waits for documents has the time that its client gave for waiting, and needs no other limit.
    if (!awaits && cursor->time_left) op.set_deadline(base::now(op.services().clock) + *cursor->time_left);
    op.set_plan_summary(cursor->plan_summary);
    if (op.explain_wanted) op.originating = *cursor->command;

    auto out = reply.object("cursor");
    bool more = false;
    {
      auto batch = out.array("nextBatch");
      op.moment = cursor->moment;
      if (cursor->majority_committed) op.read_concern.level = "majority";
      begin_read(op);
      cursor->source->begin(op);
      // Other than in find, 0 means no limit here.
      const int64_t documents_max = batch_size.value_or(0) > 0 ? *batch_size : -1;
      op.error_context = "Executor error during getMore";
      more = query::fill_batch(op, *cursor, documents_max, batch);
      if (awaits && batch.count() == 0 && !cursor->source->closed()) {
        const milliseconds wait = patience.is_number() ? milliseconds(patience.to_int64()) : await_default;
        auto when_more = cursor->source->when_more();
        if (when_more)
          park(op, wait, std::move(when_more));
        else
          more = await(op, *cursor, documents_max, wait, batch) || more;
      }
      op.error_context = {};
      query::count_batch(op, *cursor, batch.count());
      op.counts.cursor_id = id;
    }
    query::append_resume_token(*cursor, out);
    if (op.moment) out.append("atClusterTime", replication::timestamp_of(op.moment->stamp));
    int64_t next_id = 0;
    if (more || (cursor->tailable && !cursor->source->closed())) {
      cursor->source->end();
      cursor->progress = op.progress();
      if (cursor->time_left && op.deadline()) cursor->time_left = *op.remaining();
      if (cursor.check_in(op.parked.has_value())) next_id = id;
    }
    op.counts.exhausted = next_id == 0;
    out.append("id", next_id).append("ns", ns);
  }

 private:
  // The rights that its user had when the cursor was made may be gone. They are the same as long as the authority is.
  static bool may_read_on(const OperationContext& op, query::Cursor& cursor, std::string_view db) {
    const access::AuthorityPtr authority = op.client().authority();
    if (cursor.owner == authority) return true;
    if (!may_still_run(op, db, cursor.command->view())) return false;
    cursor.owner = authority;
    return true;
  }

  // The fail point failGetMoreAfterCursorCheckout {errorCode, appName, …} raises an error that destroys the cursor.
  static void fail_if_asked(OperationContext& op) {
    FailPoints& points = op.services().fail_points;
    if (!points.any()) return;
    const auto data = points.strike("failGetMoreAfterCursorCheckout", [&](bson::DocumentView each) {
      return concerns(each, op.client(), op.request(), *op.command());
    });
    if (!data) return;
    const auto code = data->find("errorCode");
    throw OperationError(
        code.is_number() ? static_cast<int32_t>(code.to_int64()) : static_cast<int32_t>(ErrorCode::internal_error),
        "Hit the 'failGetMoreAfterCursorCheckout' failpoint");
  }

  // No thread waits meanwhile: a server may have thousands of such cursors.
  static void park(OperationContext& op, milliseconds patience, std::function<void(std::function<void()>)> when_more) {
    const auto now = base::now(op.services().clock);
    const auto until = op.parked_until ? *op.parked_until : now + patience;
    if (now < until) op.parked = OperationContext::Parked{until, std::move(when_more)};
  }

  // Looks again, ever less often, until there is a document or the time is up.
  static bool await(OperationContext& op, query::Cursor& cursor, int64_t documents_max, milliseconds patience,
                    bson::ArrayBuilder& batch) {
    const base::Clock& clock = op.services().clock;
    const auto until = base::now(clock) + patience;
    milliseconds step{1};
    while (batch.count() == 0) {
      const auto left = std::chrono::ceil<milliseconds>(until - base::now(clock));
      if (left <= milliseconds(0)) return false;
      cursor.source->end();
      op.sleep(std::min(step, left));
      step = std::min(step * 2, await_step_max);
      cursor.source->begin(op);
      query::fill_batch(op, cursor, documents_max, batch);
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<Command> make_get_more_command() {
  return std::make_unique<GetMore>();
}

}  // namespace server
