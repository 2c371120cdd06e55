#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "geo/cells.h"

namespace geo {
namespace {

constexpr uint8_t subtype = 128;  // as MongoDB's keys have
constexpr size_t squares_max = 40;

// Returns the number of the column or row of 2^bits.
uint32_t place(double value, const IndexOptions& options) {
  const double cells = std::ldexp(1.0, options.bits);
  const double at = std::floor((value - options.min) / (options.max - options.min) * cells);
  return static_cast<uint32_t>(std::clamp(at, 0.0, cells - 1));
}

// Puts the bits of column and row in turn, at the upper end of 64 bits.
uint64_t mixed(uint32_t x, uint32_t y, int bits) {
  uint64_t hash = 0;
  for (int i = bits - 1; i >= 0; --i) hash = hash << 2 | static_cast<uint64_t>(x >> i & 1) << 1 | (y >> i & 1);
  return bits == 32 ? hash : hash << (64 - 2 * bits);
}

bson::Value key_of(uint64_t hash) {
  bson::Bytes bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[static_cast<size_t>(i)] = static_cast<char>(hash >> (56 - 8 * i));
  bson::Builder out;
  out.append("", bson::Binary{subtype, bytes});
  const bson::Document holder = out.done();
  return bson::Value(static_cast<bson::ValueView>(holder.view().first()));
}

struct Square {
  uint32_t x, y;
  int level;  // its side has 2^(bits - level) cells
};

struct Places {
  uint32_t x_low, y_low, x_high, y_high;
};

enum class Meets { no, partly, whole };

Meets meets(const Square& square, const Places& places, int bits) {
  const uint64_t side = uint64_t{1} << (bits - square.level);
  const uint64_t x_end = square.x + side - 1, y_end = square.y + side - 1;
  if (square.x > places.x_high || x_end < places.x_low || square.y > places.y_high || y_end < places.y_low) return Meets::no;
  const bool whole = square.x >= places.x_low && x_end <= places.x_high && square.y >= places.y_low && y_end <= places.y_high;
  return whole ? Meets::whole : Meets::partly;
}

}  // namespace

bson::Value flat_key(const Point& point, const IndexOptions& options) {
  const auto inside = [&](double value) { return value >= options.min && value <= options.max; };
  if (!inside(point.x) || !inside(point.y)) {
    const auto text = [](double value) {
      const bson::Value number(value);
      return bson::to_shell(number.view());
    };
    throw base::OperationError(13027, "point not in interval of [ " + text(options.min) + ", " + text(options.max) +
                                          " ] :: caused by :: { : " + text(point.x) + ", : " + text(point.y) + " }");
  }
  return key_of(mixed(place(point.x, options), place(point.y, options), options.bits));
}

CellRanges flat_ranges(const Box& box, const IndexOptions& options) {
  if (box.high.x < options.min || box.low.x > options.max || box.high.y < options.min || box.low.y > options.max) return {};
  const Places places{place(box.low.x, options), place(box.low.y, options), place(box.high.x, options),
                      place(box.high.y, options)};
  // Squares that lie only partly in the box are divided, the largest first, until there are enough.
  std::vector<Square> partly = {{0, 0, 0}}, done;
  while (!partly.empty() && partly.size() + done.size() < squares_max && partly.front().level < options.bits) {
    std::vector<Square> next;
    for (const Square& square : partly) {
      const uint32_t half = uint32_t{1} << (options.bits - square.level - 1);
      for (const uint32_t dx : {uint32_t{0}, half}) {
        for (const uint32_t dy : {uint32_t{0}, half}) {
          const Square quarter{square.x + dx, square.y + dy, square.level + 1};
          const Meets how = meets(quarter, places, options.bits);
          if (how == Meets::whole) done.push_back(quarter);
          if (how == Meets::partly) next.push_back(quarter);
        }
      }
    }
    partly = std::move(next);
  }
  done.insert(done.end(), partly.begin(), partly.end());
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const Square& square : done) {
    const uint64_t low = mixed(square.x, square.y, options.bits);
    const uint64_t rest = square.level == 0 ? UINT64_MAX : (uint64_t{1} << (64 - 2 * square.level)) - 1;
    spans.emplace_back(low, low | rest);
  }
  std::sort(spans.begin(), spans.end());
  CellRanges ranges;
  for (size_t i = 0; i < spans.size();) {
    uint64_t high = spans[i].second;
    size_t j = i + 1;
    while (j < spans.size() && spans[j].first - 1 <= high) high = std::max(high, spans[j++].second);
    ranges.push_back({key_of(spans[i].first), key_of(high)});
    i = j;
  }
  return ranges;
}

}  // namespace geo
