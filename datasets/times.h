// These functions read the forms in which data sets write moments. They return milliseconds since 1970 UTC, or nullopt where
// the text is no moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace datasets {

// "2009-08-30T10:40:19Z", "2014-01-21T20:26:05.383", "2012-09-27T16:10:05-07:00".
// A moment without a zone is UTC.
std::optional<int64_t> parse_iso8601(std::string_view text);

// Reads the Date header of a mail, as RFC 5322 and older mailers write it:
// "Tue, 29 Aug 2000 11:11:00 -0700 (PDT)", "Fri Jan  2 14:25:20 2004".
std::optional<int64_t> parse_mail_date(std::string_view text);

}  // namespace datasets
