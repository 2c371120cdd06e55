// Starting anew in place: a process that has ended in order becomes a fresh image of itself, with the same binary, arguments and
// process id. How often is handed on in the environment (PALIMPSEST_RESTARTS), so that a member that wants to again and again
// ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace server {

inline constexpr int restarts_max = 5;  // within
inline constexpr int64_t restarts_window_s = 60;

// Times of the latest restarts, in seconds since the machine started, oldest first; in text "1200,1207".
class RestartHistory {
 public:
  // What isn't such a text is an empty history.
  explicit RestartHistory(std::string_view text);
  // False: too many within the window before `now_s`; nothing is noted then.
  bool note(int64_t now_s);
  std::string text() const;

 private:
  std::vector<int64_t> times_;
};

// Is this image one that came after another? Also gives the process its name back.
bool is_restarted();

// Becomes a fresh image; nothing of the server may be left. Returns only where it couldn't or mustn't: why. An empty text:
// somebody has asked the process to end meanwhile.
std::string restart_in_place(char** argv);

}  // namespace server
