// The input is taken as a date in any format and in none, and as a time zone. It is refused as an operation is, or is a date.
//
//   part: the format | part: the zone | rest: the text
#include "base/fuzz_target.h"
#include "server/query/expressions/date_format.h"
#include "server/query/expressions/date_text.h"
#include "server/query/expressions/time_zone.h"

namespace {

using namespace server::query;

bool run(base::BytesView input) {
  base::FuzzReader reader(input);
  const auto format = reader.part(), zone = reader.part();
  std::optional<FormattedDate> date;
  const auto text = reader.rest();
  const auto written = read_date_text(text);
  base::refuses([&] { date = read_date(text, format); });
  TimeZone in;
  const bool no_zone = base::refuses([&] { in = TimeZone(zone); });
  if (!no_zone && written) base::refuses([&] { in.local(in.utc(written->local)); });
  if (!date || no_zone) return written.has_value();
  base::refuses([&] { in.local(in.utc(date->local)); });
  return true;
}

std::vector<base::Bytes> seeds() {
  const auto seed = [](const char* format, const char* zone, const char* text) {
    return base::FuzzWriter().part(format).part(zone).rest(text);
  };
  return {seed("%Y-%m-%dT%H:%M:%S.%L%z", "+01:30", "2024-02-29T12:00:00.500+0100"),
          seed("%d.%m.%Y", "-0800", "5.1.2024"),
          seed("%G week %V day %u", "UTC", "2024 week 9 day 4"),
          seed("%j of %Y%%", "", "60 of 2024%"),
          seed("", "", "Tue, 4th of July 2017 11:56 pm America/New_York"),
          seed("", "", "20170704T115602 +05:30")};
}

const base::FuzzTarget target("date_format", run, seeds);

}  // namespace
