#ifndef BASELINE_H
#define BASELINE_H

#include <stddef.h>
#include <stdint.h>

// The denominators: what a programmer writes who knows SQLite's C interface and nothing else. Prepared
// statements, columns by index, one transaction for a batch, texts copied out of the row once.

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

// Objects of their own, as a fetch gives them: who holds one can let go of the others.
typedef struct {
  base_todo **items;
  size_t count;
  size_t capacity;
} base_list;

typedef struct base_store base_store;

/// Opens a database, and makes the tables if there are none. NULL where it fails.
base_store *base_open(const char *path);
void base_close(base_store *store);

/// Each of these gives 0 or SQLite's error code.
int base_insert(base_store *store, const base_todo *todos, size_t count, const char *const *categories,
                size_t category_count);
/// All, or, where `priority` is not negative, those of a priority by date.
int base_fetch(base_store *store, int64_t priority, base_list *result);
int base_by_id(base_store *store, const int64_t *ids, size_t count, base_list *result);
int base_by_title(base_store *store, const char *const *titles, size_t count, base_list *result);
int base_update(base_store *store, const int64_t *ids, size_t count, int64_t priority);
int base_delete(base_store *store, const int64_t *ids, size_t count);
/// The sum of the lengths of the categories' names of the first todos, fetched with the todos.
int base_fetch_to_one(base_store *store, size_t count, base_list *result, int64_t *sum);
/// The same for todos that were fetched before: one lookup each.
int base_to_one(base_store *store, base_todo *const *todos, size_t count, int64_t *sum);
/// The todos of each category, one query each.
int base_to_many(base_store *store, size_t category_count, base_list *result);

void base_free(base_list *list);
/// A number that depends on every value of a list.
int64_t base_checksum(const base_list *list);

/// Keys of rows, neighbours as one range.
typedef struct {
  int64_t first;
  int64_t last;
} base_range;

typedef struct {
  base_range *ranges;
  size_t count;
  size_t capacity;
} base_keys;

/// Makes room for versions and for a history, and has SQLite check references, as the batches below need it.
int base_track(base_store *store);
/// As `base_insert`, each kind of rows a transaction with an entry in the history.
int base_batch_insert(base_store *store, const base_todo *todos, size_t count, const char *const *categories,
                      size_t category_count);
/// These change all of a priority below one by one statement, raise versions, write an entry in the history, and give
/// the keys.
int base_batch_update(base_store *store, int64_t below, int64_t priority, base_keys *keys);
int base_batch_delete(base_store *store, int64_t below, base_keys *keys);
void base_free_keys(base_keys *keys);

/// Runs statements on a file.
int base_execute(const char *path, const char *sql);
/// The first column of a text's first row.
int base_number(const char *path, const char *sql, int64_t *result);
/// Writes all todos anew, into a table with one more column, and makes its two indexes.
int base_rewrite(const char *path);

#endif
