// profile sets which operations of a database are recorded in its system.profile.
#include "server/dispatch/profiler.h"

#include "base/log.h"
#include "bson/json.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/redaction.h"
#include "server/core/services.h"
#include "server/query/matcher.h"
#include "server/write/target.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

constexpr char filter_note[] =
    "When a filter expression is set, slowms and sampleRate are not used for profiling and slow-query log lines.";

// The settings that the request changes; missing ones stay.
struct Change {
  std::optional<int> level;
  std::optional<int64_t> slow_ms;
  std::optional<double> sample_rate;
  bool filter_given = false;
  std::shared_ptr<const bson::Document> filter;  // nullptr: the filter is removed
};

void parse_filter(const OperationContext& op, const bson::Element& filter, Change& change) {
  if (filter.is_nullish()) return;
  change.filter_given = true;
  if (filter.is_object()) {
    query::Matcher::parse(filter.as_document(), query::parse_context(op));
    change.filter = std::make_shared<const bson::Document>(filter.as_document());
  } else if (!filter.is_string() || filter.as_string() != "unset") {
    throw OperationError(ErrorCode::bad_value, "Expected an object, or the string 'unset'.");
  }
}

Change parse(const OperationContext& op, const Arguments& arguments) {
  Change change;
  const int64_t level = arguments.required_integer("profile");
  if (level >= 0 && level <= 2) change.level = static_cast<int>(level);  // any other number only asks
  change.slow_ms = arguments.integer("slowms");
  change.sample_rate = arguments.number("sampleRate");
  if (change.sample_rate && !(*change.sample_rate >= 0 && *change.sample_rate <= 1)) {
    throw OperationError(ErrorCode::bad_value, "'sampleRate' must be between 0.0 and 1.0 inclusive");
  }
  parse_filter(op, arguments.any("filter"), change);
  return change;
}

class Profile : public Command {
 public:
  std::string_view name() const override { return "profile"; }
  std::string_view help() const override {
    return "controls the behavior of the performance profiler, the fraction of eligible operations which are sampled for "
           "logging/profiling, and the threshold "
           "duration at which ops become eligible. See http://docs.mongodb.org/manual/reference/command/profile/";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"slowms", "sampleRate", "filter"};
    return names;
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Change change = parse(op, Arguments(request));
    write::store_of(op);
    Profiler& profiler = op.services().profiler;
    const Profiler::Settings before = profiler.settings(request.db);
    if (change.level && *change.level > 0) {
      op.begin_writing(false);
      Profiler::make_collection(op.services(), request.db);
    }
    reply.append("was", before.level)
        .append("slowms", static_cast<int32_t>(profiler.slow_ms.load()))
        .append("sampleRate", profiler.sample_rate.load());
    if (before.filter) reply.append("filter", *before.filter);
    if (before.filter || change.filter) reply.append("note", filter_note);
    apply(op, before, change);
  }

 private:
  static void apply(OperationContext& op, const Profiler::Settings& before, const Change& change) {
    Profiler& profiler = op.services().profiler;
    const std::string& db = op.request().db;
    if (change.slow_ms) profiler.slow_ms = std::clamp<int64_t>(*change.slow_ms, INT32_MIN, INT32_MAX);
    if (change.sample_rate) profiler.sample_rate = *change.sample_rate;
    if (!change.level && !change.filter_given) return;
    Profiler::Settings after = before;
    if (change.level) after.level = *change.level;
    if (change.filter_given) after.filter = change.filter;
    profiler.set(db, after);
    base::log(base::Severity::info, base::LogComponent::command, 48742, "Profiler settings changed",
              base::Attributes()
                  .add("db", db)
                  .add("level", int64_t{after.level})
                  .add("slowms", profiler.slow_ms.load())
                  .json("filter", !after.filter               ? "{}"
                                  : op.services().redacts_log ? redacted_json(*after.filter)
                                                              : bson::to_json(*after.filter)));
  }
};

}  // namespace

std::unique_ptr<Command> make_profile_command() {
  return std::make_unique<Profile>();
}

}  // namespace server
