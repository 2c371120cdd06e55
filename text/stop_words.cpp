#include "text/stop_words.h"

#include <map>
#include <unordered_set>

namespace text {
namespace {

using Lists = std::map<std::string_view, std::unordered_set<std::string_view>>;

const Lists& lists() {
  static const Lists all = [] {
    Lists lists;
    std::unordered_set<std::string_view>* list = nullptr;
    std::string_view rest = stop_word_lists;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      if (line.empty()) {
        list = nullptr;
      } else if (list) {
        list->insert(line);
      } else {
        list = &lists[line];
      }
    }
    return lists;
  }();
  return all;
}

}  // namespace

bool is_stop_word(const Language& language, std::string_view word) {
  const auto list = lists().find(language.name);
  return list != lists().end() && list->second.contains(word);
}

}  // namespace text
