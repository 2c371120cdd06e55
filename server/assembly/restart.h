// A process that has shut down in order restarts in place: it becomes a fresh image of itself, with the same binary, arguments
// and process id. The environment (PALIMPSEST_RESTARTS) hands on the times of restarts, so that a member that restarts again and
// again ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace server {

inline constexpr int restarts_max = 5;  // within
inline constexpr int64_t restarts_window_s = 60;

// The times of the latest restarts, in seconds since the machine started, oldest first; as text "1200,1207".
class RestartHistory {
 public:
  // A text of another form is an empty history.
  explicit RestartHistory(std::string_view text);
  // Returns false, and notes nothing, if there were too many restarts within the window before `now_s`.
  bool note(int64_t now_s);
  std::string text() const;

 private:
  std::vector<int64_t> times_;
};

// Returns whether this image came after another. Also gives the process its name back.
bool is_restarted();

// Becomes a fresh image; no part of the server may be left. Returns only if it couldn't or mustn't, with the reason. An empty
// reason means that somebody asked the process to end meanwhile.
std::string restart_in_place(char** argv);

}  // namespace server
