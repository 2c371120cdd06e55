/* A library that a test puts before the C library (LD_PRELOAD): a disk seems to have less free space than it has.
 *
 *   DISK_FIGURES_UNDER   only paths that begin with this one count
 *   DISK_FIGURES_FREE    a file with a number: so many bytes seem to be free at most. Without the file nothing changes
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

int statvfs(const char* path, struct statvfs* out) {
  static int (*real)(const char*, struct statvfs*);
  if (!real) real = (int (*)(const char*, struct statvfs*))dlsym(RTLD_NEXT, "statvfs");
  const int result = real(path, out);
  const char* const under = getenv("DISK_FIGURES_UNDER");
  const char* const free = getenv("DISK_FIGURES_FREE");
  if (result != 0 || !under || !free || strncmp(path, under, strlen(under)) != 0) return result;
  FILE* const file = fopen(free, "r");
  unsigned long long bytes = 0;
  if (!file) return result;
  if (fscanf(file, "%llu", &bytes) == 1 && bytes / out->f_frsize < out->f_bavail) out->f_bavail = bytes / out->f_frsize;
  fclose(file);
  return result;
}
