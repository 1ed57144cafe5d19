#ifndef FAILING_VFS_H
#define FAILING_VFS_H

/// What an operation on a file does instead of its work.
typedef enum failing_kind {
  /// Reading, writing and all else give an I/O error.
  FAILING_IO = 1,
  /// Writing finds the disk full.
  FAILING_FULL = 2,
  /// Half of what is to be written arrives; half of what is to be read comes, as if the file ended.
  FAILING_SHORT = 3,
} failing_kind;

/// Lets all files that SQLite opens from now on be ones that can fail. To be called any number of times.
int failing_vfs_register(void);

/// Lets operations of this thread fail, from the one after so many on.
///
/// persists: whether all that follow fail too. Otherwise it is the one.
void failing_vfs_arm(failing_kind kind, long after, int persists);

/// Ends that.
///
/// Returns how many operations there were; below what was said, none has failed.
long failing_vfs_disarm(void);

#endif
