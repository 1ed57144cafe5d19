// Records what a program writes below a folder, in the order in which the system does it: for .ci/attack/power-loss.
//
//     cc -shared -fPIC -O1 -o record.so record.c -ldl -lpthread
//     LD_PRELOAD=record.so CDGEN_RECORD=log CDGEN_RECORD_UNDER=/folder program …
//
// A record is a head and two texts: see `struct head`. Data written through shared memory is not recorded; only SQLite's
// -shm is written so, which does not have to survive. What is written to the standard output is recorded as a mark.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
  uint32_t magic, kind;
  int64_t file, place, size;
  uint32_t first, second;
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int out = -1;
static char under[PATH_MAX];
static size_t under_length;
static __thread int depth;

#define ENTER int saved_depth = depth++; pthread_mutex_lock(&lock)
#define LEAVE do { int code = errno; pthread_mutex_unlock(&lock); depth = saved_depth; errno = code; } while (0)
#define NEXT(name) static typeof(name) *next; if (!next) next = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
  const char *log = getenv("CDGEN_RECORD"), *folder = getenv("CDGEN_RECORD_UNDER");
  if (!log || !folder) return;
  int opened = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (opened < 0) return;
  out = fcntl(opened, F_DUPFD_CLOEXEC, 900);
  syscall(SYS_close, opened);
  if (!realpath(folder, under)) strcpy(under, folder);
  under_length = strlen(under);
}

static void record(char kind, int64_t file, int64_t place, int64_t size, const void *first, size_t first_length,
                   const void *second, size_t second_length) {
  struct head head = {0x43444c47, kind, file, place, size, first_length, second_length};
  struct iovec parts[3] = {{&head, sizeof head}, {(void *)first, first_length}, {(void *)second, second_length}};
  if (out >= 0 && syscall(SYS_writev, out, parts, 3) < 0) abort();
}

// The path with its folder resolved, if it is below the folder that is watched.
static int resolve(int folder, const char *path, char *result) {
  char whole[2 * PATH_MAX], parent[PATH_MAX];
  if (out < 0 || !path) return 0;
  if (path[0] == '/') {
    snprintf(whole, sizeof whole, "%s", path);
  } else {
    char base[PATH_MAX];
    if (folder == AT_FDCWD) {
      if (!getcwd(base, sizeof base)) return 0;
    } else {
      char link[64];
      snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
      ssize_t length = readlink(link, base, sizeof base - 1);
      if (length < 0) return 0;
      base[length] = 0;
    }
    snprintf(whole, sizeof whole, "%s/%s", base, path);
  }
  size_t length = strlen(whole);
  while (length > 1 && whole[length - 1] == '/') whole[--length] = 0;
  char *slash = strrchr(whole, '/');
  if (!slash) return 0;
  *slash = 0;
  if (!realpath(whole[0] ? whole : "/", parent)) return 0;
  if (strlen(parent) + strlen(slash + 1) + 2 > PATH_MAX) return 0;
  strcpy(result, parent);
  strcat(strcat(result, "/"), slash + 1);
  return strncmp(result, under, under_length) == 0 && (result[under_length] == '/' || !result[under_length]);
}

// The number of the file of a descriptor, if it is below the folder; 0 otherwise. A folder has its path too.
static int64_t file_of(int descriptor, char *path, int *is_folder) {
  char link[64], target[PATH_MAX];
  struct stat status;
  if (out < 0 || descriptor == out) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length <= 0) return 0;
  target[length] = 0;
  if (strncmp(target, under, under_length)) return 0;
  if (fstat(descriptor, &status)) return 0;
  if (is_folder) *is_folder = S_ISDIR(status.st_mode);
  if (path) strcpy(path, target);
  return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ? (int64_t)status.st_ino : 0;
}

// MARK: Opening

static int opening(int folder, const char *path, int flags, mode_t mode) {
  char resolved[PATH_MAX];
  struct stat before;
  if (depth || !(flags & (O_CREAT | O_TRUNC)) || !resolve(folder, path, resolved))
    return syscall(SYS_openat, folder, path, flags, mode);
  ENTER;
  int is_there = !stat(resolved, &before);
  int result = syscall(SYS_openat, folder, path, flags, mode);
  struct stat now;
  if (result >= 0 && !fstat(result, &now) && S_ISREG(now.st_mode)) {
    if (!is_there) record('C', now.st_ino, 0, 0, resolved, strlen(resolved), "", 0);
    else if (flags & O_TRUNC && before.st_size) record('T', now.st_ino, 0, 0, "", 0, "", 0);
  }
  LEAVE;
  return result;
}

