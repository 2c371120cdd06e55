#include "datasets/report/figures.h"

#include <fmt/core.h>

#include <functional>

#include "bson/path.h"
#include "datasets/replay/progress.h"

namespace datasets::report {
namespace {

using replay::bytes_text;
using replay::duration_text;
using replay::grouped;

std::string ratio_text(double value) {
  return value > 0 ? fmt::format("{:.2f}x", value) : "-";
}
std::string exact_bytes(double value) {
  return fmt::format("{} ({})", bytes_text(value), count_text(value));
}

// A figure is shown where either run has it.
class Lines {
 public:
  Lines(Section& section, bson::DocumentView report, const bson::Document* beside)
      : section_(section), report_(report), beside_(beside) {}

  using Say = std::function<std::string(bson::DocumentView)>;
  void add(const std::string& name, const std::string& needs, const Say& say, const std::string& note = {}) {
    const bool here = has(report_, needs), there = beside_ && has(*beside_, needs);
    if (!here && !there) return;
    section_.figures.push_back({name, here ? say(report_) : "-", beside_ ? (there ? say(*beside_) : "-") : "", note});
  }
  void add(const std::string& name, const std::string& path, std::string (*say)(double), const std::string& note = {}) {
    add(
        name, path, [=](bson::DocumentView from) { return say(number(from, path)); }, note);
  }

