#include "baseline.h"
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS "t.id, t.title, t.notes, t.priority, t.due, t.done, t.uuid, t.category"

static const char *const schema =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "CREATE TABLE IF NOT EXISTS category (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS todo (id INTEGER PRIMARY KEY, title TEXT NOT NULL, notes TEXT,"
    " priority INTEGER NOT NULL, due REAL NOT NULL, done INTEGER NOT NULL, uuid BLOB NOT NULL,"
    " category INTEGER REFERENCES category (id)) STRICT;"
    "CREATE INDEX IF NOT EXISTS todo_title ON todo (title);"
    "CREATE INDEX IF NOT EXISTS todo_category ON todo (category);";

base_store *base_open(const char *path) {
  sqlite3 *db = NULL;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK ||
      sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK) {
    sqlite3_close(db);
    return NULL;
  }
  base_store *store = malloc(sizeof *store);
  store->db = db;
  return store;
}

void base_close(base_store *store) {
  sqlite3_close(store->db);
  free(store);
}

static char *copy_text(sqlite3_stmt *statement, int column) {
  const unsigned char *text = sqlite3_column_text(statement, column);
  if (!text) return NULL;
  size_t size = (size_t)sqlite3_column_bytes(statement, column) + 1;
  char *copy = malloc(size);
  memcpy(copy, text, size);
  return copy;
}

static void append(base_list *list, sqlite3_stmt *statement) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity ? list->capacity * 2 : 64;
    list->items = realloc(list->items, list->capacity * sizeof *list->items);
  }
  base_todo *todo = list->items[list->count++] = malloc(sizeof *todo);
  todo->id = sqlite3_column_int64(statement, 0);
  todo->title = copy_text(statement, 1);
  todo->notes = copy_text(statement, 2);
  todo->priority = sqlite3_column_int64(statement, 3);
  todo->due = sqlite3_column_double(statement, 4);
  todo->done = sqlite3_column_int(statement, 5);
  const void *uuid = sqlite3_column_blob(statement, 6);
  if (uuid && sqlite3_column_bytes(statement, 6) == 16)
    memcpy(todo->uuid, uuid, 16);
  else
    memset(todo->uuid, 0, 16);
  todo->category = sqlite3_column_int64(statement, 7);
}

// Collects the rows of a statement whose parameters are bound.
static int collect(sqlite3_stmt *statement, base_list *list) {
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) append(list, statement);
  sqlite3_reset(statement);
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

int base_write(sqlite3_stmt *statement, const base_todo *todo) {
  sqlite3_bind_int64(statement, 1, todo->id);
  sqlite3_bind_text(statement, 2, todo->title, (int)strlen(todo->title), SQLITE_STATIC);
  if (todo->notes)
    sqlite3_bind_text(statement, 3, todo->notes, (int)strlen(todo->notes), SQLITE_STATIC);
  else
    sqlite3_bind_null(statement, 3);
  sqlite3_bind_int64(statement, 4, todo->priority);
  sqlite3_bind_double(statement, 5, todo->due);
  sqlite3_bind_int(statement, 6, todo->done);
  sqlite3_bind_blob(statement, 7, todo->uuid, 16, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 8, todo->category);
  return run(statement);
}

