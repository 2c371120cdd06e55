// A command line, and the YAML file that it may name: refused with a message, or options that are valid as a document.
//
//   part: the arguments, a line each | rest: the file
#include "server/core/options.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/fuzz_target.h"
#include "bson/validate.h"

namespace {

using namespace server;

std::vector<std::string> lines(base::BytesView text) {
  std::vector<std::string> all = {"palimpsestd"};
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    all.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

// A file in memory, as /proc names it.
class MemoryFile {
 public:
  explicit MemoryFile(base::BytesView content) : fd_(memfd_create("options", MFD_CLOEXEC)) {
    base::check(fd_ >= 0 && write(fd_, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

bool run(base::BytesView input) {
  base::FuzzReader reader(input);
  auto arguments = lines(reader.part());
  // The file is this one: no other file of the machine is read.
  for (const auto& argument : arguments) {
    if (argument.find("config") != argument.npos || argument.starts_with("-f")) return false;
  }
  const MemoryFile file(reader.rest());
  if (!reader.rest().empty()) arguments.insert(arguments.end(), {"--config", file.path()});
  try {
    const Options options = parse_options(arguments);
    base::check(bson::validate(options.parsed.bytes()).ok());
    return true;
  } catch (const OptionsError&) {
    return false;
  }
}

std::vector<base::Bytes> seeds() {
  const auto seed = [](const char* arguments, const char* file) { return base::FuzzWriter().part(arguments).rest(file); };
  return {seed("--port\n27018\n--bind_ip=localhost,127.0.0.1\n--dbpath\n/data\n-vv\n--quiet", ""),
          seed("--replSet\nrs",
               "net:\n  port: 27019\n  bindIp: [localhost]\nstorage:\n  dbPath: \"/data\"\nsystemLog: {verbosity: 1}\n"),
          seed("--setParameter\na=1\n--help", "setParameter:\n  b: 2\nreplication:\n  replSetName: rs\n")};
}

const base::FuzzTarget target("options", run, seeds);

}  // namespace
