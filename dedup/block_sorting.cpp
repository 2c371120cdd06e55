#include "dedup/block_sorting.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/varint.h"
#include "dedup/suffix_array.h"

namespace dedup {
namespace {

// --- probabilities: 12 bits; stretched, that is ln(p / (1 - p)), in 1/256

constexpr int stretched_max = 2047;

constexpr int squash(int d) {
  // 4096 / (1 + e^-x) at x = -8, -7.5, ... 8
  constexpr int at[33] = {1,    2,    3,    6,    10,   16,   27,   45,   73,   120,  194,  310,  488,  747,  1101, 1546, 2047,
                          2549, 2994, 3348, 3607, 3785, 3901, 3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094};
  if (d > stretched_max) return 4095;
  if (d < -stretched_max) return 1;
  const int within = d & 127, place = (d >> 7) + 16;
  return (at[place] * (128 - within) + at[place + 1] * within + 64) >> 7;
}

constexpr std::array<int16_t, 4096> make_stretches() {
  std::array<int16_t, 4096> out{};
  int next = 0;
  for (int d = -stretched_max; d <= stretched_max; ++d) {
    for (const int p = squash(d); next <= p; ++next) out[static_cast<size_t>(next)] = static_cast<int16_t>(d);
  }
  for (; next < 4096; ++next) out[static_cast<size_t>(next)] = stretched_max;
  return out;
}
constexpr std::array<int16_t, 4096> stretches = make_stretches();

// How likely a one is, of 65536; learns a share of 1 / 2^rate of each error.
using Chance = uint16_t;
constexpr Chance even = 1 << 15;
int stretch(Chance p) { return stretches[p >> 4]; }
template <int rate>
void learn(Chance& p, int bit) {
  p = static_cast<Chance>(bit ? p + ((65535 - p) >> rate) : p - (p >> rate));
}

// --- the arithmetic coder: 32 bits, probabilities of 16

class Writer {
 public:
  int code(uint32_t p, int bit) {
    const uint32_t middle = low_ + static_cast<uint32_t>((static_cast<uint64_t>(high_ - low_) * p) >> 16);
    bit ? high_ = middle : low_ = middle + 1;
    while (((low_ ^ high_) >> 24) == 0) {
      out_.push_back(static_cast<char>(high_ >> 24));
      low_ <<= 8;
      high_ = high_ << 8 | 255;
    }
    return bit;
  }
  // A reader takes zeroes for what comes after the end.
  Bytes finish() {
    if (low_ > 0) {
      out_.push_back(static_cast<char>((low_ >> 24) + 1));  // low and high differ in their first byte
      if (low_ >> 24 == 255 || (((low_ >> 24) + 1) << 24) > high_) {
        out_.back() = static_cast<char>(low_ >> 24);
        for (int shift = 16; shift >= 0; shift -= 8) out_.push_back(static_cast<char>(low_ >> shift));
      }
    }
    return std::move(out_);
  }

 private:
  Bytes out_;
  uint32_t low_ = 0, high_ = UINT32_MAX;
};

class Reader {
 public:
  explicit Reader(BytesView in) : in_(in) {
    for (int i = 0; i < 4; ++i) shift();
  }
  int code(uint32_t p, int) {
    const uint32_t middle = low_ + static_cast<uint32_t>((static_cast<uint64_t>(high_ - low_) * p) >> 16);
    const int bit = at_ <= middle;
    bit ? high_ = middle : low_ = middle + 1;
    while (((low_ ^ high_) >> 24) == 0) {
      low_ <<= 8;
      high_ = high_ << 8 | 255;
      shift();
    }
    return bit;
  }
  bool sound() const { return in_.empty() && missed_ <= 4; }

 private:
  void shift() {
    at_ <<= 8;
    if (in_.empty()) {
      ++missed_;
    } else {
      at_ |= static_cast<uint8_t>(in_.front());
      in_.remove_prefix(1);
    }
  }
  BytesView in_;
  uint32_t low_ = 0, high_ = UINT32_MAX, at_ = 0;
  size_t missed_ = 0;
};

// --- what the sorted bytes look like

constexpr size_t inputs_max = 8;
using Inputs = std::array<int16_t, inputs_max>;

struct Mixer {
  Inputs weights;
  explicit Mixer(int16_t weight) { weights.fill(weight); }
  Mixer() : Mixer(0) {}

