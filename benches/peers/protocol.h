/* What the C and C++ competitors share: the arguments, the matrix file, the input vectors, the clock,
 * and the conversation with the driver. (benches/peers/README.md describes the conversation.) */

#ifndef SPARSEFUSE_PEERS_PROTOCOL_H
#define SPARSEFUSE_PEERS_PROTOCOL_H

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The command line: WORK MATRIX THREADS ITERATIONS VARIANT. */
typedef struct {
  const char *work, *matrix, *variant;
  int threads, iterations;
} arguments_t;

/* Iterations of the solve whose result is compared: few, so that rounding has not grown yet. */
static inline int check_iterations(const arguments_t *a) {
  return a->iterations < 8 ? a->iterations : 8;
}

/* A matrix file as it lies in memory: n_rows, n_cols, nnz, pos, vals, crd. */
typedef struct {
  size_t n_rows, n_cols, nnz;
  const uint64_t *pos;
  const double *vals;
  const int32_t *crd;
} csr_t;

static inline void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static inline arguments_t arguments(int argc, char **argv) {
  if (argc != 6) fail("expected WORK MATRIX THREADS ITERATIONS VARIANT");
  arguments_t a = {argv[1], argv[2], argv[5], atoi(argv[3]), atoi(argv[4])};
  return a;
}

static inline csr_t map_matrix(const char *path) {
  int file = open(path, O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) fail("the matrix file cannot be opened");
  void *memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (memory == MAP_FAILED) fail("the matrix file cannot be mapped");
  close(file);
  const uint64_t *words = (const uint64_t *)memory;
  csr_t a;
  a.n_rows = words[0];
  a.n_cols = words[1];
  a.nnz = words[2];
  a.pos = words + 3;
  a.vals = (const double *)(a.pos + a.n_rows + 1);
  a.crd = (const int32_t *)(a.vals + a.nnz);
  return a;
}

/* Memory in huge pages, where the system gives them. */
static inline void *allocate(size_t bytes) {
  const size_t page = (size_t)2 << 20;
  size_t rounded = (bytes + page - 1) / page * page;
  void *memory = aligned_alloc(page, rounded ? rounded : page);
  if (!memory) fail("out of memory");
  madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}

/* Element i of the input: in [0, 1), the same bits in every language. */
static inline double input(uint64_t i) {
  const uint64_t mask = 0xffffffff;
  uint64_t hash = (i * 2654435761u) & mask;
  hash ^= hash >> 15;
  hash = (hash * 2246822519u) & mask;
  hash ^= hash >> 13;
  return (double)hash / 4294967296.0;
}

/* Columns of the dense matrix of `spmm`. */
enum { SPMM_COLUMNS = 32 };

/* The entries begin..end of a matrix to be made: entry k is put where the file has one of its
 * entries, somewhere behind the k-th (`triplets`) or anywhere (`triplets-scattered`), so that some
 * places get several and others none. */
static inline void make_triplets(const csr_t *a, const char *work, size_t begin, size_t end,
                                 int32_t *rows, int32_t *cols, double *vals) {
  double window = strcmp(work, "triplets") == 0 ? 4096.0 : (double)a->nnz;
  int32_t *row_of = (int32_t *)allocate(sizeof(int32_t) * a->nnz);
  for (size_t i = 0; i < a->n_rows; i++)
    for (uint64_t k = a->pos[i]; k < a->pos[i + 1]; k++) row_of[k] = (int32_t)i;
  for (size_t k = begin; k < end; k++) {
    size_t place = (k + (size_t)(input(k) * window)) % a->nnz;
    rows[k - begin] = row_of[place];
    cols[k - begin] = a->crd[place];
    vals[k - begin] = input(k) - 0.5;
  }
  free(row_of);
}

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The norm, and eight elements. */
static inline void print_fingerprint(const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += y[i] * y[i];
  printf("check %.17g", sqrt(sum));
  for (size_t k = 0; k < 8; k++) printf(" %.17g", y[k * (n - 1) / 7]);
}

/* What is compared among the competitors: the fingerprint of a vector. */
static inline void print_check(const double *y, size_t n) {
  print_fingerprint(y, n);
  printf("\nready\n");
  fflush(stdout);
}

/* The same of a matrix: of its product with a vector, and the number of its entries. */
static inline void print_matrix_check(const double *y, size_t n, double entries) {
  print_fingerprint(y, n);
  printf(" %.17g\nready\n", entries);
  fflush(stdout);
}

/* The same of a solution, with ||b - A x|| / ||b||, by plain loops over the matrix of the file. */
static inline void print_solution_check(const csr_t *a, const double *x, const double *b,
                                        int iterations) {
  double residual = 0.0, size = 0.0;
  for (size_t i = 0; i < a->n_rows; i++) {
    double r = b[i];
    for (uint64_t k = a->pos[i]; k < a->pos[i + 1]; k++) r -= a->vals[k] * x[a->crd[k]];
    residual += r * r;
    size += b[i] * b[i];
  }
  printf("solved %d %.17g\n", iterations, sqrt(residual / size));
  print_check(x, a->n_rows);
}

/* Waits for `go REPS`; 0 where the driver has hung up. */
static inline int next_batch(void) {
  int repetitions;
  if (scanf(" go %d", &repetitions) != 1) return 0;
  return repetitions;
}

static inline void print_seconds(double seconds) {
  printf("seconds %.9g\n", seconds);
  fflush(stdout);
}

/* The seconds of a batch of solves, from matrices to solutions, and how many of them passed before
 * the iterations began. */
static inline void print_phases(double seconds, double setup) {
  printf("seconds %.9g %.9g\n", seconds, setup);
  fflush(stdout);
}

#endif
