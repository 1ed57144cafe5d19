#ifndef BASELINE_H
#define BASELINE_H

#include <stddef.h>
#include <stdint.h>

// The baseline of the ratios: code by a programmer who knows only SQLite's C interface. It uses prepared statements,
// columns by index, one transaction for a batch, and one copy of each text.

typedef struct {
  int64_t id;
  char *title;
  char *notes; // may be NULL
  int64_t priority;
  double due;
  int32_t done;
  uint8_t uuid[16];
  int64_t category;
} base_todo;

// Separate objects, as a fetch returns them: each can be freed by itself.
typedef struct {
  base_todo **items;
  size_t count;
  size_t capacity;
} base_list;

typedef struct base_store base_store;

/// Opens a database, and creates the tables if there are none. Returns NULL on failure.
base_store *base_open(const char *path);
void base_close(base_store *store);

/// Each of these functions returns 0 or SQLite's error code.
int base_insert(base_store *store, const base_todo *todos, size_t count, const char *const *categories,
                size_t category_count);
/// Fetches all todos. If `priority` is not negative, fetches only those with this priority, ordered by date.
int base_fetch(base_store *store, int64_t priority, base_list *result);
int base_by_id(base_store *store, const int64_t *ids, size_t count, base_list *result);
int base_by_title(base_store *store, const char *const *titles, size_t count, base_list *result);
/// Changes todos in the order of their identifiers, as the runtime does. So does `base_delete`.
int base_update(base_store *store, const int64_t *ids, size_t count, int64_t priority);
int base_delete(base_store *store, const int64_t *ids, size_t count);
/// Fetches the first todos together with their categories, and sums the lengths of the categories' names.
int base_fetch_to_one(base_store *store, size_t count, base_list *result, int64_t *sum);
/// Does the same for todos that were already fetched, with one lookup for each.
int base_to_one(base_store *store, base_todo *const *todos, size_t count, int64_t *sum);
/// Fetches the todos of each category, with one query for each.
int base_to_many(base_store *store, size_t category_count, base_list *result);

void base_free(base_list *list);
/// A number that depends on every value of a list.
int64_t base_checksum(const base_list *list);

/// A range of consecutive row keys.
typedef struct {
  int64_t first;
  int64_t last;
} base_range;

typedef struct {
  base_range *ranges;
  size_t count;
  size_t capacity;
} base_keys;

/// Adds versions and a history, and makes SQLite enforce foreign keys, as the batches below require.
int base_track(base_store *store);
/// Like `base_insert`, but with a transaction and a history entry for each table.
int base_batch_insert(base_store *store, const base_todo *todos, size_t count, const char *const *categories,
                      size_t category_count);
/// These functions update or delete all todos below a priority with one statement, write a history entry, and return
/// the keys. An update also increases the versions.
int base_batch_update(base_store *store, int64_t below, int64_t priority, base_keys *keys);
int base_batch_delete(base_store *store, int64_t below, base_keys *keys);
void base_free_keys(base_keys *keys);

/// Runs statements on a database file.
int base_execute(const char *path, const char *sql);
/// Reads the first column of the first row of a query.
int base_number(const char *path, const char *sql, int64_t *result);
/// Copies all todos into a table with one more column, and creates its two indexes.
int base_rewrite(const char *path);

#endif
