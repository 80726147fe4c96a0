/* MKL as a competitor: the inspector-executor product, Krylov methods written with it and BLAS, and
 * what operations.c does.
 *
 * For products the matrix is optimised for many of them before the first. Intel's OpenMP threads
 * keep their default of spinning for a while between parallel regions, which suits MKL best; after
 * a batch they are put to sleep, so that they do not disturb the others. */

#include <omp.h>

#include "peer.h"

extern void kmp_set_blocktime(int milliseconds);

static sparse_matrix_t matrix;
static MKL_INT n;
static double *b, *x, *r, *p, *q, *u, *shadow;

static void product(const double *from, double *to) {
  mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, matrix, general, from, 0.0, to);
}

static double dot(const double *v, const double *w) { return cblas_ddot(n, v, 1, w, 1); }
/* w += s v */
static void axpy(double s, const double *v, double *w) { cblas_daxpy(n, s, v, 1, w, 1); }
/* w = s v + t w */
static void axpby(double s, const double *v, double t, double *w) {
  cblas_daxpby(n, s, v, 1, t, w, 1);
}
static void copy(const double *v, double *w) { cblas_dcopy(n, v, 1, w, 1); }

static void begin(void) {
  memset(x, 0, sizeof(double) * (size_t)n);
  copy(b, r);
  copy(b, p);
}

static void cg(int iterations) {
  begin();
  double rho = dot(r, r);
  for (int k = 0; k < iterations; k++) {
    product(p, q);
    double alpha = rho / dot(p, q);
    axpy(alpha, p, x);
    axpy(-alpha, q, r);
    double next = dot(r, r);
    axpby(1.0, r, next / rho, p);
    rho = next;
  }
}

/* u is the direction of the textbook's u, q its q; p and u share nothing. */
static void cgs(int iterations) {
  static double *v;
  if (!v) v = allocate(sizeof(double) * (size_t)n);
  begin();
  copy(b, shadow);
  copy(b, u);
  double rho = dot(shadow, r);
  for (int k = 0; k < iterations; k++) {
    product(p, v);
    double alpha = rho / dot(shadow, v);
    copy(u, q);
    axpy(-alpha, v, q);
    axpby(1.0, q, 1.0, u);
    axpy(alpha, u, x);
    product(u, v);
    axpy(-alpha, v, r);
    double next = dot(shadow, r), residual = dot(r, r);
    double beta = next / rho;
    if (residual < 0.0) return;
    rho = next;
    copy(r, u);
    axpy(beta, q, u);
    /* p = u + beta (q + beta p) */
    axpby(beta, q, beta * beta, p);
    axpy(1.0, u, p);
  }
}

static void bicgstab(int iterations) {
  begin();
  copy(b, shadow);
  double rho = dot(shadow, r);
  for (int k = 0; k < iterations; k++) {
    product(p, q);
    double alpha = rho / dot(shadow, q);
    axpy(-alpha, q, r);
    product(r, u);
    double omega = dot(u, r) / dot(u, u);
    axpy(alpha, p, x);
    axpy(omega, r, x);
    axpy(-omega, u, r);
    double next = dot(shadow, r), residual = dot(r, r);
    double beta = next / rho * (alpha / omega);
    if (residual < 0.0) return;
    rho = next;
    axpy(-omega, q, p);
    axpby(1.0, r, beta, p);
  }
}

static void once(const arguments_t *args, int iterations) {
  if (is_operation(args->work)) operate();
  if (strcmp(args->work, "spmv") == 0) product(b, x);
  if (strcmp(args->work, "cg") == 0) cg(iterations);
  if (strcmp(args->work, "cgs") == 0) cgs(iterations);
  if (strcmp(args->work, "bicgstab") == 0) bicgstab(iterations);
}

static double *vector(void) {
  double *v = allocate(sizeof(double) * (size_t)n);
#pragma omp parallel for schedule(static)
  for (MKL_INT i = 0; i < n; i++) v[i] = 0.0;
  return v;
}

static void set_up(const csr_t *a) {
  n = (MKL_INT)a->n_rows;
  MKL_INT *pos = allocate(sizeof(MKL_INT) * (a->n_rows + 1));
  MKL_INT *crd = allocate(sizeof(MKL_INT) * a->nnz);
  double *vals = allocate(sizeof(double) * a->nnz);
#pragma omp parallel for schedule(static)
  for (MKL_INT i = 0; i < n; i++) {
    pos[i] = (MKL_INT)a->pos[i];
    for (uint64_t k = a->pos[i]; k < a->pos[i + 1]; k++) {
      crd[k] = a->crd[k];
      vals[k] = a->vals[k];
    }
  }
  pos[n] = (MKL_INT)a->nnz;
  CHECK(mkl_sparse_d_create_csr(&matrix, SPARSE_INDEX_BASE_ZERO, n, (MKL_INT)a->n_cols, pos,
                                pos + 1, crd, vals));
}

static void expect_products(void) {
  CHECK(mkl_sparse_set_mv_hint(matrix, SPARSE_OPERATION_NON_TRANSPOSE, general, 1000000));
  CHECK(mkl_sparse_set_memory_hint(matrix, SPARSE_MEMORY_AGGRESSIVE));
  CHECK(mkl_sparse_optimize(matrix));
  b = vector(), x = vector(), r = vector(), p = vector(), q = vector(), u = vector();
  shadow = vector();
}

int main(int argc, char **argv) {
  arguments_t args = arguments(argc, argv);
  omp_set_num_threads(args.threads);
  mkl_set_num_threads(args.threads);
  char version[198];
  mkl_get_version_string(version, sizeof version);
  printf("version %s\n", version);
  csr_t a = map_matrix(args.matrix);
  set_up(&a);
  if (is_operation(args.work)) {
    set_up_operation(&args, &a, matrix);
    operate();
    print_operation_check();
  } else {
    expect_products();
    double shift = strcmp(args.work, "spmv") == 0 ? 0.5 : 0.0;
    for (MKL_INT i = 0; i < n; i++) b[i] = input((uint64_t)i) - shift;
    once(&args, check_iterations(&args));
    print_check(x, (size_t)n);
  }
  int repetitions;
  while ((repetitions = next_batch()) > 0) {
    kmp_set_blocktime(200);
    double start = now();
    for (int k = 0; k < repetitions; k++) once(&args, args.iterations);
    print_seconds(now() - start);
    kmp_set_blocktime(0);
#pragma omp parallel
    { /* the threads learn that they are to sleep */ }
  }
  return 0;
}
