#include "baseline.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

// Batches whose changes others can detect, as the runtime's batches do. The version of a todo shows that it has
// changed, the history lists the changed rows, and foreign keys are enforced. SQLite's update hook supplies the keys of
// the changed rows, which is the cheapest way.

int base_track(base_store *store) {
  // The rows are stored as if they had been inserted with their versions. A later update then enlarges a row only by a
  // longer version.
  return sqlite3_exec(store->db,
                      "PRAGMA foreign_keys = ON;"
                      "ALTER TABLE category ADD COLUMN version INTEGER NOT NULL DEFAULT 1;"
                      "ALTER TABLE todo ADD COLUMN version INTEGER NOT NULL DEFAULT 1;"
                      "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL,"
                      " changes TEXT NOT NULL) STRICT;"
                      "UPDATE category SET version = 1; UPDATE todo SET version = 1;"
                      "VACUUM; PRAGMA wal_checkpoint(TRUNCATE);",
                      NULL, NULL, NULL);
}

void base_free_keys(base_keys *keys) {
  free(keys->ranges);
  *keys = (base_keys){0};
}

static void note(void *context, int operation, const char *database, const char *table, sqlite3_int64 id) {
  (void)operation, (void)database, (void)table;
  base_keys *keys = context;
  if (keys->count && keys->ranges[keys->count - 1].last + 1 == id) {
    keys->ranges[keys->count - 1].last = id;
    return;
  }
  if (keys->count == keys->capacity) {
    keys->capacity = keys->capacity ? keys->capacity * 2 : 64;
    keys->ranges = realloc(keys->ranges, keys->capacity * sizeof *keys->ranges);
  }
  keys->ranges[keys->count++] = (base_range){id, id};
}

static char *append_text(char *end, const char *text) {
  size_t size = strlen(text);
  memcpy(end, text, size);
  return end + size;
}

static char *append_number(char *end, int64_t number) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count) *end++ = digits[--count];
  return end;
}

// Records a change of a table's rows in the history.
static int write_history(base_store *store, const char *table, const char *change, const base_keys *keys) {
  char *text = malloc(strlen(table) + strlen(change) + 16 + keys->count * 44);
  char *place = append_text(text, "{\"");
  place = append_text(append_text(append_text(place, table), "\":{\""), change);
  place = append_text(place, "\":[");
  for (size_t i = 0; i < keys->count; i++) {
    if (i) *place++ = ',';
    *place++ = '[';
    place = append_number(place, keys->ranges[i].first);
    *place++ = ',';
    place = append_number(place, keys->ranges[i].last);
    *place++ = ']';
  }
  place = append_text(place, "]}}");
  sqlite3_stmt *statement = NULL;
  int code = prepare(store, "INSERT INTO history (time, changes) VALUES (?, ?)", &statement);
  if (code == SQLITE_OK) {
    sqlite3_bind_double(statement, 1, (double)time(NULL));
    sqlite3_bind_text(statement, 2, text, (int)(place - text), SQLITE_STATIC);
    code = run(statement);
  }
  sqlite3_finalize(statement);
  free(text);
  return code;
}

int base_batch_insert(base_store *store, const base_todo *todos, size_t count, const char *const *categories,
                      size_t category_count) {
  sqlite3_stmt *statement = NULL;
  int code = begin(store);
  if (code == SQLITE_OK) code = prepare(store, "INSERT INTO category VALUES (?, ?, 1)", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < category_count; i++) {
    sqlite3_bind_int64(statement, 1, (int64_t)i + 1);
    sqlite3_bind_text(statement, 2, categories[i], (int)strlen(categories[i]), SQLITE_STATIC);
    code = run(statement);
  }
  sqlite3_finalize(statement);
  statement = NULL;
  base_range all = {1, (int64_t)category_count};
  if (code == SQLITE_OK) code = write_history(store, "category", "inserted", &(base_keys){&all, 1, 1});
  code = end(store, code);
  if (code == SQLITE_OK) code = begin(store);
  if (code == SQLITE_OK)
    code = prepare(store, "INSERT INTO todo VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < count; i++) code = base_write(statement, &todos[i]);
  sqlite3_finalize(statement);
  all.last = (int64_t)count;
  if (code == SQLITE_OK) code = write_history(store, "todo", "inserted", &(base_keys){&all, 1, 1});
  return end(store, code);
}

// Runs a statement with up to two numbers, and records the rows that it changes.
static int change(base_store *store, const char *sql, const int64_t *numbers, const char *name, base_keys *keys) {
  sqlite3_stmt *statement = NULL;
  int code = begin(store);
  if (code == SQLITE_OK) code = prepare(store, sql, &statement);
  if (code == SQLITE_OK) {
    for (int i = 0; i < sqlite3_bind_parameter_count(statement); i++)
      sqlite3_bind_int64(statement, i + 1, numbers[i]);
    sqlite3_update_hook(store->db, note, keys);
    code = run(statement);
    sqlite3_update_hook(store->db, NULL, NULL);
  }
  sqlite3_finalize(statement);
  if (code == SQLITE_OK) code = write_history(store, "todo", name, keys);
  return end(store, code);
}

int base_batch_update(base_store *store, int64_t below, int64_t priority, base_keys *keys) {
  return change(store, "UPDATE todo SET priority = ?, done = 1, version = version + 1 WHERE priority < ?",
                (int64_t[]){priority, below}, "updated", keys);
}

int base_batch_delete(base_store *store, int64_t below, base_keys *keys) {
  return change(store, "DELETE FROM todo WHERE priority < ?", &below, "deleted", keys);
}
