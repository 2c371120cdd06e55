// Input: a store of up to 16 forms; each content must decode to what its checksum
// says or be refused, whatever the forms are.
#include <cstdlib>
#include <map>

#include "base/hash.h"
#include "dedup/decoder.h"

namespace {

struct Forms : dedup::FormSource {
  std::map<dedup::ContentId, dedup::StoredForm> forms;
  base::Result<dedup::StoredForm> fetch_form(const dedup::ContentId& id) override {
    const auto form = forms.find(id);
    if (form == forms.end()) return base::Failure{base::ErrorCode::no_such_key, "none"};
    return form->second;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dedup;
  BytesView input(reinterpret_cast<const char*>(data), size);
  Forms forms;
  // Each form: kind and base u8, raw length u8, checksum u32, bytes u8 and the bytes.
  for (int64_t record = 0; record < 16 && input.size() >= 7; ++record) {
    StoredForm form;
    const auto kind = static_cast<uint8_t>(input[0]);
    form.raw = kind & 0x80;
    form.base = {1, kind & 0x1f, 0};
    form.raw_bytes = static_cast<uint8_t>(input[1]);
    form.checksum = base::load_le<uint32_t>(input.data() + 2);
    const size_t bytes = static_cast<uint8_t>(input[6]);
    input.remove_prefix(7);
    form.bytes = input.substr(0, bytes);
    input.remove_prefix(form.bytes.size());
    // Hardly any input has a right checksum; let raw forms be right by choice.
    if (kind & 0x40) form.checksum = base::checksum32(form.bytes), form.raw_bytes = static_cast<uint32_t>(form.bytes.size());
    forms.forms[{1, record, 0}] = std::move(form);
  }
  for (const auto& [id, form] : forms.forms) {
    const auto content = decode(id, forms, {.hops_max = 8, .chain_bytes_max = 1 << 16, .output_bytes_max = 1 << 10});
    if (content.ok() && base::checksum32(content.value()) != form.checksum) std::abort();
  }
  return 0;
}
