// Lets a program sleep at random before and after it opens, locks, links, renames or removes a file below a folder, so that
// races between processes that take microseconds take milliseconds: for .ci/attack/processes.
//
//     cc -shared -fPIC -O1 -o delay.so delay.c -ldl
//     LD_PRELOAD=delay.so CDGEN_DELAY=/folder CDGEN_DELAY_SEED=7 program …
//
// With CDGEN_DELAY_AT=N and CDGEN_DELAY_UNTIL=PATH it stops at the Nth of these moments alone, makes PATH-reached, and waits
// until there is a file PATH: for .ci/attack/switch.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *folder, *until;
static unsigned state;
static long moment, at_moment;

__attribute__((constructor)) static void begin(void) {
  folder = getenv("CDGEN_DELAY");
  const char *seed = getenv("CDGEN_DELAY_SEED");
  state = seed ? atoi(seed) : getpid();
  until = getenv("CDGEN_DELAY_UNTIL");
  if (until && getenv("CDGEN_DELAY_AT")) at_moment = atol(getenv("CDGEN_DELAY_AT"));
}

// Most calls are not delayed, some for some milliseconds, a few for as long as another process takes for all of its work.
static void pause_at(const char *path) {
  if (!folder || !path || strncmp(path, folder, strlen(folder))) return;
  int code = errno;
  if (until) {
    if (__atomic_add_fetch(&moment, 1, __ATOMIC_SEQ_CST) == at_moment) {
      char reached[4096];
      struct stat status;
      snprintf(reached, sizeof reached, "%s-reached", until);
      syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, reached, O_WRONLY | O_CREAT, 0644));
      while (stat(until, &status)) usleep(1000);
    }
    errno = code;
    return;
  }
  unsigned drawn = rand_r(&state) % 1000;
  if (drawn < 20) usleep(rand_r(&state) % 400000);
  else if (drawn < 150) usleep(rand_r(&state) % 10000);
  errno = code;
}

static void pause_at_file(int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  pause_at(path);
}

static int opening(int at, const char *path, int flags, mode_t mode) {
  pause_at(path);
  int result = syscall(SYS_openat, at, path, flags, mode);
  pause_at(path);
  return result;
}
#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }
int open(const char *path, int flags, ...) { MODE return opening(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opening(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE return opening(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE return opening(at, path, flags, mode); }

#define DELAYED(name, parameters, at, ...) \
  int name parameters { \
    static typeof(name) *next; \
    if (!next) next = dlsym(RTLD_NEXT, #name); \
    at; \
    int result = next(__VA_ARGS__); \
    at; \
    return result; \
  }
DELAYED(rename, (const char *from, const char *to), pause_at(to), from, to)
DELAYED(link, (const char *from, const char *to), pause_at(to), from, to)
DELAYED(unlink, (const char *path), pause_at(path), path)
DELAYED(fsync, (int descriptor), pause_at_file(descriptor), descriptor)
DELAYED(fdatasync, (int descriptor), pause_at_file(descriptor), descriptor)
DELAYED(ftruncate64, (int descriptor, off64_t size), pause_at_file(descriptor), descriptor, size)

static int locking(int (*next)(int, int, ...), int descriptor, int command, void *argument) {
  int isLock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK;
  if (isLock) pause_at_file(descriptor);
  int result = next(descriptor, command, argument);
  if (isLock) pause_at_file(descriptor);
  return result;
}
int fcntl(int descriptor, int command, ...) {
  static int (*next)(int, int, ...);
  if (!next) next = dlsym(RTLD_NEXT, "fcntl");
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  return locking(next, descriptor, command, argument);
}
int fcntl64(int descriptor, int command, ...) {
  static int (*next)(int, int, ...);
  if (!next) next = dlsym(RTLD_NEXT, "fcntl64");
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  return locking(next, descriptor, command, argument);
}
