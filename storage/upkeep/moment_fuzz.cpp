// The input is any text. It is refused, or is a moment whose usual spelling says the same.
#include "base/fuzz_target.h"
#include "storage/upkeep/moment.h"

namespace {

bool run(base::BytesView input) {
  storage::Stamp moment = 0;
  if (base::refuses([&] { moment = storage::parse_moment(input); })) return false;
  base::check(moment >> 32 != 0);
  base::check(storage::parse_moment(storage::moment_text(moment)) == moment);
  return true;
}

std::vector<base::Bytes> seeds() {
  return {"1700000000:5", "4294967295:4294967295", "2024-02-29T12:00:00Z", "2024-02-29T13:00:00+01:00", "2024-02-29"};
}

const base::FuzzTarget target("moment", run, seeds);

}  // namespace
