// Property test: $text finds what a walk over all documents finds, with the same scores.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "base/testing.h"
#include "bson/builder.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

using Words = std::vector<std::string>;

// Words that have no other forms, since the language is "none".
class Texts {
 public:
  explicit Texts(uint64_t seed) : random_(seed) {}

  size_t below(size_t count) { return random_() % count; }
  std::string word() { return std::string(1, static_cast<char>('a' + below(6))) + "x"; }
  Words words(size_t max) {
    Words words;
    for (size_t left = below(max + 1); left > 0; --left) words.push_back(word());
    return words;
  }

 private:
  std::mt19937_64 random_;
};

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

double score_of(const Words& words, const std::string& term) {
  double count = 0, frequency = 0, part = 1;
  for (const std::string& word : words) {
    if (word != term) continue;
    ++count;
    frequency += part;
    part /= 2;
  }
  if (count == 0) return 0;
  return frequency * (0.5 * count / static_cast<double>(words.size()) + 0.5) * (words.size() == 1 ? 1.1 : 1);
}

// Returns what a command's first batch has: _id and score.
std::map<int64_t, double> scores_in(const bson::Document& reply) {
  INFO(bson::to_shell(reply.view()));
  REQUIRE(reply.view()["ok"].to_double() == 1);
  std::map<int64_t, double> found;
  for (const bson::Element& one : reply.view()["cursor"].as_document()["firstBatch"].as_document()) {
    const bool first = found.emplace(one.as_document()["_id"].to_int64(), one.as_document()["s"].to_double()).second;
    CHECK(first);
  }
  return found;
}

}  // namespace

TEST_CASE("$text finds what a walk over all documents finds, with the same scores") {
  Texts texts(base::testing::seed());
  TestServer server;
  server.create_index("c", "t", "{key: {t: 'text', u: 'text'}, weights: {u: 3}, default_language: 'none'}");
  std::map<int64_t, std::pair<Words, Words>> documents;
  for (int64_t id = 0; id < 60; ++id) {
    const auto& [t, u] = documents[id] = {texts.words(5), texts.words(3)};
    server.insert("c", bson::Builder().append("_id", id).append("t", joined(t)).append("u", joined(u)).done());
  }
  for (int i = 0; i < 60; ++i) {
    const Words terms = texts.words(3), phrase = texts.below(3) ? Words() : Words{texts.word(), texts.word()};
    const Words negated = texts.below(2) ? Words() : Words{texts.word()};
    std::string search = joined(terms);
    if (!phrase.empty()) search += " \"" + joined(phrase) + "\"";
    for (const std::string& word : negated) search += " -" + word;

    std::set<std::string> all(terms.begin(), terms.end());
    all.insert(phrase.begin(), phrase.end());
    std::map<int64_t, double> wanted;
    for (const auto& [id, words] : documents) {
      const auto& [t, u] = words;
      double score = 0;
      for (const std::string& term : all) score += score_of(t, term) + 3 * score_of(u, term);
      const auto has = [&](const std::string& part) {
        return joined(t).find(part) != std::string::npos || joined(u).find(part) != std::string::npos;
      };
      if (score == 0 || (!phrase.empty() && !has(joined(phrase))) || (!negated.empty() && has(negated[0]))) continue;
      wanted[id] = score;
    }

    bson::Builder filter, projection;
    filter.object("$text").append("$search", search);
    projection.object("s").append("$meta", "textScore");
    const bson::Document asked = filter.done(), shown = projection.done();
    const auto found = scores_in(server.run(bson::Builder()
                                                .append("find", "c")
                                                .append("filter", asked)
                                                .append("projection", shown)
                                                .append("batchSize", 1000)
                                                .done()));
    INFO(search);
    REQUIRE(found.size() == wanted.size());
    for (const auto& [id, score] : wanted) CHECK(found.at(id) == Approx(score));
    const bson::Document counted = server.run(bson::Builder().append("count", "c").append("query", asked).done());
    CHECK(counted.view()["n"].to_int64() == static_cast<int64_t>(wanted.size()));
  }
}

}  // namespace server::query