  // Stretched, within its bounds.
  int mix(const Inputs& inputs) const {
    int sum = 0;
    for (size_t i = 0; i < inputs_max; ++i) sum += inputs[i] * weights[i];
    return std::clamp(sum >> 14, -stretched_max, stretched_max);
  }
  void learn(const Inputs& inputs, int mixed, int bit, int rate) {
    const int step = ((bit << 12) - squash(mixed)) * rate;
    for (size_t i = 0; i < inputs_max; ++i) {
      weights[i] = static_cast<int16_t>(std::clamp(weights[i] + ((inputs[i] * step + 0x8000) >> 16), -32768, 32767));
    }
  }
};

constexpr int runs_known = 16;
constexpr int run_class(uint32_t run) {
  if (run < 8) return static_cast<int>(run);
  return run < 12 ? 8 : run < 20 ? 9 : run < 40 ? 10 : run < 80 ? 11 : run < 200 ? 12 : run < 500 ? 13 : run < 2000 ? 14 : 15;
}

// The same for writer and reader: code() gives the byte told or found.
template <class Coder>
class Model {
 public:
  explicit Model(Coder& coder) : coder_(coder), tables_(std::make_unique<Tables>()) {}

  int code(int byte) {
    const bool same = again(byte == last_);
    history_ = (history_ << 1 | (same ? 1u : 0u)) & 0xfff;
    if (same) {
      ++run_;
      return last_;
    }
    const int made = other(byte);
    lengths_ = (lengths_ << 4 | static_cast<uint32_t>(run_class(run_))) & 0xff;
    run_ = 0;
    before_ = last_;
    last_ = made;
    return made;
  }

 private:
  struct Tables {
    Chance again_by_byte[256][runs_known], again_by_bytes[256][256], again_by_history[4096], again_by_runs[256][runs_known];
    Chance quick[256], slow[256], after_quick[256][256], after_slow[256][256], after_two[256][256], in_runs[3][256];
    Chance refined[runs_known][33], refined_other[256][33];
    Mixer again[runs_known], other[256];
    Tables() {
      const auto fill = [](auto& table, auto with) { std::fill(reinterpret_cast<decltype(with)*>(&table), reinterpret_cast<decltype(with)*>(&table + 1), with); };
      for (auto* table : {&again_by_byte, &again_by_runs}) fill(*table, even);
      fill(again_by_bytes, even);
      fill(again_by_history, even);
      for (auto* table : {&quick, &slow}) fill(*table, even);
      for (auto* table : {&after_quick, &after_slow, &after_two}) fill(*table, even);
      fill(in_runs, even);
      for (auto& row : refined) straight(row);
      for (auto& row : refined_other) straight(row);
      std::fill(std::begin(again), std::end(again), Mixer(5000));
      std::fill(std::begin(other), std::end(other), Mixer(4500));
    }
    static void straight(Chance (&row)[33]) {
      for (int i = 0; i < 33; ++i) row[i] = static_cast<Chance>(squash(i * 128 - 2048) * 16);
    }
  };

  // `mixed` as it has turned out until now where it was about so much; half of each is believed.
  template <int rate>
  int final_bit(Chance (&row)[33], int mixed, int bit) {
    const int place = (mixed + 2048) >> 7, within = (mixed + 2048) & 127;
    const int refined = (row[place] * (128 - within) + row[place + 1] * within) >> 7;
    const int p = std::clamp((squash(mixed) * 16 + refined) >> 1, 24, 65535 - 24);
    bit = coder_.code(static_cast<uint32_t>(p), bit);
    learn<rate>(row[within < 64 ? place : place + 1], bit);
    return bit;
  }

