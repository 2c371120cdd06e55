#include <catch2/catch.hpp>

#include "datasets/times.h"
#include "datasets/utf8.h"

namespace datasets {
namespace {

TEST_CASE("ISO 8601 moments") {
  CHECK(parse_iso8601("1970-01-01T00:00:00Z") == 0);
  CHECK(parse_iso8601("2009-08-30T10:40:19Z") == 1251628819000);
  CHECK(parse_iso8601("2014-01-21T20:26:05.383") == 1390335965383);
  CHECK(parse_iso8601("2012-09-27T16:10:05-07:00") == parse_iso8601("2012-09-27T23:10:05Z"));
  CHECK(parse_iso8601("1969-12-31") == -86400000);
  CHECK(parse_iso8601("2014-01-21 20:26:05.3839999") == 1390335965383);
  CHECK(parse_iso8601("2014-01-21T20:26Z") == 1390335960000);
  CHECK(parse_iso8601("2014-01-22T01:56+0530") == 1390335960000);
  CHECK(parse_iso8601("9999-12-31T23:59:59.999Z") == 253402300799999);
  CHECK(parse_iso8601("0001-01-01T00:00:00Z") == -62135596800000);
  for (const char* bad : {"", "2009", "2009-13-01T00:00:00Z", "2009-02-30", "2009-08-30T10:61:00Z", "2009-08-30T10:40:19Zulu",
                          "today", "2009-08-30T10:40:19-0w00", "2009-08-3-", "2009-08-30T10:40:888888888888888888888Z"})
    CHECK(!parse_iso8601(bad));
}

TEST_CASE("a leap second and the end of a day are moments") {
  CHECK(parse_iso8601("2016-12-31T23:59:60Z") == parse_iso8601("2017-01-01T00:00:00Z"));
  CHECK(parse_iso8601("2016-12-31T24:00:00Z") == parse_iso8601("2017-01-01T00:00:00Z"));
  CHECK(parse_mail_date("31 Dec 2016 23:59:60 GMT") == parse_iso8601("2017-01-01T00:00:00Z"));
}

TEST_CASE("mail dates as they are found") {
  CHECK(parse_mail_date("Tue, 29 Aug 2000 11:11:00 -0700 (PDT)") == parse_iso8601("2000-08-29T18:11:00Z"));
  CHECK(parse_mail_date("Fri Jan  2 14:25:20 2004") == parse_iso8601("2004-01-02T14:25:20Z"));
  CHECK(parse_mail_date("Fri, 2 Jan 04 14:25 EST") == parse_iso8601("2004-01-02T19:25:00Z"));
  CHECK(parse_mail_date("ada at example.com  Mon Feb  3 09:00:00 2020") == parse_iso8601("2020-02-03T09:00:00Z"));
  CHECK(parse_mail_date("29 August 2000 9:11 +05:30") == parse_iso8601("2000-08-29T03:41:00Z"));
  CHECK(parse_mail_date("Sept 9 14:25:20 UT 1999") == parse_iso8601("1999-09-09T14:25:20Z"));
  CHECK(parse_mail_date("Fri, 2 Jan 104 14:25:20 (a (nested) comment)") == parse_iso8601("2004-01-02T14:25:20Z"));
  CHECK(parse_mail_date("Fri, 2 Jan 2004 14:25 -0w00") == parse_iso8601("2004-01-02T14:25:00Z"));
  for (const char* bad : {"", "yesterday", "Fri, 32 Jan 2004 10:00:00", "Fri Jan 2004", "12:00"}) CHECK(!parse_mail_date(bad));
}

TEST_CASE("text that is not UTF-8 is read as Latin-1") {
  CHECK(to_utf8("plain") == "plain");
  CHECK(to_utf8("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb1") == "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\xb1");
  CHECK(to_utf8("caf\xe9") == "caf\xc3\xa9");
}

}  // namespace
}  // namespace datasets
