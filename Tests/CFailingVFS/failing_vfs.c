#include "failing_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

/* A file of SQLite's own that does the work, behind one that may refuse it. */
typedef struct failing_file {
  sqlite3_file base;
  sqlite3_file *real;
} failing_file;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs failing_vfs;

/* Of each thread its own: tests run beside each other. */
static _Thread_local int armed;
static _Thread_local int persisting;
static _Thread_local long limit;
static _Thread_local long count;

static sqlite3_file *real_of(sqlite3_file *file) { return ((failing_file *)file)->real; }

/* Whether the operation is to fail. */
static int fails(void) {
  if (!armed) return 0;
  long place = count++;
  return persisting ? place >= limit : place == limit;
}

static int failing_close(sqlite3_file *file) {
  sqlite3_file *real = real_of(file);
  return real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
}

static int failing_read(sqlite3_file *file, void *buffer, int amount, sqlite3_int64 offset) {
  sqlite3_file *real = real_of(file);
  if (armed != FAILING_FULL && fails()) {
    if (armed == FAILING_IO) return SQLITE_IOERR_READ;
    int half = amount / 2;
    int code = real->pMethods->xRead(real, buffer, half, offset);
    memset((char *)buffer + half, 0, (size_t)(amount - half));
    return code == SQLITE_OK ? SQLITE_IOERR_SHORT_READ : code;
  }
  return real->pMethods->xRead(real, buffer, amount, offset);
}

static int failing_write(sqlite3_file *file, const void *buffer, int amount, sqlite3_int64 offset) {
  sqlite3_file *real = real_of(file);
  if (fails()) {
    if (armed == FAILING_IO) return SQLITE_IOERR_WRITE;
    real->pMethods->xWrite(real, buffer, amount / 2, offset);
    return armed == FAILING_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }
  return real->pMethods->xWrite(real, buffer, amount, offset);
}

static int failing_truncate(sqlite3_file *file, sqlite3_int64 size) {
  sqlite3_file *real = real_of(file);
  if (armed == FAILING_IO && fails()) return SQLITE_IOERR_TRUNCATE;
  return real->pMethods->xTruncate(real, size);
}

static int failing_sync(sqlite3_file *file, int flags) {
  sqlite3_file *real = real_of(file);
  if (armed == FAILING_IO && fails()) return SQLITE_IOERR_FSYNC;
  return real->pMethods->xSync(real, flags);
}

static int failing_size(sqlite3_file *file, sqlite3_int64 *size) {
  sqlite3_file *real = real_of(file);
  if (armed == FAILING_IO && fails()) return SQLITE_IOERR_FSTAT;
  return real->pMethods->xFileSize(real, size);
}

static int failing_lock(sqlite3_file *file, int level) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xLock(real, level);
}

static int failing_unlock(sqlite3_file *file, int level) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xUnlock(real, level);
}

static int failing_check_lock(sqlite3_file *file, int *result) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xCheckReservedLock(real, result);
}

static int failing_control(sqlite3_file *file, int operation, void *argument) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xFileControl(real, operation, argument);
}

static int failing_sector_size(sqlite3_file *file) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xSectorSize(real);
}

static int failing_characteristics(sqlite3_file *file) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xDeviceCharacteristics(real);
}

static int failing_map(sqlite3_file *file, int page, int size, int extends, void volatile **memory) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xShmMap(real, page, size, extends, memory);
}

static int failing_map_lock(sqlite3_file *file, int offset, int amount, int flags) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xShmLock(real, offset, amount, flags);
}

static void failing_barrier(sqlite3_file *file) {
  sqlite3_file *real = real_of(file);
  real->pMethods->xShmBarrier(real);
}

static int failing_unmap(sqlite3_file *file, int removes) {
  sqlite3_file *real = real_of(file);
  return real->pMethods->xShmUnmap(real, removes);
}

static const sqlite3_io_methods methods = {
    2,
    failing_close,
    failing_read,
    failing_write,
    failing_truncate,
    failing_sync,
    failing_size,
    failing_lock,
    failing_unlock,
    failing_check_lock,
    failing_control,
    failing_sector_size,
    failing_characteristics,
    failing_map,
    failing_map_lock,
    failing_barrier,
    failing_unmap,
    0,
    0,
};

static int failing_open(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *result) {
  (void)vfs;
  failing_file *own = (failing_file *)file;
  own->base.pMethods = 0;
  own->real = (sqlite3_file *)(own + 1);
  own->real->pMethods = 0;
  if (armed == FAILING_IO && fails()) return SQLITE_CANTOPEN;
  int code = real_vfs->xOpen(real_vfs, name, own->real, flags, result);
  if (own->real->pMethods) own->base.pMethods = &methods;
  return code;
}

static int failing_delete(sqlite3_vfs *vfs, const char *name, int syncs) {
  (void)vfs;
  if (armed == FAILING_IO && fails()) return SQLITE_IOERR_DELETE;
  return real_vfs->xDelete(real_vfs, name, syncs);
}

static int failing_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
  (void)vfs;
  return real_vfs->xAccess(real_vfs, name, flags, result);
}

static int failing_path(sqlite3_vfs *vfs, const char *name, int size, char *path) {
  (void)vfs;
  return real_vfs->xFullPathname(real_vfs, name, size, path);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int status = SQLITE_ERROR;

static void register_once(void) {
  real_vfs = sqlite3_vfs_find(0);
  if (!real_vfs) return;
  failing_vfs = *real_vfs;
  failing_vfs.szOsFile = (int)sizeof(failing_file) + real_vfs->szOsFile;
  failing_vfs.zName = "failing";
  failing_vfs.pNext = 0;
  failing_vfs.xOpen = failing_open;
  failing_vfs.xDelete = failing_delete;
  failing_vfs.xAccess = failing_access;
  failing_vfs.xFullPathname = failing_path;
  status = sqlite3_vfs_register(&failing_vfs, 1);
}

int failing_vfs_register(void) {
  pthread_once(&once, register_once);
  return status;
}

void failing_vfs_arm(failing_kind kind, long after, int persists) {
  armed = kind;
  persisting = persists;
  limit = after;
  count = 0;
}

long failing_vfs_disarm(void) {
  armed = 0;
  return count;
}
