// libFuzzer's side of the targets of one folder:
//
//   storage_fuzz record_format [libFuzzer's options] CORPUS…
//
// The name travels in the environment from there on, for libFuzzer starts the program again by itself to minimise an input.
#include <cstdio>
#include <cstdlib>

#include "base/fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr char variable[] = "PALIMPSEST_FUZZ_TARGET";
const base::FuzzTarget* chosen = nullptr;

[[noreturn]] void list_and_exit() {
  std::fprintf(stderr, "the first argument names one of these targets:\n");
  for (const auto* target : base::FuzzTarget::all()) std::fprintf(stderr, "  %s\n", target->name().c_str());
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc > 1) chosen = base::FuzzTarget::find((*argv)[1]);
  if (chosen) {
    setenv(variable, (*argv)[1], 1);
    for (int i = 1; i + 1 < *argc; ++i) (*argv)[i] = (*argv)[i + 1];
    (*argv)[--*argc] = nullptr;
  } else if (const char* name = std::getenv(variable)) {
    chosen = base::FuzzTarget::find(name);
  }
  if (!chosen) list_and_exit();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
