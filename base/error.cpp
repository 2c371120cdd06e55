#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace base {

namespace {

// These codes are thrown in one place each, as a number, so error.h has no names for them.
struct Name {
  int32_t code;
  const char* text;
};
constexpr Name rare_names[] = {
    {54, "NotSingleValueField"},
    {111, "NotExactValueField"},
    {159, "DurationOverflow"},
    {203, "ShardingStateNotInitialized"},
    {278, "UnsatisfiableCommitQuorum"},
    {347, "APIMismatchError"},
    {361, "CollectionUUIDMismatch"},
    {264, "TooManyFilesOpen"},
    {139, "JSInterpreterFailure"},
    {182, "InvalidViewDefinition"},
    {31, "RoleNotFound"},
    {49, "InvalidRoleModification"},
    {334, "MechanismUnavailable"},
    {359, "CannotConvertIndexToUnique"},
    {37, "FileRenameFailed"},
    {38, "FileNotOpen"},
    {98, "DBPathInUse"},
    {143, "CursorInUse"},
    {162, "CollectionIsEmpty"},
    {171, "CannotIndexParallelArrays"},
    {186, "ClientMetadataCannotBeMutated"},
    {224, "QueryFeatureNotAllowed"},
    {237, "CursorKilled"},
    {267, "PreparedTransactionInProgress"},
    {279, "ClientDisconnect"},
    {352, "UnsupportedOpQueryCommand"},
    {13297, "DatabaseDifferCase"},
    {50768, "NotARetryableWriteCommand"},
};

}  // namespace

std::string code_name(ErrorCode code) {
  switch (code) {
#define PALIMPSEST_ERROR_NAME(name, number, text) \
  case ErrorCode::name: return text;
    PALIMPSEST_ERROR_CODES(PALIMPSEST_ERROR_NAME)
#undef PALIMPSEST_ERROR_NAME
  }
  for (const Name& name : rare_names) {
    if (name.code == static_cast<int32_t>(code)) return name.text;
  }
  return "Location" + std::to_string(static_cast<int32_t>(code));
}

void check_failed(std::string_view what, std::string_view where) {
  std::fprintf(stderr, "check failed: %.*s in %.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(where.size()),
               where.data());
  std::abort();
}

}  // namespace base
