#include "datasets/input/tar.h"

#include <catch2/catch.hpp>

#include "datasets/test_support.h"

namespace datasets {
namespace {

using namespace test;

std::unique_ptr<BufferedStream> buffered(const std::string& bytes) {
  return std::make_unique<BufferedStream>(memory_stream(bytes));
}

// The content as far as it can be read; `error` is what ended it, or empty.
std::string read_all(Stream& stream, std::string& error) {
  std::string out;
  char piece[300];
  try {
    while (const size_t got = stream.read(piece, sizeof piece)) out.append(piece, got);
  } catch (const StreamError& broken) {
    error = broken.what();
  }
  return out;
}

TEST_CASE("a tar archive's names are its own bytes, whatever their encoding") {
  const std::string utf8 = "caf\xc3\xa9/1", latin1 = "caf\xe9/2";
  const std::string record = "16 path=" + utf8 + "\n";
  REQUIRE(record.size() == 16);
  TarReader reader(buffered(tar_member("./PaxHeaders/x", record, 'x') + tar_member("short", "one", '0') +
                            tar({{latin1, "two"}, {std::string(150, 'd') + latin1, "three"}})));
  for (const std::string& name : {utf8, latin1, std::string(150, 'd') + latin1}) {
    const auto member = reader.next();
    REQUIRE(member);
    CHECK(member->path == name);
    CHECK(member->file);
  }
  CHECK(!reader.next());
}

TEST_CASE("directories and links of a tar archive are no files") {
  TarReader reader(buffered(tar_member("folder", "", '5') + tar_member("hard link", "", '1') + tar_member("link", "", '2') +
                            tar({{"file", "content"}})));
  for (const bool file : {false, false, false, true}) {
    const auto member = reader.next();
    REQUIRE(member);
    CHECK(member->file == file);
  }
}

TEST_CASE("what precedes a cut in a tar archive's member is read, then the cut is named") {
  const std::string content(5000, 'c');
  TarReader reader(buffered(tar({{"file", content}}).substr(0, 512 + 3210)));
  REQUIRE(reader.next());
  std::string error;
  CHECK(read_all(*reader.content(), error) == content.substr(0, 3210));
  CHECK(error == "tar: Truncated tar archive at byte 3722");
  CHECK(!reader.next());
}

TEST_CASE("a tar archive may end without its closing blocks") {
  TarReader reader(buffered(tar_member("file", "content", '0')));
  REQUIRE(reader.next());
  std::string error;
  CHECK(read_all(*reader.content(), error) == "content");
  CHECK(error.empty());
  CHECK(!reader.next());
}

TEST_CASE("a damaged header ends a tar archive, wherever it stands") {
  const std::string whole = tar({{"a", "one"}, {"b", "two"}});
  for (const size_t header : {0, 1024}) {
    std::string damaged = whole;
    damaged[header + 130] = 'x';
    CHECK(TarReader::recognizes(base::BytesView(damaged).substr(0, 512)));
    TarReader reader(buffered(damaged));
    if (header > 0) REQUIRE(reader.next());
    CHECK_THROWS_AS(reader.next(), StreamError);
    CHECK(!reader.next());
  }
}

TEST_CASE("an error of the stream below a tar archive comes through as it is") {
  class Broken : public Stream {
    size_t read(char*, size_t) override { throw StreamError("the disk is gone"); }
  };
  TarReader reader(std::make_unique<BufferedStream>(std::make_unique<Broken>()));
  CHECK_THROWS_WITH(reader.next(), "the disk is gone");
  CHECK(!reader.next());
}

TEST_CASE("the holes of a sparse file in a tar archive are zeros") {
  // The GNU sparse member has four bytes at 1000 and four at 3000, of 5000 bytes.
  std::string member = tar_member("sparse", "headtail", 'S');
  member.replace(257, 8, "ustar  \0", 8);
  size_t at = 386;
  for (const char* number : {"00000001750", "00000000004", "00000005670", "00000000004"})
    member.replace(at, 11, number), at += 12;
  member.replace(483, 11, "00000011610");
  TarReader reader(buffered(with_tar_checksum(member.substr(0, 512)) + member.substr(512) + std::string(1024, '\0')));
  const auto found = reader.next();
  REQUIRE(found);
  CHECK(found->file);
  std::string expected(5000, '\0'), error;
  expected.replace(1000, 4, "head");
  expected.replace(3000, 4, "tail");
  CHECK(read_all(*reader.content(), error) == expected);
  CHECK(error.empty());
}

}  // namespace
}  // namespace datasets
