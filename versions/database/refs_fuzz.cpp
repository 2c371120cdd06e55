// Any text is taken as the name of a branch, a tag, a commit or a snapshot. It is refused as an operation is, or is a name whose
// usual spelling says the same.
#include "base/fuzz_target.h"
#include "versions/database/refs.h"

namespace {

using namespace versions;

std::string spelled(const Ref& ref) {
  std::string out = escaped(ref.name);
  for (const auto& step : ref.steps) out += step.kind + std::to_string(step.count);
  return out;
}

bool run(base::BytesView input) {
  const auto name = split_name(input);
  base::check(name.database.size() <= input.size() && name.database.find('@') == name.database.npos);
  base::refuses([&] { check_new_name(input); });
  base::refuses([&] { check_branch_name(input); });
  Ref ref;
  if (base::refuses([&] { ref = parse_ref(name.ref.value_or(input)); })) return false;
  const Ref again = parse_ref(spelled(ref));
  base::check(again.name == ref.name && spelled(again) == spelled(ref));
  return true;
}

std::vector<base::Bytes> seeds() {
  return {"shop@dev", "shop@v1%2E0~2^2~", "shop@3f9a2c1b^", "dev%2Ftwo"};
}

const base::FuzzTarget target("refs", run, seeds);

}  // namespace
