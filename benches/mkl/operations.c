/* The works that make a matrix: A A with sorted rows, A X with a dense X, and the transpose. MKL
 * has no conversion of triplets that sums those of one place. */

#include "peer.h"

static void (*work)(void);
static sparse_matrix_t a, result;
static MKL_INT n_rows, n_cols;
static double *x, *y;

static void multiply(void) {
  if (result) CHECK(mkl_sparse_destroy(result));
  CHECK(mkl_sparse_spmm(SPARSE_OPERATION_NON_TRANSPOSE, a, a, &result));
  CHECK(mkl_sparse_order(result));
}

static void transpose(void) {
  if (result) CHECK(mkl_sparse_destroy(result));
  CHECK(mkl_sparse_convert_csr(a, SPARSE_OPERATION_TRANSPOSE, &result));
}

static void multiply_dense(void) {
  free(y);
  y = allocate(sizeof(double) * (size_t)n_rows * SPMM_COLUMNS);
  CHECK(mkl_sparse_d_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, a, general, SPARSE_LAYOUT_ROW_MAJOR, x,
                        SPMM_COLUMNS, SPMM_COLUMNS, 0.0, y, SPMM_COLUMNS));
}

int is_operation(const char *name) {
  return strcmp(name, "multiply") == 0 || strcmp(name, "spmm") == 0 ||
         strcmp(name, "transpose") == 0;
}

void set_up_operation(const arguments_t *args, const csr_t *file, sparse_matrix_t matrix) {
  a = matrix;
  n_rows = (MKL_INT)file->n_rows;
  n_cols = (MKL_INT)file->n_cols;
  if (strcmp(args->work, "multiply") == 0) work = multiply;
  if (strcmp(args->work, "transpose") == 0) work = transpose;
  if (strcmp(args->work, "spmm") == 0) {
    work = multiply_dense;
    size_t elements = (size_t)n_cols * SPMM_COLUMNS;
    x = allocate(sizeof(double) * elements);
    for (size_t i = 0; i < elements; i++) x[i] = input(i) - 0.5;
    CHECK(mkl_sparse_set_mm_hint(a, SPARSE_OPERATION_NON_TRANSPOSE, general,
                                 SPARSE_LAYOUT_ROW_MAJOR, SPMM_COLUMNS, 1000000));
    CHECK(mkl_sparse_set_memory_hint(a, SPARSE_MEMORY_AGGRESSIVE));
    CHECK(mkl_sparse_optimize(a));
  }
}

void operate(void) { work(); }

static double entries_of(sparse_matrix_t matrix) {
  sparse_index_base_t base;
  MKL_INT rows, cols, *begins, *ends, *crd;
  double *vals;
  CHECK(mkl_sparse_d_export_csr(matrix, &base, &rows, &cols, &begins, &ends, &crd, &vals));
  return (double)(ends[rows - 1] - begins[0]);
}

void print_operation_check(void) {
  double *v = allocate(sizeof(double) * (size_t)n_rows);
  double *product = allocate(sizeof(double) * (size_t)n_rows);
  double entries = 0.0;
  for (MKL_INT i = 0; i < n_rows; i++) v[i] = input((uint64_t)i) - 0.5;
  if (y) {
    cblas_dgemv(CblasRowMajor, CblasNoTrans, n_rows, SPMM_COLUMNS, 1.0, y, SPMM_COLUMNS, v, 1, 0.0,
                product, 1);
    entries = (double)n_rows * SPMM_COLUMNS;
  } else {
    CHECK(mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, result, general, v, 0.0, product));
    entries = entries_of(result);
  }
  print_matrix_check(product, (size_t)n_rows, entries);
  free(v);
  free(product);
}
