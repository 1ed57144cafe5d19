#ifndef BASELINE_STORE_H
#define BASELINE_STORE_H

#include <sqlite3.h>

struct base_store {
  sqlite3 *db;
};

static inline int prepare(base_store *store, const char *sql, sqlite3_stmt **statement) {
  return sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
}

static inline int begin(base_store *store) { return sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL); }

// Commits the transaction if `code` is SQLITE_OK, otherwise rolls it back. Returns the first error.
static inline int end(base_store *store, int code) {
  int ended = sqlite3_exec(store->db, code == SQLITE_OK ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
  return code == SQLITE_OK ? ended : code;
}

static inline int run(sqlite3_stmt *statement) {
  int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

// Binds a todo to the first eight parameters of a statement, and runs the statement.
int base_write(sqlite3_stmt *statement, const base_todo *todo);

#endif
