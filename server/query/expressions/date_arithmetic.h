// $dateAdd, $dateDiff and $dateTrunc add to dates, count between them, and cut them off.
//
// Days and longer units are counted on the zone's calendar: a day after 18:00 is 18:00, however long that day was. Hours and
// shorter units are counted in time that passes, whatever the clocks on the wall do meanwhile.
#pragma once

#include "bson/types.h"
#include "server/query/expressions/date_units.h"
#include "server/query/expressions/time_zone.h"

namespace server::query {

// Throws as `shifted` does.
bson::Date moved(const TimeZone& zone, bson::Date date, DateUnit unit, int64_t amount);

// Returns how many times a unit begins after `from` until `to`; negative if `to` is before `from`. Weeks begin on `first_day`
// (Sunday: 0). Throws 5166308 if milliseconds don't fit.
int64_t difference(const TimeZone& zone, bson::Date from, bson::Date to, DateUnit unit, int first_day = 0);

// Returns the beginning of the bin of `size` units that has the date. Bins are counted from the beginning of 2000 in the zone,
// those of weeks from the first `first_day` there. `size` is at least 1. Throws 5439000, 5439001, 5439002 and 5439006 if numbers
// don't fit.
bson::Date truncated(const TimeZone& zone, bson::Date date, DateUnit unit, int64_t size, int first_day = 0);

}  // namespace server::query
