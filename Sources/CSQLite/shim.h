#include <sqlite3.h>

/// Switches on what protects a program from its own slips and from a file that somebody has prepared: a misspelt
/// name in double quotes is an error instead of a string, and the schema may not call functions that do harm.
/// SQLite's function for this takes arguments in C's way, which Swift does not call.
static inline void csqlite_protect(sqlite3 *connection) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

/// Has the processor fetch what is at an address while it goes on with other work. Any address will do.
static inline void csqlite_prefetch(const void *address) { __builtin_prefetch(address); }

/// Refuses what only a file that somebody has prepared would ask for, where no file of that kind has a use for it.
static inline void csqlite_defend(sqlite3 *connection) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)0);
}