int base_insert(base_store *store, const base_todo *todos, size_t count, const char *const *categories,
                size_t category_count) {
  sqlite3_stmt *statement = NULL;
  int code = begin(store);
  if (code == SQLITE_OK) code = prepare(store, "INSERT INTO category VALUES (?, ?)", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < category_count; i++) {
    sqlite3_bind_int64(statement, 1, (int64_t)i + 1);
    sqlite3_bind_text(statement, 2, categories[i], (int)strlen(categories[i]), SQLITE_STATIC);
    code = run(statement);
  }
  sqlite3_finalize(statement);
  statement = NULL;
  if (code == SQLITE_OK) code = prepare(store, "INSERT INTO todo VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < count; i++) code = base_write(statement, &todos[i]);
  sqlite3_finalize(statement);
  return end(store, code);
}

int base_fetch(base_store *store, int64_t priority, base_list *result) {
  sqlite3_stmt *statement = NULL;
  const char *sql = priority < 0 ? "SELECT " COLUMNS " FROM todo AS t"
                                 : "SELECT " COLUMNS " FROM todo AS t WHERE t.priority = ? ORDER BY t.due";
  int code = prepare(store, sql, &statement);
  if (code != SQLITE_OK) return code;
  if (priority >= 0) sqlite3_bind_int64(statement, 1, priority);
  code = collect(statement, result);
  sqlite3_finalize(statement);
  return code;
}

int base_by_id(base_store *store, const int64_t *ids, size_t count, base_list *result) {
  sqlite3_stmt *statement = NULL;
  int code = begin(store);
  if (code == SQLITE_OK) code = prepare(store, "SELECT " COLUMNS " FROM todo AS t WHERE t.id = ?", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < count; i++) {
    sqlite3_bind_int64(statement, 1, ids[i]);
    code = collect(statement, result);
  }
  sqlite3_finalize(statement);
  return end(store, code);
}

int base_by_title(base_store *store, const char *const *titles, size_t count, base_list *result) {
  sqlite3_stmt *statement = NULL;
  int code = begin(store);
  if (code == SQLITE_OK)
    code = prepare(store, "SELECT " COLUMNS " FROM todo AS t WHERE t.title = ?", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < count; i++) {
    sqlite3_bind_text(statement, 1, titles[i], (int)strlen(titles[i]), SQLITE_STATIC);
    code = collect(statement, result);
  }
  sqlite3_finalize(statement);
  return end(store, code);
}

static int compare_ids(const void *first, const void *second) {
  int64_t left = *(const int64_t *)first, right = *(const int64_t *)second;
  return left < right ? -1 : left > right;
}

// Returns the identifiers in ascending order, which the caller frees. Changes in the order of the table take less than half
// the time, and a runtime that knows all changes at a save makes them in this order.
static int64_t *sorted(const int64_t *ids, size_t count) {
  int64_t *copy = malloc(count * sizeof *copy);
  if (!copy) return NULL;
  memcpy(copy, ids, count * sizeof *copy);
  qsort(copy, count, sizeof *copy, compare_ids);
  return copy;
}

int base_update(base_store *store, const int64_t *ids, size_t count, int64_t priority) {
  int64_t *ordered = sorted(ids, count);
  if (!ordered) return SQLITE_NOMEM;
  sqlite3_stmt *statement = NULL;
  int code = begin(store);
  if (code == SQLITE_OK)
    code = prepare(store, "UPDATE todo SET priority = ?, done = 1 WHERE id = ?", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < count; i++) {
    sqlite3_bind_int64(statement, 1, priority);
    sqlite3_bind_int64(statement, 2, ordered[i]);
    code = run(statement);
  }
  free(ordered);
  sqlite3_finalize(statement);
  return end(store, code);
}

int base_delete(base_store *store, const int64_t *ids, size_t count) {
  int64_t *ordered = sorted(ids, count);
  if (!ordered) return SQLITE_NOMEM;
  sqlite3_stmt *statement = NULL;
  int code = begin(store);
  if (code == SQLITE_OK) code = prepare(store, "DELETE FROM todo WHERE id = ?", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < count; i++) {
    sqlite3_bind_int64(statement, 1, ordered[i]);
    code = run(statement);
  }
  free(ordered);
  sqlite3_finalize(statement);
  return end(store, code);
}

int base_fetch_to_one(base_store *store, size_t count, base_list *result, int64_t *sum) {
  sqlite3_stmt *statement = NULL;
  int code = prepare(store,
                     "SELECT " COLUMNS ", c.name FROM todo AS t JOIN category AS c ON c.id = t.category"
                     " WHERE t.id <= ?",
                     &statement);
  if (code != SQLITE_OK) return code;
  sqlite3_bind_int64(statement, 1, (int64_t)count);
  int64_t total = 0;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    append(result, statement);
    char *name = copy_text(statement, 8);
    total += (int64_t)strlen(name);
    free(name);
  }
  sqlite3_finalize(statement);
  *sum = total;
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

int base_to_one(base_store *store, base_todo *const *todos, size_t count, int64_t *sum) {
  sqlite3_stmt *statement = NULL;
  int64_t total = 0;
  int code = begin(store);
  if (code == SQLITE_OK) code = prepare(store, "SELECT name FROM category WHERE id = ?", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < count; i++) {
    sqlite3_bind_int64(statement, 1, todos[i]->category);
    if ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      char *name = copy_text(statement, 0);
      total += (int64_t)strlen(name);
      free(name);
      code = SQLITE_OK;
    }
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  *sum = total;
  return end(store, code);
}

int base_to_many(base_store *store, size_t category_count, base_list *result) {
  sqlite3_stmt *statement = NULL;
  int code = begin(store);
  if (code == SQLITE_OK)
    code = prepare(store, "SELECT " COLUMNS " FROM todo AS t WHERE t.category = ?", &statement);
  for (size_t i = 0; code == SQLITE_OK && i < category_count; i++) {
    sqlite3_bind_int64(statement, 1, (int64_t)i + 1);
    code = collect(statement, result);
  }
  sqlite3_finalize(statement);
  return end(store, code);
}

void base_free(base_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    free(list->items[i]->title);
    free(list->items[i]->notes);
    free(list->items[i]);
  }
  free(list->items);
  *list = (base_list){0};
}

int64_t base_checksum(const base_list *list) {
  uint64_t sum = 0;
  for (size_t i = 0; i < list->count; i++) {
    const base_todo *todo = list->items[i];
    sum += (uint64_t)todo->priority + (uint64_t)todo->due + (uint64_t)todo->done;
    sum += strlen(todo->title) + (todo->notes ? strlen(todo->notes) : 0) + (uint64_t)todo->category;
    sum += todo->uuid[0] + todo->uuid[15];
  }
  return (int64_t)sum;
}

int base_execute(const char *path, const char *sql) {
  sqlite3 *db = NULL;
  int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
  if (code == SQLITE_OK) code = sqlite3_exec(db, sql, NULL, NULL, NULL);
  sqlite3_close(db);
  return code;
}

int base_number(const char *path, const char *sql, int64_t *result) {
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (code == SQLITE_OK) code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
    *result = sqlite3_column_int64(statement, 0);
    code = SQLITE_OK;
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return code;
}

int base_rewrite(const char *path) {
  return base_execute(
      path,
      "PRAGMA foreign_keys = OFF; BEGIN;"
      "CREATE TABLE todo_new (id INTEGER PRIMARY KEY, title TEXT NOT NULL, notes TEXT NOT NULL,"
      " priority INTEGER NOT NULL, due REAL NOT NULL, done INTEGER NOT NULL, uuid BLOB NOT NULL,"
      " category INTEGER REFERENCES category (id), rank INTEGER NOT NULL) STRICT;"
      "INSERT INTO todo_new SELECT id, title, coalesce(notes, ''), priority, due, done, uuid, category,"
      " priority + 1 FROM todo;"
      "DROP TABLE todo;"
      "ALTER TABLE todo_new RENAME TO todo;"
      "CREATE INDEX todo_title ON todo (title);"
      "CREATE INDEX todo_category ON todo (category);"
      "COMMIT;");
}
