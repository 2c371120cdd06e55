// An authentication restriction says from which addresses a user may log in, and at which of the server's.
//
//   [{clientSource: ["10.0.0.0/8"], serverAddress: ["127.0.0.1"]}, …]     one of the entries must hold, with all of its parts
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bson/document.h"

namespace server::access {

// A range of addresses, as CIDR notation writes it; one address is a range of its own.
struct AddressRange {
  std::string text;
  unsigned char bytes[16] = {};  // an IPv4 address takes four
  int length = 0;                // 4 or 16
  int bits = 0;
  bool covers(std::string_view address) const;  // no address at all: false
  // Throws UnsupportedFormat (12).
  static AddressRange parse(std::string_view text);
};

class Restrictions {
 public:
  // Throws FailedToParse (9), TypeMismatch (14), UnsupportedFormat (12). `list`: an array's elements.
  static Restrictions parse(bson::DocumentView list);
  // `client` and `server` are addresses without ports. Nothing is restricted without entries.
  bool allow(std::string_view client, std::string_view server) const;
  bool empty() const { return entries_.empty(); }
  bson::Document array() const;  // an array's elements

 private:
  struct Entry {
    std::vector<AddressRange> client, server;
    bool has_client = false, has_server = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace server::access
