#include "bench/chapter6/load.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/measure/cpu_clock.h"
#include "bson/builder.h"

namespace bench::chapter6 {
namespace {

constexpr const char* database = "bench";

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

constexpr const char* encoder_thread = "dedup";
constexpr const char* answering_threads[] = {"reactor"};

double answering_seconds(const Server& server) {
  double seconds = 0;
  for (const char* name : answering_threads) seconds += server.thread_cpu_seconds(name);
  return seconds;
}

}  // namespace

double Rival::median_rate() const {
  return median(rates);
}
double Rival::median_answering() const {
  return median(answering);
}
double Rival::median_encoding() const {
  return median(encoding);
}
double Rival::median_others() const {
  return median(others);
}

double Rival::quantile(double q) const {
  if (micros.empty()) return 0;
  std::vector<double> sorted = micros;
  const auto at = std::min(sorted.size() - 1, static_cast<size_t>(q * static_cast<double>(sorted.size())));
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(at), sorted.end());
  return sorted[at];
}

Load::Load(const Workload& workload, size_t populate)
    : workload_(workload), populated_(std::min(populate, workload.records.size())) {
  while (next_ < populated_) insert_next();
}

// Returns fewer records than asked for once they have run out.
Operation Load::insert_next(uint32_t count) {
  Operation operation{true, {}};
  for (uint32_t i = 0; i < count && next_ < workload_.records.size(); ++i) {
    const auto record = static_cast<uint32_t>(next_++);
    operation.records.push_back(record);
    const auto [found, fresh] = group_at_.try_emplace(workload_.records[record].group, static_cast<uint32_t>(groups_.size()));
    if (fresh) groups_.emplace_back();
    groups_[found->second].push_back(record);
  }
  return operation;
}

uint32_t Load::popular() {
  const auto rank = static_cast<size_t>(std::exp(random_.unit() * std::log(static_cast<double>(groups_.size() + 1)))) - 1;
  const auto& group = groups_[std::min(rank, groups_.size() - 1)];
  return random_.below(1000) < 997 ? group.back() : static_cast<uint32_t>(random_.below(next_));
}

std::vector<Operation> Load::mixed(size_t operations, double writes) {
  std::vector<Operation> list;
  while (list.size() < operations) {
    if (groups_.empty() || random_.unit() < writes)
      list.push_back(insert_next());
    else
      list.push_back({false, {popular()}});
    if (list.back().records.empty()) {  // there is nothing left to write
      list.pop_back();
      break;
    }
  }
  return list;
}

std::vector<Operation> Load::inserts(size_t records, uint32_t batch) {
  std::vector<Operation> list;
  for (size_t done = 0; done < records; done += batch) {
    list.push_back(insert_next(batch));
    if (list.back().records.empty()) {
      list.pop_back();
      break;
    }
  }
  return list;
}

std::vector<Operation> Load::inserts_with_reads(size_t operations, Follow follow) {
  constexpr size_t thread_max = 50;  // posts on a page
  std::vector<Operation> list;
  while (list.size() < operations) {
    Operation insert = insert_next();
    if (insert.records.empty()) break;
    const uint32_t record = insert.records.front();
    list.push_back(std::move(insert));
    if (follow == Follow::thread) {
      const auto& thread = groups_[group_at_.at(workload_.records[record].group)];
      list.push_back({false, {thread.end() - static_cast<ptrdiff_t>(std::min(thread.size(), thread_max)), thread.end()}});
      continue;
    }
    const uint32_t reads = follow == Follow::once ? 1 : std::max<uint32_t>(1, workload_.records[record].views);
    for (uint32_t i = 0; i < reads && list.size() < operations; ++i) list.push_back({false, {record}});
  }
  return list;
}

