// These functions make dates from parts, and from text by a format.
#pragma once

#include <optional>
#include <string_view>

#include "server/query/expressions/date_units.h"

namespace server::query {

inline constexpr std::string_view month_names[] = {"January", "February", "March",     "April",   "May",      "June",
                                                   "July",    "August",   "September", "October", "November", "December"};

// Parts beyond their range carry over: month 14 is February of the next year; days and weeks do the same.
date::local_days day_of_parts(int64_t year, int64_t month, int64_t day);
// The first week has the year's first Thursday; Monday is day 1.
date::local_days day_of_iso_parts(int64_t year, int64_t week, int64_t day_of_week);

// The letters that may stand after a percent sign in a format, of $dateToString and of $dateFromString.
inline constexpr std::string_view written_format_letters = "dGHjLmMSuUVwYzZbB%";
inline constexpr std::string_view read_format_letters = "dGHjLmMSuVYzZbB%";
// Throws 18535 and 18536 for a wrong format.
void check_date_format(std::string_view format, std::string_view letters);

struct FormattedDate {
  LocalTime local;          // in UTC if the text has an offset
  bool has_offset = false;  // the text has an offset
};
// Reads a date by a format as $dateToString writes it: numbers may lack leading zeros. Returns nullopt if the text is no date or
// is incomplete. Throws 18535 and 18536 for a wrong format.
std::optional<FormattedDate> read_date(std::string_view text, std::string_view format);

}  // namespace server::query
