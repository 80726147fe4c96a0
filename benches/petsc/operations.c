/* The works that make a matrix: A A, A X with a dense X, the transpose, and a matrix from triplets,
 * of which each rank has its share. */

#include "peer.h"

static void (*work)(void);
static Mat a, x, result;

static void multiply(void) {
  CHECK(MatMatMult(a, a, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &result));
}

static void multiply_dense(void) {
  CHECK(MatMatMult(a, x, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &result));
}

static void transpose(void) { CHECK(MatTranspose(a, MAT_INITIAL_MATRIX, &result)); }

static PetscCount triplets;
static PetscInt *rows, *cols, *rows_given, *cols_given;
static double *vals;

static void assemble(void) {
  PetscInt first, end, n;
  CHECK(MatGetSize(a, &n, NULL));
  result = empty_matrix(n, PETSC_DECIDE, MATAIJ, &first, &end);
  CHECK(MatSetPreallocationCOO(result, triplets, rows_given, cols_given));
  CHECK(MatSetValuesCOO(result, vals, INSERT_VALUES));
}

static void set_up_triplets(const arguments_t *args, const csr_t *file) {
  int rank, ranks;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
  size_t begin = file->nnz * (size_t)rank / (size_t)ranks;
  size_t end = file->nnz * (size_t)(rank + 1) / (size_t)ranks;
  triplets = (PetscCount)(end - begin);
  PetscInt **arrays[] = {&rows, &cols, &rows_given, &cols_given};
  for (int k = 0; k < 4; k++) *arrays[k] = allocate(sizeof(PetscInt) * (end - begin));
  vals = allocate(sizeof(double) * (end - begin));
  make_triplets(file, args->work, begin, end, rows, cols, vals);
}

static void set_up_dense(void) {
  PetscInt n, own, first, end, stride;
  double *elements;
  CHECK(MatGetSize(a, NULL, &n));
  CHECK(MatGetLocalSize(a, NULL, &own));
  CHECK(MatCreateDense(PETSC_COMM_WORLD, own, PETSC_DECIDE, n, SPMM_COLUMNS, NULL, &x));
  CHECK(MatGetOwnershipRange(x, &first, &end));
  CHECK(MatDenseGetLDA(x, &stride));
  CHECK(MatDenseGetArray(x, &elements));
  for (PetscInt i = first; i < end; i++)
    for (PetscInt j = 0; j < SPMM_COLUMNS; j++)
      elements[i - first + j * stride] = input((uint64_t)(i * SPMM_COLUMNS + j)) - 0.5;
  CHECK(MatDenseRestoreArray(x, &elements));
  CHECK(MatAssemblyBegin(x, MAT_FINAL_ASSEMBLY));
  CHECK(MatAssemblyEnd(x, MAT_FINAL_ASSEMBLY));
}

static int makes_triplets(const char *name) { return strncmp(name, "triplets", 8) == 0; }

int is_operation(const char *name) {
  return strcmp(name, "multiply") == 0 || strcmp(name, "spmm") == 0 ||
         strcmp(name, "transpose") == 0 || makes_triplets(name);
}

void set_up_operation(const arguments_t *args, const csr_t *file, Mat matrix) {
  a = matrix;
  if (strcmp(args->work, "multiply") == 0) work = multiply;
  if (strcmp(args->work, "transpose") == 0) work = transpose;
  if (strcmp(args->work, "spmm") == 0) {
    set_up_dense();
    work = multiply_dense;
  }
  if (makes_triplets(args->work)) {
    set_up_triplets(args, file);
    work = assemble;
  }
}

double operate(void) {
  if (triplets > 0) {
    /* MatSetPreallocationCOO may overwrite what it is given; the copies are not timed. */
    memcpy(rows_given, rows, sizeof(PetscInt) * (size_t)triplets);
    memcpy(cols_given, cols, sizeof(PetscInt) * (size_t)triplets);
  }
  MPI_Barrier(PETSC_COMM_WORLD);
  double begin = now();
  if (result) CHECK(MatDestroy(&result));
  work();
  MPI_Barrier(PETSC_COMM_WORLD);
  return now() - begin;
}

void print_operation_check(int rank) {
  Vec v, y;
  PetscInt first, end, n;
  double *elements;
  MatInfo info;
  CHECK(MatCreateVecs(result, &v, &y));
  CHECK(VecGetOwnershipRange(v, &first, &end));
  CHECK(VecGetArray(v, &elements));
  for (PetscInt i = first; i < end; i++) elements[i - first] = input((uint64_t)i) - 0.5;
  CHECK(VecRestoreArray(v, &elements));
  CHECK(MatMult(result, v, y));
  CHECK(VecGetSize(y, &n));
  CHECK(MatGetInfo(result, MAT_GLOBAL_SUM, &info));
  double *whole = gathered(y);
  if (rank == 0) print_matrix_check(whole, (size_t)n, info.nz_used);
  free(whole);
  CHECK(VecDestroy(&v));
  CHECK(VecDestroy(&y));
}
