#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace base {

namespace {

// Names of codes that only some folder above knows by name.
struct Named {
  int32_t code;
  const char* name;
};
constexpr Named more_names[] = {
    {93, "InvalidReplicaSetConfig"},      {94, "NotYetInitialized"},           {95, "NotSecondary"},
    {100, "UnsatisfiableWriteConcern"},   {103, "NewReplicaSetConfigurationIncompatible"},
    {104, "NodeNotElectable"},            {123, "NotAReplicaSet"},             {189, "PrimarySteppedDown"},
    {205, "ClusterTimeFailsRateLimiter"}, {217, "IncompleteTransactionHistory"}, {239, "SnapshotTooOld"},
    {262, "ExceededTimeLimit"},           {9001, "SocketException"},           {11602, "InterruptedDueToReplStateChange"},
    {13435, "NotPrimaryNoSecondaryOk"},   {13436, "NotPrimaryOrSecondary"},   {134, "ReadConcernMajorityNotAvailableYet"}};

}  // namespace

std::string code_name(ErrorCode code) {
  switch (code) {
#define PALIMPSEST_ERROR_NAME(name, number, text) \
  case ErrorCode::name:                           \
    return text;
    PALIMPSEST_ERROR_CODES(PALIMPSEST_ERROR_NAME)
#undef PALIMPSEST_ERROR_NAME
  }
  for (const Named& named : more_names) {
    if (named.code == static_cast<int32_t>(code)) return named.name;
  }
  return "Location" + std::to_string(static_cast<int32_t>(code));
}

void check_failed(std::string_view what, std::string_view where) {
  std::fprintf(stderr, "check failed: %.*s in %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(where.size()), where.data());
  std::abort();
}

}  // namespace base
