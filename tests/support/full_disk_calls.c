/* A library that a test puts before the C library (LD_PRELOAD): calls that take room on the disk fail as if it were full.
 *
 *   FULL_DISK_UNDER   only files below this directory count
 *   FULL_DISK_FIRST   the first call that fails, counted from 1
 *   FULL_DISK_COUNT   how many fail from there on
 *   FULL_DISK_LOG     a file that gets a line for each call that fails
 *   FULL_DISK_WHILE   only while this file exists calls are counted, and fail
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;
static char under[4096];
static size_t under_length;
static const char* while_there;
static long first, count;
static int log_file = -1;

__attribute__((constructor)) static void read_environment(void) {
  const char* path = getenv("FULL_DISK_UNDER");
  const char* log = getenv("FULL_DISK_LOG");
  while_there = getenv("FULL_DISK_WHILE");
  first = atol(getenv("FULL_DISK_FIRST") ? getenv("FULL_DISK_FIRST") : "0");
  count = atol(getenv("FULL_DISK_COUNT") ? getenv("FULL_DISK_COUNT") : "0");
  if (!path || !realpath(path, under)) return;
  under_length = strlen(under);
  if (log) log_file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int fails(const char* call, int file) {
  char link[64], path[4096];
  if (under_length == 0 || (while_there && access(while_there, F_OK) != 0)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < (ssize_t)under_length || strncmp(path, under, under_length) != 0) return 0;
  path[length] = 0;
  const long number = atomic_fetch_add(&calls, 1) + 1;
  if (number < first || number >= first + count) return 0;
  if (log_file >= 0) dprintf(log_file, "%ld %s %s\n", number, call, path + under_length);
  errno = ENOSPC;
  return 1;
}

#define STANDS_IN_FOR(result, name, parameters, arguments, file)                          \
  result name parameters {                                                                \
    static result(*real) parameters;                                                      \
    if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);                      \
    return fails(#name, file) ? (result)-1 : real arguments;                              \
  }

STANDS_IN_FOR(ssize_t, write, (int file, const void* bytes, size_t length), (file, bytes, length), file)
STANDS_IN_FOR(ssize_t, pwrite, (int file, const void* bytes, size_t length, off_t at), (file, bytes, length, at), file)
STANDS_IN_FOR(ssize_t, pwrite64, (int file, const void* bytes, size_t length, off64_t at), (file, bytes, length, at), file)
STANDS_IN_FOR(int, ftruncate, (int file, off_t length), (file, length), file)
STANDS_IN_FOR(int, ftruncate64, (int file, off64_t length), (file, length), file)
STANDS_IN_FOR(int, fallocate, (int file, int mode, off_t from, off_t length), (file, mode, from, length), file)
STANDS_IN_FOR(int, fallocate64, (int file, int mode, off64_t from, off64_t length), (file, mode, from, length), file)
STANDS_IN_FOR(int, fsync, (int file), (file), file)
STANDS_IN_FOR(int, fdatasync, (int file), (file), file)
