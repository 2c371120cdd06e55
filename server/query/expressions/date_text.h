// Dates as people write them, without a format:
//
//   2018-03-20 11:00:06 +0500   July 4th, 2017 12pm   Tue, 4 Jul 2017 11:56:02 GMT   7/4/2017   04-07-2017   20170704 2017-W27-2
#pragma once

#include <optional>
#include <string_view>

#include "server/query/expressions/date_format.h"

namespace server::query {

// Reads a date, and a time of day and an offset if they are there. Returns nullopt if the text is something else, names a day
// that doesn't exist, or leaves out the year, the month or the day.
std::optional<FormattedDate> read_date_text(std::string_view text);

}  // namespace server::query
