/* A library that a test puts before the C library (LD_PRELOAD): it kills the process at one call that changes files.
 *
 * kill -9 leaves what the process gave to the kernel, and nothing else. So what a kill can leave behind changes at these calls
 * alone, and a test that tries each of them in turn has tried every moment.
 *
 *   KILL_AT_CALL_UNDER   only files below this directory count
 *   KILL_AT_CALL         a file of the size of struct control, which the test and this library share
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct control {
  atomic_long left;  /* the process is killed at the call that takes this from 1 to 0; 0: at none */
  atomic_long half;  /* 1: a write that it is killed at is done by half; the kernel may stop there too */
  atomic_long calls; /* how many there were */
  char call[232];    /* which it was */
};

static struct control* control;
static char under[4096];
static size_t under_length;

__attribute__((constructor)) static void read_environment(void) {
  const char* directory = getenv("KILL_AT_CALL_UNDER");
  const char* shared = getenv("KILL_AT_CALL");
  if (!directory || !shared || !realpath(directory, under)) return;
  const int file = open(shared, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return;
  control = mapped;
  under_length = strlen(under);
}

static void end(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* Returns whether the process is to be killed at this call. */
static int strikes(const char* call, const char* path) {
  if (!control || strncmp(path, under, under_length) != 0) return 0;
  atomic_fetch_add(&control->calls, 1);
  if (atomic_load(&control->left) <= 0 || atomic_fetch_sub(&control->left, 1) != 1) return 0;
  snprintf(control->call, sizeof control->call, "%s %s", call, path + under_length);
  return 1;
}

static int strikes_file(const char* call, int file) {
  char link[64], path[4096];
  if (!control) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strikes(call, path);
}

#define REAL(result, name, parameters) \
  static result(*real) parameters;     \
  if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);

#define WRITES(name, parameters, arguments, halved)        \
  ssize_t name parameters {                                \
    REAL(ssize_t, name, parameters)                        \
    if (strikes_file(#name, file)) {                       \
      if (atomic_load(&control->half)) (void)!real halved; \
      end();                                               \
    }                                                      \
    return real arguments;                                 \
  }

#define CHANGES(name, parameters, arguments, struck) \
  int name parameters {                              \
    REAL(int, name, parameters)                      \
    if (struck) end();                               \
    return real arguments;                           \
  }

WRITES(write, (int file, const void* bytes, size_t length), (file, bytes, length), (file, bytes, length / 2))
WRITES(pwrite, (int file, const void* bytes, size_t length, off_t at), (file, bytes, length, at), (file, bytes, length / 2, at))
WRITES(pwrite64, (int file, const void* bytes, size_t length, off64_t at), (file, bytes, length, at),
       (file, bytes, length / 2, at))
WRITES(writev, (int file, const struct iovec* parts, int count), (file, parts, count), (file, parts, count / 2))
WRITES(pwritev, (int file, const struct iovec* parts, int count, off_t at), (file, parts, count, at),
       (file, parts, count / 2, at))
CHANGES(ftruncate, (int file, off_t length), (file, length), strikes_file("ftruncate", file))
CHANGES(ftruncate64, (int file, off64_t length), (file, length), strikes_file("ftruncate64", file))
CHANGES(fallocate, (int file, int mode, off_t from, off_t length), (file, mode, from, length), strikes_file("fallocate", file))
CHANGES(fallocate64, (int file, int mode, off64_t from, off64_t length), (file, mode, from, length),
        strikes_file("fallocate64", file))
CHANGES(fsync, (int file), (file), strikes_file("fsync", file))
CHANGES(fdatasync, (int file), (file), strikes_file("fdatasync", file))
CHANGES(rename, (const char* from, const char* to), (from, to), strikes("rename", from))
CHANGES(unlink, (const char* path), (path), strikes("unlink", path))

#define OPENS(name)                            \
  int name(const char* path, int flags, ...) { \
    REAL(int, name, (const char*, int, ...))   \
    mode_t mode = 0;                           \
    if (flags & (O_CREAT | O_TRUNC)) {         \
      va_list more;                            \
      va_start(more, flags);                   \
      mode = va_arg(more, mode_t);             \
      va_end(more);                            \
      if (strikes(#name, path)) end();         \
    }                                          \
    return real(path, flags, mode);            \
  }
OPENS(open)
OPENS(open64)
