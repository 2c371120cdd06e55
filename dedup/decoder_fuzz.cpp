// The input is a store of up to 16 forms. Each content decodes to what its checksum says or is refused, whatever the forms are.
//
//   form   | kind and base, 1 | raw length, 1 | checksum, 4 | bytes, 1 | bytes … |
#include <map>

#include "base/fuzz_target.h"
#include "base/hash.h"
#include "dedup/decoder.h"
#include "dedup/delta.h"

namespace {

using namespace dedup;

constexpr uint8_t raw_flag = 0x80, checksum_is_right = 0x40, base_bits = 0x1f;

struct Forms : FormSource {
  std::map<ContentId, StoredForm> forms;
  base::Result<StoredForm> fetch_form(const ContentId& id) override {
    const auto form = forms.find(id);
    if (form == forms.end()) return base::Failure{base::ErrorCode::no_such_key, "none"};
    return form->second;
  }
};

Forms read_forms(BytesView input) {
  Forms forms;
  for (int64_t record = 0; record < 16 && input.size() >= 7; ++record) {
    StoredForm form;
    const auto kind = static_cast<uint8_t>(input[0]);
    form.raw = kind & raw_flag;
    form.base = {1, kind & base_bits, 0};
    form.raw_bytes = static_cast<uint8_t>(input[1]);
    form.checksum = base::load_le<uint32_t>(input.data() + 2);
    const size_t bytes = static_cast<uint8_t>(input[6]);
    input.remove_prefix(7);
    form.bytes = input.substr(0, bytes);
    input.remove_prefix(form.bytes.size());
    // Hardly any input has a right checksum; raw forms may choose to have it.
    if (kind & checksum_is_right)
      form.checksum = base::checksum32(form.bytes), form.raw_bytes = static_cast<uint32_t>(form.bytes.size());
    forms.forms[{1, record, 0}] = std::move(form);
  }
  return forms;
}

bool run(BytesView input) {
  Forms forms = read_forms(input);
  bool decoded = false;
  for (const auto& [id, form] : forms.forms) {
    const auto content = decode(id, forms, {.hops_max = 8, .chain_bytes_max = 1 << 16, .output_bytes_max = 1 << 10});
    base::check(!content.ok() || base::checksum32(content.value()) == form.checksum);
    decoded = decoded || content.ok();
  }
  return decoded;
}

void append_form(Bytes& out, uint8_t kind, BytesView content, BytesView bytes) {
  out.push_back(static_cast<char>(kind));
  out.push_back(static_cast<char>(content.size()));
  base::append_le(out, base::checksum32(content));
  out.push_back(static_cast<char>(bytes.size()));
  out.append(bytes);
}

std::vector<Bytes> seeds() {
  const Bytes oldest = "the first of three contents, of which each is much like the next one",
              middle = "the second of three contents, of which each is much like the next one",
              newest = "the third of three contents, of which each is much like the next one";
  Bytes chain;
  append_form(chain, 1, oldest, encode(middle, oldest).value());
  append_form(chain, 2, middle, encode(newest, middle).value());
  append_form(chain, raw_flag, newest, newest);
  Bytes alone;
  append_form(alone, raw_flag | checksum_is_right, "x", "x");
  return {chain, alone};
}

const base::FuzzTarget target("decoder", run, seeds);

}  // namespace
