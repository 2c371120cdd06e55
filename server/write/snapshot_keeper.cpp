#include "server/write/snapshot_keeper.h"

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/builder.h"
#include "replication/coordinator.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "storage/store.h"
#include "versions/database/databases.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;
using versions::past::DeclaredSnapshot;

namespace {

constexpr std::chrono::milliseconds look_interval{100};
constexpr int64_t hour_ms = 3'600'000, longest_ms = 366ll * 24 * hour_ms;

}  // namespace

int64_t interval_ms(std::string_view text) {
  if (text.empty()) return 0;
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const int64_t unit_ms = unit == "s" ? 1000 : unit == "m" ? 60'000 : unit == "h" ? hour_ms : unit == "d" ? 24 * hour_ms : 0;
  if (error != std::errc() || unit_ms == 0 || count < 1 || count > longest_ms / unit_ms) {
    throw OperationError(ErrorCode::bad_value,
                         "'" + std::string(text) + "' is no interval: a number and one of s, m, h, d, up to a year");
  }
  return count * unit_ms;
}

SnapshotKeeper::SnapshotKeeper(Services& services)
    : services_(services),
      passes_(
          services.clock, "SnapshotKeeper", [] { return look_interval; }, [this] { run_pass(); }) {
  services.parameters.add("snapshotEvery",
                          {.get =
                               [this] {
                                 const int64_t every = every_ms_;
                                 bson::Builder out;
                                 out.append("", every == 0                    ? std::string()
                                                : every % (24 * hour_ms) == 0 ? std::to_string(every / (24 * hour_ms)) + "d"
                                                : every % hour_ms == 0        ? std::to_string(every / hour_ms) + "h"
                                                : every % 60'000 == 0         ? std::to_string(every / 60'000) + "m"
                                                                              : std::to_string(every / 1000) + "s");
                                 return bson::Value(static_cast<bson::ValueView>(out.done().view().find("")));
                               },
                           .set =
                               [this](const bson::ValueView& value) {
                                 if (!value.is_string())
                                   throw OperationError(ErrorCode::type_mismatch, "snapshotEvery must be a string");
                                 every_ms_ = interval_ms(value.as_string());
                               }});
  services.parameters.add_integer("snapshotEveryTransactions", every_transactions_, {.min = 0});
  services.parameters.add_integer("snapshotKeepNewest", keep_newest_, {.min = 0});
  services.parameters.add_integer("snapshotKeepYoungerThanSecs", keep_seconds_, {.min = 0, .max = INT64_MAX / 1000});
}

bool SnapshotKeeper::due() {
  const int64_t every_ms = every_ms_, every_transactions = every_transactions_;
  if (every_transactions > 0) {
    const uint64_t now = services_.store->engine().stamped_transactions();
    // The transaction that declares a snapshot counts too.
    if (now - transactions_then_ > static_cast<uint64_t>(every_transactions)) return true;
  }
  if (every_ms == 0) return false;
  const auto all = services_.past->snapshots().all();
  return all.empty() || services_.clock.wall_ms() - all.back().time_ms >= every_ms;
}

void SnapshotKeeper::retain() {
  const int64_t newest = keep_newest_, seconds = keep_seconds_;
  if (newest == 0 && seconds == 0) return;
  const int64_t now = services_.clock.wall_ms();
  auto all = services_.past->snapshots().all();
  std::erase_if(all, [](const DeclaredSnapshot& one) { return !one.name.empty(); });
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_new = newest > 0 && all.size() - i <= static_cast<size_t>(newest);
    const bool is_young = seconds > 0 && now - all[i].time_ms < seconds * 1000;
    if (!is_new && !is_young) services_.databases->drop_snapshot(all[i].number);
  }
}

// The newest, the young and the named snapshots stay.
void SnapshotKeeper::declare_and_retain(OperationContext& op) {
  op.begin_writing();
  if (due()) {
    services_.databases->declare_snapshot({}, [&] { op.check_interrupt(); });
    transactions_then_ = services_.store->engine().stamped_transactions();
  }
  retain();
}

void SnapshotKeeper::run_pass() {
  const auto as_operation = [&](std::string_view name, const std::function<void(OperationContext&)>& work) {
    bson::Builder body;
    body.append(name, 1);
    Passes::Operation operation(passes_, services_, "admin", body.done());
    work(operation.context());
  };
  try {
    const bool scheduled = every_ms_ > 0 || every_transactions_ > 0 || keep_newest_ > 0 || keep_seconds_ > 0;
    if (scheduled && (!services_.replica_set || services_.replica_set->writable())) {
      as_operation("createSnapshot", [&](OperationContext& op) { declare_and_retain(op); });
    }
    if (!services_.past->untidy()) return;
    as_operation("sweepSnapshots", [&](OperationContext& op) {
      services_.databases->sweep_snapshots([&] { op.check_interrupt(); });
      services_.past->seal();
    });
  } catch (const std::exception& error) {
    failures_.add(error);
  }
  if (const auto due = failures_.take_due(services_.clock.monotonic_us())) {
    base::log(base::Severity::warning, base::LogComponent::storage, 7734002, "Error looking after snapshots",
              base::Attributes().add("error", due->first).add("times", due->times));
  }
}

}  // namespace server::write