#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }
int open(const char *path, int flags, ...) { MODE return opening(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opening(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return opening(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return opening(folder, path, flags, mode); }
int __open_2(const char *path, int flags) { return opening(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opening(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags) { return opening(folder, path, flags, 0); }
int __openat64_2(int folder, const char *path, int flags) { return opening(folder, path, flags, 0); }
int creat(const char *path, mode_t mode) { return opening(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return opening(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static int made(int descriptor) {
  char path[PATH_MAX];
  int64_t file = descriptor >= 0 ? file_of(descriptor, path, 0) : 0;
  if (file) record('C', file, 0, 0, path, strlen(path), "", 0);
  return descriptor;
}
#define MAKER(name, parameters, ...) \
  int name parameters { NEXT(name); ENTER; int result = made(next(__VA_ARGS__)); LEAVE; return result; }
MAKER(mkstemp, (char *path), path)
MAKER(mkstemp64, (char *path), path)
MAKER(mkostemp, (char *path, int flags), path, flags)
MAKER(mkostemp64, (char *path, int flags), path, flags)
MAKER(mkstemps, (char *path, int length), path, length)
MAKER(mkostemps, (char *path, int length, int flags), path, length, flags)
MAKER(mkostemps64, (char *path, int length, int flags), path, length, flags)

// MARK: Writing

static ssize_t writing(int descriptor, const struct iovec *parts, int count, off_t place) {
  int64_t file = depth ? 0 : file_of(descriptor, 0, 0);
  int is_mark = !depth && descriptor == 1 && out >= 0;
  if (!file && !is_mark)
    return place < 0 ? syscall(SYS_writev, descriptor, parts, count)
                     : syscall(SYS_pwritev, descriptor, parts, count, (long)place, 0L);
  ENTER;
  int64_t at = place;
  if (file && place < 0) {
    struct stat status;
    int flags = fcntl(descriptor, F_GETFL);
    at = flags & O_APPEND && !fstat(descriptor, &status) ? status.st_size : lseek(descriptor, 0, SEEK_CUR);
  }
  ssize_t result = place < 0 ? syscall(SYS_writev, descriptor, parts, count)
                             : syscall(SYS_pwritev, descriptor, parts, count, (long)place, 0L);
  ssize_t left = result;
  for (int number = 0; number < count && left > 0; number++) {
    size_t length = parts[number].iov_len < (size_t)left ? parts[number].iov_len : (size_t)left;
    record(file ? 'W' : 'M', file, at, length, parts[number].iov_base, length, "", 0);
    at += length;
    left -= length;
  }
  LEAVE;
  return result;
}

ssize_t write(int descriptor, const void *data, size_t size) {
  struct iovec part = {(void *)data, size};
  return writing(descriptor, &part, 1, -1);
}
ssize_t writev(int descriptor, const struct iovec *parts, int count) { return writing(descriptor, parts, count, -1); }
ssize_t pwrite(int descriptor, const void *data, size_t size, off_t place) {
  struct iovec part = {(void *)data, size};
  return writing(descriptor, &part, 1, place);
}
ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t place) { return pwrite(descriptor, data, size, place); }
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t place) { return writing(descriptor, parts, count, place); }
ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t place) { return writing(descriptor, parts, count, place); }

// What the system copies by itself is read back.
static void copied(int descriptor, int64_t place, ssize_t size) {
  int64_t file = file_of(descriptor, 0, 0);
  if (!file || size <= 0) return;
  char link[64], *data = malloc(size);
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  int reader = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
  if (reader < 0 || pread(reader, data, size, place) != size) abort();
  record('W', file, place, size, data, size, "", 0);
  syscall(SYS_close, reader);
  free(data);
}
ssize_t copy_file_range(int in, off64_t *in_place, int to, off64_t *to_place, size_t size, unsigned flags) {
  NEXT(copy_file_range);
  ENTER;
  int64_t place = to_place ? *to_place : lseek(to, 0, SEEK_CUR);
  ssize_t result = next(in, in_place, to, to_place, size, flags);
  copied(to, place, result);
  LEAVE;
  return result;
}
ssize_t sendfile(int to, int in, off_t *place, size_t size) {
  NEXT(sendfile);
  ENTER;
  int64_t at = lseek(to, 0, SEEK_CUR);
  ssize_t result = next(to, in, place, size);
  copied(to, at, result);
  LEAVE;
  return result;
}
ssize_t sendfile64(int to, int in, off64_t *place, size_t size) { return sendfile(to, in, place, size); }

#define SIZED(name, parameters, descriptor, length, kind, ...) \
  int name parameters { \
    NEXT(name); \
    ENTER; \
    int result = next(__VA_ARGS__); \
    int64_t file = result == 0 ? file_of(descriptor, 0, 0) : 0; \
    if (file) record(kind, file, 0, length, "", 0, "", 0); \
    LEAVE; \
    return result; \
  }
SIZED(ftruncate, (int d, off_t size), d, size, 'T', d, size)
SIZED(ftruncate64, (int d, off64_t size), d, size, 'T', d, size)
SIZED(fallocate, (int d, int mode, off_t at, off_t size), d, at + size, 'A', d, mode, at, size)
SIZED(fallocate64, (int d, int mode, off64_t at, off64_t size), d, at + size, 'A', d, mode, at, size)
SIZED(posix_fallocate, (int d, off_t at, off_t size), d, at + size, 'A', d, at, size)
SIZED(posix_fallocate64, (int d, off64_t at, off64_t size), d, at + size, 'A', d, at, size)

// MARK: Syncing

static int synced(int descriptor, int result) {
  char path[PATH_MAX];
  int is_folder = 0;
  int64_t file = result == 0 ? file_of(descriptor, path, &is_folder) : 0;
  if (file) record(is_folder ? 'D' : 'S', file, 0, 0, path, strlen(path), "", 0);
  return result;
}
int fsync(int descriptor) { NEXT(fsync); ENTER; int result = synced(descriptor, next(descriptor)); LEAVE; return result; }
int fdatasync(int descriptor) { NEXT(fdatasync); ENTER; int result = synced(descriptor, next(descriptor)); LEAVE; return result; }

// MARK: Names

#define NAMED(kind, from_folder, from, to_folder, to, call) \
  ENTER; \
  char first[PATH_MAX] = "", second[PATH_MAX] = ""; \
  int isHere = resolve(from_folder, from, first); \
  const char *other = to; \
  int isThere = resolve(to_folder, other, second); \
  int result = call; \
  if (result == 0 && !saved_depth && (isHere || isThere)) \
    record(kind, 0, 0, 0, first, strlen(first), second, strlen(second)); \
  LEAVE; \
  return result;
int rename(const char *from, const char *to) { NAMED('R', AT_FDCWD, from, AT_FDCWD, to, syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)) }
int renameat(int a, const char *from, int b, const char *to) { NAMED('R', a, from, b, to, syscall(SYS_renameat2, a, from, b, to, 0)) }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { NAMED('R', a, from, b, to, syscall(SYS_renameat2, a, from, b, to, flags)) }
int link(const char *from, const char *to) { NAMED('L', AT_FDCWD, from, AT_FDCWD, to, syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)) }
int linkat(int a, const char *from, int b, const char *to, int flags) { NAMED('L', a, from, b, to, syscall(SYS_linkat, a, from, b, to, flags)) }
int unlink(const char *path) { NAMED('U', AT_FDCWD, path, 0, (char *)0, syscall(SYS_unlinkat, AT_FDCWD, path, 0)) }
int unlinkat(int a, const char *path, int flags) { NAMED(flags & AT_REMOVEDIR ? 'X' : 'U', a, path, 0, (char *)0, syscall(SYS_unlinkat, a, path, flags)) }
int rmdir(const char *path) { NAMED('X', AT_FDCWD, path, 0, (char *)0, syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)) }
int remove(const char *path) {
  struct stat status;
  return !lstat(path, &status) && S_ISDIR(status.st_mode) ? rmdir(path) : unlink(path);
}
int mkdir(const char *path, mode_t mode) { NAMED('K', AT_FDCWD, path, 0, (char *)0, syscall(SYS_mkdirat, AT_FDCWD, path, mode)) }
int mkdirat(int a, const char *path, mode_t mode) { NAMED('K', a, path, 0, (char *)0, syscall(SYS_mkdirat, a, path, mode)) }
static int linking(int a, const char *target, const char *path) {
  ENTER;
  char second[PATH_MAX] = "";
  int isHere = resolve(a, path, second);
  int result = syscall(SYS_symlinkat, target, a, path);
  if (result == 0 && isHere) record('Y', 0, 0, 0, target, strlen(target), second, strlen(second));
  LEAVE;
  return result;
}
int symlink(const char *target, const char *path) { return linking(AT_FDCWD, target, path); }
int symlinkat(const char *target, int a, const char *path) { return linking(a, target, path); }
