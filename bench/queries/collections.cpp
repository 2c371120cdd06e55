#include "bench/queries/collections.h"

#include <fmt/format.h>

#include <cmath>

#include "base/random.h"
#include "bench/data/workload.h"
#include "bson/builder.h"

namespace bench::queries {
namespace {

constexpr size_t batch_bytes = 4 << 20, batch_documents = 1000;
constexpr double pi = 3.14159265358979323846;

// The same for the same id, in every run.
base::Random random_of(int64_t id) {
  return base::Random(static_cast<uint64_t>(id) * 2654435761u + 1);
}

void collect_texts(const bson::ValueView& value, std::string& out) {
  if (value.is_string()) {
    out.append(value.as_string()).push_back(' ');
  } else if (value.is_object() || value.type() == bson::Type::array) {
    for (const auto& field : value.as_document()) collect_texts(field, out);
  }
}

}  // namespace

bson::Document made_document(int64_t id) {
  base::Random random = random_of(id);
  bson::Builder out;
  out.append("_id", id)
      .append("key", fmt::format("key {:04}", random.below(1000)))
      .append("n", static_cast<int64_t>(random.below(1'000'000'000)))
      .append("m", static_cast<int64_t>(random.below(1'000'000'000)))
      .append("k", static_cast<int64_t>(random.below(1'000'000'000)));
  for (int field = 0; field < 14; ++field) {
    std::string text;
    while (text.size() < 48) text += fmt::format("{:x}", random.below(1ULL << 32));
    text.resize(48);
    out.append(fmt::format("text{:02}", field), text);
  }
  out.append("last", static_cast<int32_t>(random.below(100)));
  return out.done();
}

bson::Document made_pair(int64_t id) {
  base::Random random = random_of(~id);
  bson::Builder out;
  out.append_all(made_document(id));
  out.append("a", static_cast<int32_t>(random.below(100))).append("b", static_cast<int32_t>(random.below(100)));
  return out.done();
}

bson::Document made_point(int64_t id) {
  base::Random random = random_of(id);
  const auto uniform = [&] { return static_cast<double>(random.below(1'000'000'000)) / 1e9; };
  bson::Builder out;
  out.append("_id", id);
  {
    auto at = out.array("at");
    at.append(uniform() * 360 - 180);
    at.append(std::asin(uniform() * 2 - 1) * 180 / pi);
  }
  return out.done();
}

uint64_t insert(Clients& client, const std::string& collection, const NextDocument& next) {
  uint64_t bytes = 0;
  for (std::optional<bson::Document> document = next(); document;) {
    bson::Builder command;
    command.append("insert", collection);
    {
      auto documents = command.array("documents");
      size_t some = 0;
      for (size_t i = 0; document && i < batch_documents && some < batch_bytes; ++i) {
        documents.append(*document);
        some += document->size();
        document = next();
      }
      bytes += some;
    }
    command.append("ordered", false).append("$db", database);
    demand_accepted(client.ask(command.done()));
  }
  return bytes;
}

uint64_t insert(Clients& client, const std::string& collection, int64_t count, bson::Document (*made)(int64_t id)) {
  int64_t id = 0;
  return insert(client, collection, [&]() -> std::optional<bson::Document> {
    if (id == count) return std::nullopt;
    return made(id++);
  });
}

Texts insert_texts(Clients& client, const std::string& collection, const std::string& data, bool synthetic, size_t count) {
  WorkloadOptions options{.data = data.empty() ? find_data() : data, .synthetic_bytes = 16 << 20};
  if (synthetic) options.data.reset();
  const Workload workload = load("stackexchange", options);
  Texts texts;
  texts.source = options.data ? "posts of a forum" : "made-up posts";
  size_t at = 0;
  texts.bytes = insert(client, collection, [&]() -> std::optional<bson::Document> {
    if (at == workload.records.size() || at == count) return std::nullopt;
    std::string text;
    for (const auto& field : bson::DocumentView(workload.records[at].document)) collect_texts(field, text);
    bson::Builder out;
    out.append("_id", static_cast<int64_t>(at++)).append("text", text);
    ++texts.documents;
    return out.done();
  });
  return texts;
}

}  // namespace bench::queries
