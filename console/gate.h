// The gate decides which requests of the loopback interface the console answers: those of the browser of whoever saw its address.
//
//   /login?token=T   T is in the printed address; the answer sets a cookie that scripts can't read and other sites don't send
//   everything else  needs that cookie; a POST also needs a header that only the console's own page can know
//   any request      must name the console itself as its host, so that a foreign name that resolves to 127.0.0.1 gets nothing
//
// Secrets are made anew for each process and compared in constant time. All functions may be called by several threads.
#pragma once

#include <string>
#include <string_view>

namespace console {

class Gate {
 public:
  // Makes new secrets. `port` is where the console listens.
  explicit Gate(int port);

  // Each has 64 hexadecimal digits.
  const std::string& token() const { return token_; }
  const std::string& csrf() const { return csrf_; }

  // Takes the Host header as it came; it is empty where there was none.
  bool host_is_ours(std::string_view host) const;
  // Takes the Origin header as it came. A request without one isn't from another page.
  bool origin_is_ours(std::string_view origin) const;
  bool token_is_right(std::string_view token) const;
  // Takes the whole Cookie header.
  bool cookie_is_right(std::string_view cookies) const;
  bool csrf_is_right(std::string_view header) const;

  // Returns the value of the Set-Cookie header that lets a browser in.
  std::string set_cookie() const;

 private:
  int port_;
  std::string cookie_name_;  // has the port in it, since browsers send a host's cookies to all of its ports
  std::string token_, session_, csrf_;
};

}  // namespace console