size_t Load::perform(const Rival& rival, const std::vector<Operation>& operations, std::vector<double>* micros) const {
  size_t records = 0;
  for (const Operation& operation : operations) {
    const auto begun = std::chrono::steady_clock::now();
    // A command has one collection, so records of several collections come in several commands.
    std::vector<bool> done(operation.records.size());
    for (size_t i = 0; i < operation.records.size(); ++i) {
      if (done[i]) continue;
      const uint32_t collection = workload_.records[operation.records[i]].collection;
      std::vector<bson::DocumentView> documents;
      bson::Builder filter;
      {
        auto id = filter.object("_id");
        auto ids = id.array("$in");
        for (size_t j = i; j < operation.records.size(); ++j) {
          const Record& record = workload_.records[operation.records[j]];
          if (record.collection != collection) continue;
          done[j] = true;
          documents.emplace_back(record.document);
          ids.append(static_cast<bson::ValueView>(documents.back().find("_id")));
        }
      }
      const std::string& name = workload_.collections[collection];
      if (operation.insert) {
        rival.client->insert(database, name, documents);
      } else {
        const uint64_t found = rival.client->find(database, name, filter.done(), bson::Document(), [](bson::DocumentView) {});
        if (found != documents.size())
          throw std::runtime_error(rival.name + ": a read found " + std::to_string(found) + " of " +
                                   std::to_string(documents.size()));
      }
    }
    if (micros) micros->push_back(seconds_since(begun) * 1e6);
    records += operation.insert ? operation.records.size() : 1;
  }
  return records;
}

void Load::start(Rival& rival, const std::string& program, const std::string& scratch) const {
  rival.server = std::make_unique<Server>(program, rival.arguments, scratch);
  rival.client = std::make_unique<datasets::replay::Client>(rival.server->uri());
  std::vector<Operation> list;
  for (uint32_t begin = 0; begin < populated_; begin += 100) {
    Operation& insert = list.emplace_back();
    insert.insert = true;
    for (uint32_t i = begin; i < populated_ && i < begin + 100; ++i) insert.records.push_back(i);
  }
  perform(rival, list, nullptr);
}

void Load::run(Rival& rival, const std::vector<Operation>& operations) const {
  const double cpu = rival.server->cpu_seconds(), encoder_cpu = rival.server->thread_cpu_seconds(encoder_thread),
               answering_cpu = answering_seconds(*rival.server);
  const auto round = std::chrono::steady_clock::now();
  const size_t records = perform(rival, operations, &rival.micros);
  if (records == 0) return;
  rival.rates.push_back(static_cast<double>(records) / seconds_since(round));
  const double each = 1e6 / static_cast<double>(records), all = rival.server->cpu_seconds() - cpu,
               answered = answering_seconds(*rival.server) - answering_cpu,
               encoded = rival.server->thread_cpu_seconds(encoder_thread) - encoder_cpu;
  rival.answering.push_back(answered * each);
  rival.encoding.push_back(encoded * each);
  rival.others.push_back((all - answered - encoded) * each);
}

void wait_until_idle(const std::vector<Rival>& rivals, double seconds_max) {
  constexpr double step = 0.2, idle = 0.01;  // seconds
  auto cpu = [&] {
    double sum = 0;
    for (const Rival& rival : rivals) sum += rival.server->cpu_seconds();
    return sum;
  };
  double before = cpu();
  for (double waited = 0; waited < seconds_max; waited += step) {
    std::this_thread::sleep_for(std::chrono::duration<double>(step));
    const double now = cpu();
    if (now - before < idle) return;
    before = now;
  }
}

void interleave(const Load& load, std::vector<Rival>& rivals, int rounds, double idle_seconds_max,
                const std::function<std::vector<Operation>()>& next_round) {
  for (int round = 0; round < rounds; ++round) {
    const auto operations = next_round();
    for (size_t i = 0; i < rivals.size(); ++i) {
      wait_until_idle(rivals, idle_seconds_max);
      load.run(rivals[(i + static_cast<size_t>(round)) % rivals.size()], operations);
    }
  }
}

}  // namespace bench::chapter6
