/* A library that a test puts before the C library (LD_PRELOAD): messages for the machine's log go to a file instead.
 *
 *   SYSTEM_LOG   the file; each message is a line: "<priority>text"
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* <syslog.h> declares these; it isn't included because it may define them too. */
void vsyslog(int priority, const char* format, va_list arguments);
void syslog(int priority, const char* format, ...);
void __syslog_chk(int priority, int flag, const char* format, ...);

void vsyslog(int priority, const char* format, va_list arguments) {
  const char* path = getenv("SYSTEM_LOG");
  char* text = NULL;
  if (!path || vasprintf(&text, format, arguments) < 0) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file >= 0) {
    dprintf(file, "<%d>%s\n", priority, text);
    close(file);
  }
  free(text);
}

void syslog(int priority, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsyslog(priority, format, arguments);
  va_end(arguments);
}

/* A compiler that checks formats calls this in place of syslog. */
void __syslog_chk(int priority, int flag, const char* format, ...) {
  va_list arguments;
  (void)flag;
  va_start(arguments, format);
  vsyslog(priority, format, arguments);
  va_end(arguments);
}
