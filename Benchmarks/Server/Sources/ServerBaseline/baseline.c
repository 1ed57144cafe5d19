#include "baseline.h"
#include <endian.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PGconn *connection;
static char message[1000];

const char *baseline_error(void) { return message; }

static int failed(PGresult *result, const char *what) {
    snprintf(message, sizeof message, "%s: %s", what, PQerrorMessage(connection));
    PQclear(result);
    return 1;
}

int baseline_open(const char *url) {
    connection = PQconnectdb(url);
    return PQstatus(connection) == CONNECTION_OK ? 0 : failed(NULL, "connecting");
}

void baseline_close(void) {
    PQfinish(connection);
    connection = NULL;
}

static int run(const char *sql) {
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return failed(result, sql);
    PQclear(result);
    return 0;
}

int baseline_create(void) {
    return run("SET client_min_messages = warning") || run("DROP SCHEMA IF EXISTS bench_c CASCADE") ||
           run("CREATE SCHEMA bench_c") || run("SET search_path TO bench_c") ||
           run("CREATE TABLE category (pk bigint PRIMARY KEY, version bigint NOT NULL, name text COLLATE \"C\" NOT NULL)") ||
           run("CREATE TABLE todo (pk bigint PRIMARY KEY, version bigint NOT NULL, title text COLLATE \"C\" NOT NULL, "
               "notes text COLLATE \"C\", priority bigint NOT NULL, due double precision NOT NULL, done boolean NOT NULL, "
               "uuid uuid NOT NULL, category bigint REFERENCES category (pk) DEFERRABLE INITIALLY DEFERRED)") ||
           run("CREATE INDEX ON todo (title)") || run("CREATE INDEX ON todo (category)");
}

// A growing list of bytes.
typedef struct {
    char *bytes;
    size_t count, capacity;
} buffer;

static void append(buffer *b, const void *bytes, size_t count) {
    if (b->count + count > b->capacity) {
        b->capacity = (b->count + count) * 2;
        b->bytes = realloc(b->bytes, b->capacity);
    }
    memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
}

static void append16(buffer *b, uint16_t number) {
    number = htobe16(number);
    append(b, &number, 2);
}

static void append32(buffer *b, uint32_t number) {
    number = htobe32(number);
    append(b, &number, 4);
}

static void append64(buffer *b, uint64_t number) {
    number = htobe64(number);
    append(b, &number, 8);
}

static void field64(buffer *b, uint64_t number) {
    append32(b, 8);
    append64(b, number);
}

static void field_double(buffer *b, double number) {
    uint64_t bits;
    memcpy(&bits, &number, 8);
    field64(b, bits);
}

static void field_text(buffer *b, const char *text) {
    if (!text) return append32(b, UINT32_MAX);
    size_t length = strlen(text);
    append32(b, (uint32_t)length);
    append(b, text, length);
}

static int send_some(buffer *b, size_t limit) {
    if (b->count <= limit) return 0;
    if (PQputCopyData(connection, b->bytes, (int)b->count) != 1) return failed(NULL, "copying");
    b->count = 0;
    return 0;
}

static int begin_copy(buffer *b, const char *sql) {
    PGresult *result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_COPY_IN) return failed(result, sql);
    PQclear(result);
    append(b, "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
    return 0;
}

static int end_copy(buffer *b) {
    append16(b, UINT16_MAX);
    if (send_some(b, 0) || PQputCopyEnd(connection, NULL) != 1) return failed(NULL, "ending a copy");
    PGresult *result;
    while ((result = PQgetResult(connection))) {
        if (PQresultStatus(result) != PGRES_COMMAND_OK) return failed(result, "copying");
        PQclear(result);
    }
    return 0;
}

int baseline_insert(const baseline_todo *todos, int64_t count, const char *const *categories, int64_t category_count) {
    buffer b = {0};
    int status = run("BEGIN") || begin_copy(&b, "COPY category FROM STDIN (FORMAT binary)");
    for (int64_t n = 0; n < category_count && !status; n++) {
        append16(&b, 3);
        field64(&b, (uint64_t)n + 1);
        field64(&b, 1);
        field_text(&b, categories[n]);
        status = send_some(&b, 1 << 18);
    }
    status = status || end_copy(&b) || begin_copy(&b, "COPY todo FROM STDIN (FORMAT binary)");
    for (int64_t n = 0; n < count && !status; n++) {
        const baseline_todo *todo = todos + n;
        append16(&b, 9);
        field64(&b, (uint64_t)n + 1);
        field64(&b, 1);
        field_text(&b, todo->title);
        field_text(&b, todo->notes);
        field64(&b, (uint64_t)todo->priority);
        field_double(&b, todo->due);
        append32(&b, 1);
        append(&b, todo->done ? "\1" : "\0", 1);
        append32(&b, 16);
        append(&b, todo->uuid, 16);
        field64(&b, (uint64_t)todo->category);
        status = send_some(&b, 1 << 18);
    }
    status = status || end_copy(&b) || run("COMMIT");
    free(b.bytes);
    return status;
}

static int64_t number(PGresult *result, int row, int column) {
    uint64_t bits;
    memcpy(&bits, PQgetvalue(result, row, column), 8);
    return (int64_t)be64toh(bits);
}