  bool again(bool is) {
    Tables& t = *tables_;
    const int run = run_class(run_);
    Chance* const of[] = {&t.again_by_byte[last_][run], &t.again_by_bytes[last_][before_], &t.again_by_history[history_], &t.again_by_runs[lengths_][run]};
    Inputs inputs{};
    for (size_t i = 0; i < 4; ++i) inputs[i] = static_cast<int16_t>(stretch(*of[i]));
    inputs[4] = 256;
    Mixer& mixer = t.again[run];
    const int mixed = mixer.mix(inputs);
    const int bit = final_bit<6>(t.refined[run], mixed, is);
    mixer.learn(inputs, mixed, bit, 6);
    learn<4>(*of[0], bit);
    learn<4>(*of[1], bit);
    learn<6>(*of[2], bit);
    learn<4>(*of[3], bit);
    return bit;
  }

  int other(int byte) {
    Tables& t = *tables_;
    const int long_run = run_ > 8 ? 2 : run_ > 1 ? 1 : 0;
    int node = 1;
    for (int shift = 7; shift >= 0; --shift) {
      Chance* const of[] = {&t.quick[node],           &t.slow[node],           &t.after_quick[last_][node],
                            &t.after_slow[last_][node], &t.after_two[before_][node], &t.in_runs[long_run][node]};
      Inputs inputs{};
      for (size_t i = 0; i < 6; ++i) inputs[i] = static_cast<int16_t>(stretch(*of[i]));
      inputs[6] = 256;
      Mixer& mixer = t.other[node];
      const int mixed = mixer.mix(inputs);
      const int bit = final_bit<6>(t.refined_other[node], mixed, byte >> shift & 1);
      mixer.learn(inputs, mixed, bit, 6);
      learn<3>(*of[0], bit);
      learn<6>(*of[1], bit);
      learn<3>(*of[2], bit);
      learn<6>(*of[3], bit);
      learn<5>(*of[4], bit);
      learn<5>(*of[5], bit);
      node = node << 1 | bit;
    }
    return node & 255;
  }

  Coder& coder_;
  const std::unique_ptr<Tables> tables_;
  int last_ = 0, before_ = 0;
  uint32_t run_ = 0, history_ = 0, lengths_ = 0;
};

}  // namespace

Bytes sort_pack(BytesView text) {
  base::check(text.size() <= sorted_bytes_max, "a text to sort is not longer than allowed");
  Bytes out;
  base::append_varint(out, text.size());
  if (text.empty()) return out;
  const std::vector<int32_t> order = suffix_array(text);
  // The row of the whole text has nothing before it.
  base::append_varint(out, static_cast<uint64_t>(std::find(order.begin(), order.end(), 0) - order.begin()));
  Writer writer;
  Model<Writer> model(writer);
  model.code(static_cast<uint8_t>(text.back()));  // before the empty suffix
  for (const int32_t begin : order) {
    if (begin > 0) model.code(static_cast<uint8_t>(text[static_cast<size_t>(begin) - 1]));
  }
  return out + writer.finish();
}

std::optional<Bytes> sort_unpack(BytesView packed, size_t text_bytes_max) {
  const auto length = base::take_varint(packed);
  if (!length || *length > std::min(text_bytes_max, sorted_bytes_max)) return std::nullopt;
  if (*length == 0) return packed.empty() ? std::optional(Bytes()) : std::nullopt;
  const auto whole = base::take_varint(packed);
  if (!whole || *whole >= *length) return std::nullopt;
  const size_t rows = *length + 1, whole_row = *whole + 1;

  // A row of the suffixes in order: the byte before it, and which row that suffix has.
  std::vector<uint32_t> row(rows);
  std::array<uint32_t, 257> begins{};
  Reader reader(packed);
  Model<Reader> model(reader);
  for (size_t i = 0; i < rows; ++i) {
    if (i == whole_row) continue;
    const auto byte = static_cast<uint32_t>(model.code(0));
    row[i] = byte;
    ++begins[byte + 1];
  }
  if (!reader.sound()) return std::nullopt;
  begins[0] = 1;  // after the empty one
  for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  for (size_t i = 0; i < rows; ++i) {
    if (i != whole_row) row[i] |= begins[row[i]]++ << 8;
  }
  Bytes text(*length, '\0');
  size_t at = 0;
  for (size_t i = *length; i > 0; --i) {
    if (at == whole_row) return std::nullopt;
    text[i - 1] = static_cast<char>(row[at] & 255);
    at = row[at] >> 8;
  }
  return at == whole_row ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace dedup
