// Opens the console in the user's browser, if there is one.
//
// The address has the token in it, and every user of the machine can read the arguments of programs. So the browser gets the path
// of a file that only this user can read, which leads to the address.
#pragma once

#include <string>

namespace console {

class Browser {
 public:
  // Doesn't wait for the browser, and doesn't fail where there is none: the address is printed, too.
  explicit Browser(const std::string& address);
  // Removes the file.
  ~Browser();
  Browser(const Browser&) = delete;

 private:
  std::string folder_, file_;
};

}  // namespace console
