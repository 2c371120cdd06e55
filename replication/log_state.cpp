#include "replication/log_state.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/validate.h"

namespace replication {
namespace {

using storage::Stamp;

constexpr size_t uuid_bytes = 16;

base::Failure damaged(const std::string& what) {
  return {base::ErrorCode::data_corruption_detected, "the oplog's state is damaged: " + what};
}

bool is_long(const bson::ValueView& value) {
  return value.type() == bson::Type::int64;
}

}  // namespace

bson::Document encode_state(const LogState& state) {
  bson::Builder out;
  out.append("uuid", bson::Binary{4, state.uuid}).append("countedTo", static_cast<int64_t>(state.counted_to));
  {
    bson::ArrayBuilder list = out.array("steps");
    for (const LogStep& step : state.steps) {
      bson::Builder one = list.object();
      one.append("end", static_cast<int64_t>(step.end)).append("entries", step.entries);
      one.append("logical", step.logical_bytes).append("stored", step.stored_bytes);
    }
  }
  return out.done();
}

base::Result<LogState> decode_state(base::BytesView row) {
  const auto valid = bson::validate(row);
  if (!valid.ok()) return damaged(valid.failure().message);
  const bson::DocumentView document = valid.value();
  const auto uuid = document.find("uuid"), counted_to = document.find("countedTo"), steps = document.find("steps");
  if (uuid.type() != bson::Type::binary || uuid.as_binary().bytes.size() != uuid_bytes) return damaged("it has no uuid");
  if (!is_long(counted_to) || !steps.is_array()) return damaged("a field is missing");
  LogState state{base::Bytes(uuid.as_binary().bytes), static_cast<Stamp>(counted_to.to_int64()), {}};
  for (const bson::Element& one : steps.as_document()) {
    if (!one.is_object()) return damaged("a step is no document");
    const bson::DocumentView step = one.as_document();
    for (const char* field : {"end", "entries", "logical", "stored"})
      if (!is_long(step.find(field))) return damaged("a step lacks a field");
    state.steps.push_back({static_cast<Stamp>(step["end"].to_int64()), step["entries"].to_int64(), step["logical"].to_int64(),
                           step["stored"].to_int64()});
  }
  return state;
}

}  // namespace replication
