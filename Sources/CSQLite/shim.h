#include <sqlite3.h>

/// Switches on what protects a program from its own slips and from a file that somebody has prepared: a misspelt
/// name in double quotes is an error instead of a string, and the schema may not call functions that do harm.
/// SQLite's function for this takes arguments in C's way, which Swift does not call.
static inline void csqlite_protect(sqlite3 *connection) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

/// The bytes of a connection's main database, read by SQLite's own descriptor. A descriptor of ours would do harm: when
/// a process closes any descriptor of a file, POSIX releases all locks that the process has on the file, SQLite's too.
static inline sqlite3_file *csqlite_file(sqlite3 *connection) {
  sqlite3_file *file = 0;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return 0;
  return file && file->pMethods ? file : 0;
}

/// The caller keeps within the file's size.
static inline int csqlite_file_read(sqlite3 *connection, void *buffer, int count, sqlite3_int64 offset) {
  sqlite3_file *file = csqlite_file(connection);
  return file ? file->pMethods->xRead(file, buffer, count, offset) : SQLITE_CANTOPEN;
}

/// Runs no triggers and reads no views: no store has any, and those of a file that somebody has prepared would run with
/// the rights of the program that opens it.
///
/// isDefensive: Whether statements that can damage a file are refused too: those that write SQLite's own tables, or
/// switch the journal off.
static inline void csqlite_defend(sqlite3 *connection, int isDefensive) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, isDefensive, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
}
