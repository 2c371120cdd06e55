// A fuzz target tries a parser with any bytes at all.
//
//   namespace {
//   bool run(base::BytesView input) { … }             // whether it was accepted; base::check what must hold of it
//   std::vector<base::Bytes> seeds() { return {…}; }  // inputs that the real encoders made: each is accepted
//   const base::FuzzTarget target("record_format", run, seeds);
//   }
//
// Targets stand in X_fuzz.cpp beside what they try. tests/fuzz/README.md says how they are run, and where their inputs are.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace base {

class FuzzTarget {
 public:
  using Run = bool (*)(BytesView input);
  using Seeds = std::vector<Bytes> (*)();

  // Registers itself. `name` is that of the corpus folder, too. Targets are objects of namespace scope.
  FuzzTarget(std::string name, Run run, Seeds seeds);
  FuzzTarget(const FuzzTarget&) = delete;

  const std::string& name() const { return name_; }
  std::vector<Bytes> seeds() const { return seeds_(); }
  // Runs on a copy that ends where its memory does, so that AddressSanitizer sees each byte read beyond it.
  bool run(BytesView input) const;

  // Returns all of this program, ordered by name.
  static std::vector<const FuzzTarget*> all();
  static const FuzzTarget* find(std::string_view name);  // nullptr: there is none

 private:
  std::string name_;
  Run run_;
  Seeds seeds_;
};

// Tells whether `work` refused its input, which it does by an OperationError alone: any other exception ends the process.
template <class Work>
bool refuses(Work&& work) {
  try {
    work();
    return false;
  } catch (const OperationError&) {
    return true;
  }
}

// An input of several parts. Each input has them all: those that are missing are zero or empty.
//
//   number   8 bytes, little-endian
//   part     length, 2 bytes, and so many bytes
//   rest     what is left
class FuzzReader {
 public:
  explicit FuzzReader(BytesView input) : left_(input) {}
  uint64_t number();
  BytesView part();
  BytesView rest() const { return left_; }

 private:
  BytesView left_;
};

class FuzzWriter {
 public:
  FuzzWriter& number(uint64_t value);
  FuzzWriter& part(BytesView bytes);  // fewer than 2^16
  Bytes rest(BytesView bytes = {}) const { return out_ + Bytes(bytes); }

 private:
  Bytes out_;
};

}  // namespace base
