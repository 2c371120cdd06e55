// Dates out of parts, and out of text by a format.
#pragma once

#include <optional>
#include <string_view>

#include "server/query/expressions/date_units.h"

namespace server::query {

inline constexpr std::string_view month_names[] = {"January", "February", "March",     "April",   "May",      "June",
                                                   "July",    "August",   "September", "October", "November", "December"};

// Parts beyond their range carry over: month 14 is February of the next year, and so do days and weeks.
date::local_days day_of_parts(int64_t year, int64_t month, int64_t day);
// The first week is that of the year's first Thursday; Monday is day 1.
date::local_days day_of_iso_parts(int64_t year, int64_t week, int64_t day_of_week);

struct FormattedDate {
  LocalTime local;          // in UTC where the text says how far from it it is
  bool has_offset = false;  // it does
};
// A date by a format as $dateToString writes it: numbers may lack leading zeros. nullopt: it isn't one, or says too little.
// Throws 18535 and 18536 where the format is wrong.
std::optional<FormattedDate> read_date(std::string_view text, std::string_view format);

}  // namespace server::query
