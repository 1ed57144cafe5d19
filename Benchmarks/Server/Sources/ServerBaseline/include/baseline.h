#ifndef BASELINE_H
#define BASELINE_H
#include <stdint.h>

// The same work as the other contenders', with libpq, binary values and prepared statements. Each function returns 0, or
// something else after an error, whose message `baseline_error` gives.

typedef struct {
    const char *title;
    const char *notes; // NULL for none
    int64_t priority;
    double due;
    int done;
    uint8_t uuid[16];
    int64_t category; // 1 or greater
} baseline_todo;

int baseline_open(const char *url);
void baseline_close(void);
const char *baseline_error(void);

// Drops the schema "bench_c", and creates it with its tables, indexes and references.
int baseline_create(void);

// Copies categories, and then todos, in one transaction.
int baseline_insert(const baseline_todo *todos, int64_t count, const char *const *categories, int64_t category_count);

// Reads all todos into memory, decodes all values, and frees them. Returns the sum of priorities, lengths and others.
int baseline_fetch(int64_t *checksum);

// Reads the names of categories by their keys, at most 256 in each statement.
int baseline_lookup(const int64_t *keys, int64_t count, int64_t *checksum);

// Sets the priorities of todos whose versions are 1, 5,000 in each statement, in one transaction.
int baseline_update(int64_t count, int64_t priority);
#endif
