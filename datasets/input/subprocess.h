// A Subprocess is a program that is fed and read through pipes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "datasets/input/stream.h"

namespace datasets {

// Reading the stream reads the program's output. Throws StreamError when the
// program cannot be started. The destructor closes both pipes and waits.
class Subprocess : public Stream {
 public:
  enum class Input { none, pipe };
  Subprocess(const std::vector<std::string>& command, Input input);
  ~Subprocess() override;
  Subprocess(const Subprocess&) = delete;

  size_t read(char* to, size_t bytes_max) override;
  void write(base::BytesView bytes);
  // Closes the program's input: it sees the end. Nothing may be written afterwards.
  void end_input();

  // Waits for the end and returns the exit code, which is 128 + n after signal n.
  int wait();

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

}  // namespace datasets
