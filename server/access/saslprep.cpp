#include "server/access/saslprep.h"

#include <unicode/unistr.h>
#include <unicode/usprep.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/utf8.h"

namespace server::access {
namespace {

struct Close {
  void operator()(UStringPrepProfile* profile) const { usprep_close(profile); }
};
using Profile = std::unique_ptr<UStringPrepProfile, Close>;

// The profile is immutable once it is open.
const UStringPrepProfile* profile() {
  static const Profile opened = [] {
    UErrorCode error = U_ZERO_ERROR;
    return Profile(usprep_openByType(USPREP_RFC4013_SASLPREP, &error));
  }();
  return opened.get();
}

}  // namespace

std::optional<std::string> saslprep(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; })) return std::string(text);
  if (!base::is_utf8(text) || !profile()) return std::nullopt;
  const icu::UnicodeString given = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  // A character becomes at most 18 others (NFKC).
  std::vector<UChar> out(static_cast<size_t>(given.length()) * 18 + 1);
  UErrorCode error = U_ZERO_ERROR;
  UParseError where;
  const int32_t length = usprep_prepare(profile(), given.getBuffer(), given.length(), out.data(),
                                        static_cast<int32_t>(out.size()), USPREP_ALLOW_UNASSIGNED, &where, &error);
  if (U_FAILURE(error)) return std::nullopt;
  std::string prepared;
  icu::UnicodeString(out.data(), length).toUTF8String(prepared);
  return prepared;
}

}  // namespace server::access
