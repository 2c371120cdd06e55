#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "datasets/test_support.h"

namespace datasets {
namespace {

using namespace test;

TEST_CASE("every version of every text file of a repository is a document") {
  const Folder folder;
  const std::string script = folder.write("make.sh", R"sh(
set -e
cd "$(dirname "$0")"
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.com
export GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.com
commit() { GIT_AUTHOR_DATE="2020-01-0$1T00:00:00Z" GIT_COMMITTER_DATE="2020-01-0$1T00:00:00Z" git commit -q -a -m "$2"; }
git init -q repo && cd repo
printf 'one\ntwo\nthree\nfour\nfive\n' > poem.txt; printf 'a\0b' > picture
mkdir 'dir with space'; echo x > 'dir with space/é.txt'
git add . && commit 1 begin
git checkout -q -b side; sed -i s/five/FIVE/ poem.txt; commit 2 'on the side'
git checkout -q -; sed -i s/one/ONE/ poem.txt; commit 3 'on the line'
GIT_AUTHOR_DATE=2020-01-04T00:00:00Z GIT_COMMITTER_DATE=2020-01-04T00:00:00Z git merge -q side -m merge
git rm -q 'dir with space/é.txt' && commit 5 remove
)sh");
  REQUIRE(std::system(("bash '" + script + "' > /dev/null 2>&1").c_str()) == 0);
  const auto items = load_cleanly(folder.path() + "/repo");
  std::vector<std::string> story;
  for (const Item& item : items) {
    story.push_back(std::string(item.document.find("path").as_string()) + "|" +
                    std::string(item.document.find("subject").as_string()) + "|" +
                    std::string(item.document.find("text").as_string()));
  }
  const std::string first = "poem.txt|begin|one\ntwo\nthree\nfour\nfive\n";
  REQUIRE(story.size() == 5);
  CHECK(story[0] == "dir with space/é.txt|begin|x\n");
  CHECK(story[1] == first);
  CHECK(std::count(story.begin(), story.end(), "poem.txt|on the side|one\ntwo\nthree\nfour\nFIVE\n") == 1);
  CHECK(std::count(story.begin(), story.end(), "poem.txt|on the line|ONE\ntwo\nthree\nfour\nfive\n") == 1);
  CHECK(story[4] == "poem.txt|merge|ONE\ntwo\nthree\nfour\nFIVE\n");
  CHECK(items[4].timestamp_ms == 1578096000000);
  CHECK(items[1].group == items[4].group);
  const std::string id(items[1].document.find("_id").as_string());
  CHECK(id.size() == 40 + 1 + 8);
  CHECK(id.substr(40) == ":poem.txt");
}

}  // namespace
}  // namespace datasets
