// Any bytes are taken as the row of the oplog that says what the log is. They are refused, as damaged data is, or written as a
// row that reads the same.
#include "base/fuzz_target.h"
#include "replication/log_state.h"

namespace {

using namespace replication;

bool run(base::BytesView input) {
  const auto state = decode_state(input);
  if (!state.ok()) return false;
  const auto again = decode_state(encode_state(state.value()).bytes());
  base::check(again.ok() && again.value().uuid == state.value().uuid && again.value().counted_to == state.value().counted_to &&
                  again.value().steps == state.value().steps,
              "a state is read as it was written");
  return true;
}

std::vector<base::Bytes> seeds() {
  const base::Bytes uuid(16, 'u');
  const storage::Stamp end = (storage::Stamp{1'700'000'000} << 32) | 7;
  return {base::Bytes(encode_state({uuid, 1, {}}).bytes()),
          base::Bytes(encode_state({uuid, end, {{end, 5, 700, 300}, {}}}).bytes())};
}

const base::FuzzTarget target("log_state", run, seeds);

}  // namespace
