/* PETSc as a competitor: MatMult and KSP without a preconditioner, one MPI rank per thread.
 *
 * Variants: aij, sell. A solve runs a fixed number of iterations from x = 0. Of the norms that KSP
 * can test we take the cheapest, so that an iteration computes nothing that ours does not: for CG
 * r'z, which it needs anyway; for the others the preconditioned residual, which without a
 * preconditioner is the residual. While the driver times others, ranks above 0 wait in a semaphore
 * and not in MPI, which would burn their cores. */

#include <petscksp.h>
#include <semaphore.h>

#include "../peers/protocol.h"

#define CHECK(call) CHKERRABORT(PETSC_COMM_WORLD, call)

static sem_t *gate(int rank) {
  int id = (int)getpid();
  char name[64];
  MPI_Bcast(&id, 1, MPI_INT, 0, PETSC_COMM_WORLD);
  snprintf(name, sizeof name, "/sparsefuse-peers-%d", id);
  sem_t *semaphore = sem_open(name, O_CREAT, 0600, 0);
  if (semaphore == SEM_FAILED) fail("no semaphore");
  MPI_Barrier(PETSC_COMM_WORLD);
  if (rank == 0) sem_unlink(name);
  return semaphore;
}

/* Rank 0 reads the command and wakes the others. */
static int agree_on_batch(sem_t *semaphore, int rank, int ranks) {
  int repetitions = 0;
  if (rank == 0) {
    repetitions = next_batch();
    for (int other = 1; other < ranks; other++) sem_post(semaphore);
  } else {
    sem_wait(semaphore);
  }
  MPI_Bcast(&repetitions, 1, MPI_INT, 0, PETSC_COMM_WORLD);
  return repetitions;
}

static Mat assemble(const csr_t *a, const char *variant) {
  Mat matrix;
  CHECK(MatCreate(PETSC_COMM_WORLD, &matrix));
  CHECK(MatSetSizes(matrix, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)a->n_rows, (PetscInt)a->n_cols));
  CHECK(MatSetType(matrix, MATAIJ));
  CHECK(MatSetUp(matrix));
  PetscInt first, end;
  CHECK(MatGetOwnershipRange(matrix, &first, &end));
  PetscInt rows = end - first, base = (PetscInt)a->pos[first];
  PetscInt *pos = malloc(sizeof(PetscInt) * (size_t)(rows + 1));
  for (PetscInt i = 0; i <= rows; i++) pos[i] = (PetscInt)a->pos[first + i] - base;
  CHECK(MatSeqAIJSetPreallocationCSR(matrix, pos, a->crd + base, a->vals + base));
  CHECK(MatMPIAIJSetPreallocationCSR(matrix, pos, a->crd + base, a->vals + base));
  free(pos);
  if (strcmp(variant, "sell") == 0) CHECK(MatConvert(matrix, MATSELL, MAT_INPLACE_MATRIX, &matrix));
  return matrix;
}

static KSP solver(Mat matrix, const char *work, int iterations) {
  KSP ksp;
  PC none;
  CHECK(KSPCreate(PETSC_COMM_WORLD, &ksp));
  CHECK(KSPSetOperators(ksp, matrix, matrix));
  CHECK(KSPGetPC(ksp, &none));
  CHECK(PCSetType(none, PCNONE));
  if (strcmp(work, "cg") == 0) {
    CHECK(KSPSetType(ksp, KSPCG));
    CHECK(KSPSetNormType(ksp, KSP_NORM_NATURAL));
  } else {
    CHECK(KSPSetType(ksp, strcmp(work, "cgs") == 0 ? KSPCGS : KSPBCGS));
    CHECK(KSPSetNormType(ksp, KSP_NORM_PRECONDITIONED));
  }
  CHECK(KSPSetTolerances(ksp, 1e-200, 1e-200, 1e200, iterations));
  CHECK(KSPSetUp(ksp));
  return ksp;
}

static void print_gathered(Vec y, int rank) {
  VecScatter scatter;
  Vec whole;
  const double *elements;
  PetscInt n;
  CHECK(VecScatterCreateToZero(y, &scatter, &whole));
  CHECK(VecScatterBegin(scatter, y, whole, INSERT_VALUES, SCATTER_FORWARD));
  CHECK(VecScatterEnd(scatter, y, whole, INSERT_VALUES, SCATTER_FORWARD));
  CHECK(VecGetSize(y, &n));
  CHECK(VecGetArrayRead(whole, &elements));
  if (rank == 0) print_check(elements, (size_t)n);
  CHECK(VecRestoreArrayRead(whole, &elements));
  CHECK(VecScatterDestroy(&scatter));
  CHECK(VecDestroy(&whole));
}

int main(int argc, char **argv) {
  arguments_t args = arguments(argc, argv);
  int one = 1, rank, ranks;
  CHECK(PetscInitialize(&one, &argv, NULL, NULL));
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
  if (rank == 0) {
    char version[256];
    CHECK(PetscGetVersion(version, sizeof version));
    printf("version %s\n", version);
  }
  csr_t a = map_matrix(args.matrix);
  Mat matrix = assemble(&a, args.variant);
  Vec x, y;
  PetscInt first, end;
  double *elements;
  CHECK(MatCreateVecs(matrix, &x, &y));
  CHECK(VecGetOwnershipRange(x, &first, &end));
  CHECK(VecGetArray(x, &elements));
  int is_product = strcmp(args.work, "spmv") == 0;
  for (PetscInt i = first; i < end; i++)
    elements[i - first] = input((uint64_t)i) - (is_product ? 0.5 : 0.0);
  CHECK(VecRestoreArray(x, &elements));
  KSP ksp = is_product ? NULL : solver(matrix, args.work, args.iterations);

  sem_t *semaphore = gate(rank);
  if (is_product)
    CHECK(MatMult(matrix, x, y));
  else
    CHECK(KSPSolve(ksp, x, y));
  print_gathered(y, rank);
  int repetitions;
  while ((repetitions = agree_on_batch(semaphore, rank, ranks)) > 0) {
    MPI_Barrier(PETSC_COMM_WORLD);
    double begin = now();
    for (int k = 0; k < repetitions; k++) {
      if (is_product)
        CHECK(MatMult(matrix, x, y));
      else
        CHECK(KSPSolve(ksp, x, y));
    }
    MPI_Barrier(PETSC_COMM_WORLD);
    if (rank == 0) print_seconds(now() - begin);
  }
  CHECK(PetscFinalize());
  return 0;
}
