#include "server/access/restriction.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "bson/builder.h"

namespace server::access {
namespace {

using base::ErrorCode;
using base::OperationError;

constexpr int unsupported_format = 12;

// Returns the length of the address in bytes; 0: it is none. An IPv4 address may be mapped into IPv6.
int parse_address(std::string_view text, unsigned char* out) {
  const std::string copy(text);
  if (copy.find('\0') != copy.npos) return 0;  // what lies behind it would not be read
  if (inet_pton(AF_INET, copy.c_str(), out) == 1) return 4;
  if (inet_pton(AF_INET6, copy.c_str(), out) != 1) return 0;
  static constexpr unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!std::equal(mapped, mapped + 12, out)) return 16;
  std::copy(out + 12, out + 16, out);
  return 4;
}

std::vector<AddressRange> parse_ranges(const bson::Element& list) {
  std::vector<AddressRange> out;
  if (!list.is_array())
    throw OperationError(ErrorCode::type_mismatch, "'" + std::string(list.name) + "' must be an array of strings");
  for (const auto& range : list.as_document()) {
    if (!range.is_string())
      throw OperationError(ErrorCode::type_mismatch, "'" + std::string(list.name) + "' must be an array of strings");
    out.push_back(AddressRange::parse(range.as_string()));
  }
  return out;
}

bool any_covers(const std::vector<AddressRange>& ranges, std::string_view address) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const AddressRange& range) { return range.covers(address); });
}

void append_ranges(bson::Builder& out, std::string_view name, const std::vector<AddressRange>& ranges) {
  auto list = out.array(name);
  for (const AddressRange& range : ranges) list.append(range.text);
}

}  // namespace

bool AddressRange::covers(std::string_view address) const {
  unsigned char other[16] = {};
  if (parse_address(address, other) != length || length == 0) return false;
  for (int bit = 0; bit < bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if ((bytes[bit / 8] ^ other[bit / 8]) & mask) return false;
  }
  return true;
}

AddressRange AddressRange::parse(std::string_view text) {
  AddressRange range;
  range.text = text;
  const size_t slash = text.find('/');
  range.length = parse_address(text.substr(0, slash), range.bytes);
  range.bits = range.length * 8;
  bool sound = range.length != 0;
  if (sound && slash != text.npos) {
    const std::string_view bits = text.substr(slash + 1);
    int count = -1;
    const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), count);
    sound = error == std::errc() && end == bits.data() + bits.size() && count >= 0 && count <= range.bits;
    range.bits = count;
  }
  if (!sound) throw OperationError(unsupported_format, "Invalid IP address in CIDR string: " + std::string(text));
  return range;
}

Restrictions Restrictions::parse(bson::DocumentView list) {
  Restrictions out;
  for (const auto& each : list) {
    if (!each.is_object())
      throw OperationError(ErrorCode::type_mismatch,
                           "'authenticationRestrictions' array sub-documents must be address restriction objects");
    Entry entry;
    for (const auto& field : each.as_document()) {
      if (field.name == "clientSource") {
        entry.client = parse_ranges(field);
        entry.has_client = true;
      } else if (field.name == "serverAddress") {
        entry.server = parse_ranges(field);
        entry.has_server = true;
      } else {
        throw OperationError(ErrorCode::failed_to_parse,
                             "BSON field 'authenticationRestrictions." + std::string(field.name) + "' is an unknown field.");
      }
    }
    if (!entry.has_client && !entry.has_server)
      throw OperationError(162, "At least one of 'clientSource' and/or 'serverAddress' must be set");
    out.entries_.push_back(std::move(entry));
  }
  return out;
}

bool Restrictions::allow(std::string_view client, std::string_view server) const {
  return entries_.empty() || std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
           return (!entry.has_client || any_covers(entry.client, client)) &&
                  (!entry.has_server || any_covers(entry.server, server));
         });
}

bson::Document Restrictions::array() const {
  bson::ArrayBuilder out;
  for (const Entry& entry : entries_) {
    bson::Builder one = out.object();
    if (entry.has_client) append_ranges(one, "clientSource", entry.client);
    if (entry.has_server) append_ranges(one, "serverAddress", entry.server);
  }
  return bson::Document(out.done_value().view().as_document());
}

}  // namespace server::access