 private:
  Section& section_;
  bson::DocumentView report_;
  const bson::Document* beside_;
};

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

// Adds the share of hits in hits and misses, wherever the server counts them.
void add_cache(Lines& lines, const std::string& name, const std::string& path) {
  lines.add(name, path + ".hits", [=](bson::DocumentView from) {
    const double hits = number(from, path + ".hits"), misses = number(from, path + ".misses");
    return fmt::format("{} of {}", share_text(hits, hits + misses), count_text(hits + misses));
  });
}

// Writes "p50 1, p90 4, p99 9, most 16" for {p50: 1, p99: 9} and the most.
std::string quantiles_text(bson::DocumentView from) {
  const bson::ValueView quantiles = bson::value_at(from, "decode.hops");
  if (!quantiles.is_object()) return "-";
  std::string out;
  for (const bson::Element& entry : quantiles.as_document()) out += fmt::format("{} {:g}, ", entry.name, entry.to_double());
  return out + fmt::format("most {:g}", number(from, "decode.hopsMax"));
}

void add_latency(Lines& lines, const std::string& name, const std::string& path) {
  lines.add(
      name, path + ".count",
      [=](bson::DocumentView from) {
        return fmt::format("{} / {} / {}", micros_text(number(from, path + ".p50Micros")),
                           micros_text(number(from, path + ".p99Micros")), micros_text(number(from, path + ".p999Micros")));
      },
      "p50 / p99 / p99.9");
}

}  // namespace

double number(bson::DocumentView report, std::string_view path) {
  const bson::ValueView value = bson::value_at(report, path);
  return value.is_number() ? value.to_double() : 0;
}

bool has(bson::DocumentView report, std::string_view path) {
  return bson::value_at(report, path).exists();
}

std::string text(bson::DocumentView report, std::string_view path) {
  const bson::ValueView value = bson::value_at(report, path);
  return value.is_string() ? std::string(value.as_string()) : std::string();
}

std::string count_text(double value) {
  constexpr double end = 18446744073709551616.0;  // 2^64
  return value >= 0 && value < end ? grouped(static_cast<uint64_t>(value)) : "-";
}

std::string micros_text(double micros) {
  if (micros < 1000) return fmt::format("{:.0f} µs", micros);
  return micros < 1e6 ? fmt::format("{:.{}f} ms", micros / 1e3, micros < 1e4 ? 2 : 1) : fmt::format("{:.2f} s", micros / 1e6);
}

std::string meaning(bson::DocumentView report) {
  const double documents = number(report, "documents"), verified = number(report, "verified");
  const double logical = number(report, "logicalBytes"), files = number(report, "fileBytes");
  std::string out = fmt::format("The server stored {} documents, {} of BSON", count_text(documents), bytes_text(logical));
  if (files > 0) out += ", in files of " + bytes_text(files);
  if (files > 0 && logical > files) out += fmt::format(": {:.1f} times less", logical / files);
  out += fmt::format("; it took {} documents a second", count_text(number(report, "insertsPerSecond")));
  double wrong = 0;
  for (const char* when : {"verification.afterLoad", "verification.afterRestart"})
    for (const char* how : {".differing", ".missing", ".unexpected"}) wrong += number(report, std::string(when) + how);
  if (wrong > 0) return out + fmt::format(", but {} documents did not come back as they were written.", count_text(wrong));
  if (verified == 0) return out + ", and nothing was read back to compare.";
  return out + ", and " + (has(report, "verifiedAfterRestart") ? "before and after a restart " : "") +
         "every document came back byte for byte.";
}

std::vector<Section> sections(bson::DocumentView report, const bson::Document* beside) {
  std::vector<Section> all(6);
  {
    Lines lines(all[0], report, beside);
    all[0].title = "Data";
    lines.add("documents", "documents", count_text);
    lines.add("read back byte for byte", "verification.afterLoad",
              [](bson::DocumentView from) { return count_text(number(from, "verified")); });
    lines.add("the same after a restart", "verifiedAfterRestart", count_text);
    lines.add("differing, missing, unexpected", "verification.afterLoad.differing", [](bson::DocumentView from) {
      double sums[3] = {0, 0, 0};
      for (const char* when : {"verification.afterLoad", "verification.afterRestart"}) {
        sums[0] += number(from, std::string(when) + ".differing");
        sums[1] += number(from, std::string(when) + ".missing");
        sums[2] += number(from, std::string(when) + ".unexpected");
      }
      return fmt::format("{}, {}, {}", sums[0], sums[1], sums[2]);
    });
    lines.add("replaced, removed", "load.replaced", [](bson::DocumentView from) {
      return fmt::format("{}, {}", count_text(number(from, "load.replaced")), count_text(number(from, "load.removed")));
    });
    lines.add("input problems, skipped", "problems.count", count_text);
  }
  {
    Lines lines(all[1], report, beside);
    all[1].title = "Size";
    lines.add("logical (BSON)", "logicalBytes", exact_bytes);
    lines.add("written", "writtenBytes", exact_bytes);
    lines.add("  of it text", "textBytes", exact_bytes);
    lines.add("after dedup", "dedupBytes", exact_bytes);
    lines.add("after block compression", "blockBytes", exact_bytes);
    lines.add("in files", "fileBytes", exact_bytes, "without journal and oplog");
    lines.add("ratio: dedup", "ratios.dedup", ratio_text);
    lines.add("ratio: with block compression", "ratios.block", ratio_text);
    lines.add("ratio: files", "ratios.file", ratio_text, "logical / in files");
    lines.add("journal", "journalBytes", exact_bytes);
    lines.add("indexes", "indexBytes", exact_bytes);
  }
  {
    Lines lines(all[2], report, beside);
    all[2].title = "Oplog";
    lines.add("on disk", "oplog.fileBytes", exact_bytes);
    lines.add("raw", "oplog.rawBytes", exact_bytes);
    lines.add("raw, batches with zstd", "oplog.rawZstdBytes", exact_bytes);
    lines.add("forward-encoded", "oplog.forwardBytes", exact_bytes);
    lines.add("forward-encoded, batches with zstd", "oplog.forwardZstdBytes", exact_bytes);
    lines.add("batches", "oplog.forwardBatches", count_text);
    lines.add("ratio: forward-encoded", "oplog.forwardBytes", [](bson::DocumentView from) {
      const double forward = number(from, "oplog.forwardBytes");
      return ratio_text(forward > 0 ? number(from, "oplog.rawBytes") / forward : 0);
    });
    lines.add("ratio: with zstd", "oplog.forwardZstdBytes", [](bson::DocumentView from) {
      const double forward = number(from, "oplog.forwardZstdBytes");
      return ratio_text(forward > 0 ? number(from, "oplog.rawBytes") / forward : 0);
    });
  }
  {
    Lines lines(all[3], report, beside);
    all[3].title = "Speed";
    lines.add("inserts a second", "insertsPerSecond", count_text);
    lines.add("bytes a second", "load.bytesPerSecond", bytes_text);
    add_latency(lines, "insert command", "latency.insert");
    lines.add("commands", "latency.insert.count", count_text);
    lines.add("reads of the trace", "latency.read.count", count_text);
    add_latency(lines, "read", "latency.read");
    lines.add("load", "load.seconds", duration_text);
    lines.add("until dedup had settled", "load.drainSeconds", [](double seconds) { return fmt::format("{:.1f} s", seconds); });
    lines.add("checkpoint, compaction", "load.checkpointSeconds", [](bson::DocumentView from) {
      return fmt::format("{:.1f} s, {:.1f} s", number(from, "load.checkpointSeconds"), number(from, "load.compactSeconds"));
    });
    lines.add("client CPU a document", "load.clientCpuSeconds", [](bson::DocumentView from) {
      const double documents = number(from, "documents");
      return micros_text(documents > 0 ? number(from, "load.clientCpuSeconds") * 1e6 / documents : 0);
    });
  }
  {
    Lines lines(all[4], report, beside);
    all[4].title = "Memory and caches";
    lines.add("resident, at most", "residentBytesMax", bytes_text);
    lines.add("feature index a record", "indexBytesPerRecord", [](double bytes) { return fmt::format("{:.1f} B", bytes); });
    lines.add("feature index", "dedup.index.bytes", bytes_text);
    add_cache(lines, "source cache hits", "dedup.sourceCache");
    lines.add("sources found similar", "dedup.encoded", [](bson::DocumentView from) {
      return fmt::format("{} of {}", share_text(number(from, "dedup.encoded"), number(from, "dedup.contents")),
                         count_text(number(from, "dedup.contents")));
    });
    lines.add("write-backs: done, saved", "dedup.writeBack.written", [](bson::DocumentView from) {
      return fmt::format("{}, {}", count_text(number(from, "dedup.writeBack.written")),
                         bytes_text(number(from, "dedup.writeBack.savedBytes")));
    });
    lines.add("write-backs: discarded", "dedup.writeBack.discarded", count_text, "the cache was full; the record stays whole");
    lines.add("pages found in WiredTiger's cache", "wiredTigerCache.pages requested from the cache", [](bson::DocumentView from) {
      const double requested = number(from, "wiredTigerCache.pages requested from the cache"),
                   read = number(from, "wiredTigerCache.pages read into cache");
      return fmt::format("{} of {}", share_text(requested - read, requested), count_text(requested));
    });
  }
  {
    Lines lines(all[5], report, beside);
    all[5].title = "Reading";
    lines.add("reads", "decode.reads", count_text);
    lines.add("hops a read", "decode.hopsMean", [](double hops) { return fmt::format("{:.2f}", hops); });
    lines.add("hops, quantiles", "decode.hops", quantiles_text);
    lines.add(
        "decode time", "decode.micros.p50",
        [](bson::DocumentView from) {
          return fmt::format("{} / {}", micros_text(number(from, "decode.micros.p50")),
                             micros_text(number(from, "decode.micros.p99")));
        },
        "p50 / p99");
  }
  std::erase_if(all, [](const Section& section) { return section.figures.empty(); });
  return all;
}

}  // namespace datasets::report