static char *text(PGresult *result, int row, int column) {
    if (PQgetisnull(result, row, column)) return NULL;
    size_t length = (size_t)PQgetlength(result, row, column);
    char *copy = malloc(length + 1);
    memcpy(copy, PQgetvalue(result, row, column), length);
    copy[length] = 0;
    return copy;
}

typedef struct {
    int64_t pk, version, priority, category;
    char *title, *notes;
    double due;
    int done;
    uint8_t uuid[16];
} row;

int baseline_fetch(int64_t *checksum) {
    PGresult *result = PQexecParams(
        connection, "SELECT pk, version, title, notes, priority, due, done, uuid, category FROM todo ORDER BY pk", 0, NULL,
        NULL, NULL, NULL, 1);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) return failed(result, "fetching");
    int count = PQntuples(result);
    row *rows = malloc((size_t)count * sizeof(row));
    for (int n = 0; n < count; n++) {
        row *r = rows + n;
        r->pk = number(result, n, 0);
        r->version = number(result, n, 1);
        r->title = text(result, n, 2);
        r->notes = text(result, n, 3);
        r->priority = number(result, n, 4);
        int64_t bits = number(result, n, 5);
        memcpy(&r->due, &bits, 8);
        r->done = *PQgetvalue(result, n, 6);
        memcpy(r->uuid, PQgetvalue(result, n, 7), 16);
        r->category = PQgetisnull(result, n, 8) ? 0 : number(result, n, 8);
    }
    PQclear(result);
    int64_t sum = 0;
    for (int n = 0; n < count; n++) {
        sum += rows[n].priority + (int64_t)strlen(rows[n].title) + (rows[n].notes ? (int64_t)strlen(rows[n].notes) : 0) +
               (int64_t)rows[n].due + rows[n].done + rows[n].uuid[0];
    }
    *checksum = sum;
    for (int n = 0; n < count; n++) {
        free(rows[n].title);
        free(rows[n].notes);
    }
    free(rows);
    return 0;
}

// An array of numbers in PostgreSQL's binary form.
static void array64(buffer *b, const int64_t *numbers, int64_t count) {
    append32(b, 1);
    append32(b, 0);
    append32(b, 20);
    append32(b, (uint32_t)count);
    append32(b, 1);
    for (int64_t n = 0; n < count; n++) field64(b, (uint64_t)numbers[n]);
}

int baseline_lookup(const int64_t *keys, int64_t count, int64_t *checksum) {
    PGresult *prepared = PQprepare(connection, "lookup", "SELECT pk, version, name FROM category WHERE pk = ANY($1::bigint[])", 0, NULL);
    PQclear(prepared);
    buffer b = {0};
    int64_t sum = 0;
    for (int64_t start = 0; start < count; start += 256) {
        int64_t some = count - start < 256 ? count - start : 256;
        b.count = 0;
        array64(&b, keys + start, some);
        const char *values[] = {b.bytes};
        int lengths[] = {(int)b.count}, formats[] = {1};
        PGresult *result = PQexecPrepared(connection, "lookup", 1, values, lengths, formats, 1);
        if (PQresultStatus(result) != PGRES_TUPLES_OK) return failed(result, "looking up");
        for (int n = 0; n < PQntuples(result); n++) {
            char *name = text(result, n, 2);
            sum += number(result, n, 0) + (int64_t)strlen(name);
            free(name);
        }
        PQclear(result);
    }
    free(b.bytes);
    *checksum = sum;
    return 0;
}

int baseline_update(int64_t count, int64_t priority) {
    if (run("BEGIN")) return 1;
    buffer keys = {0}, versions = {0}, priorities = {0};
    int64_t *numbers = malloc(5000 * sizeof(int64_t));
    for (int64_t start = 0; start < count; start += 5000) {
        int64_t some = count - start < 5000 ? count - start : 5000;
        keys.count = versions.count = priorities.count = 0;
        for (int64_t n = 0; n < some; n++) numbers[n] = start + n + 1;
        array64(&keys, numbers, some);
        for (int64_t n = 0; n < some; n++) numbers[n] = 1;
        array64(&versions, numbers, some);
        for (int64_t n = 0; n < some; n++) numbers[n] = priority;
        array64(&priorities, numbers, some);
        const char *values[] = {keys.bytes, versions.bytes, priorities.bytes};
        int lengths[] = {(int)keys.count, (int)versions.count, (int)priorities.count}, formats[] = {1, 1, 1};
        PGresult *result = PQexecParams(
            connection,
            "UPDATE todo AS t SET priority = v.p, version = t.version + 1 "
            "FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS v(k, n, p) WHERE t.pk = v.k AND t.version = v.n",
            3, NULL, values, lengths, formats, 1);
        if (PQresultStatus(result) != PGRES_COMMAND_OK) return failed(result, "updating");
        if (atoll(PQcmdTuples(result)) != some) return failed(result, "updating: rows of other versions");
        PQclear(result);
    }
    free(numbers);
    free(keys.bytes);
    free(versions.bytes);
    free(priorities.bytes);
    return run("COMMIT");
}
