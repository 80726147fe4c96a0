/* PETSc as a competitor: MatMult, KSP without a preconditioner, and what operations.c and
 * multigrid.c do, one MPI rank per thread.
 *
 * Variants: aij, sell, and those of multigrid.c. A solve without a preconditioner runs a fixed
 * number of iterations from x = 0. Of the norms that KSP can test we take the cheapest, so that an
 * iteration computes nothing that ours does not: for CG r'z, which it needs anyway; for the others
 * the preconditioned residual, which without a preconditioner is the residual. While the driver
 * times others, ranks above 0 wait in a semaphore and not in MPI, which would burn their cores. */

#include <semaphore.h>

#include "peer.h"

static sem_t *gate(int rank) {
  int id = (int)getpid();
  char name[64];
  (void)MPI_Bcast(&id, 1, MPI_INT, 0, PETSC_COMM_WORLD);
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
  (void)MPI_Bcast(&repetitions, 1, MPI_INT, 0, PETSC_COMM_WORLD);
  return repetitions;
}

Mat empty_matrix(PetscInt n, PetscInt rows, MatType type, PetscInt *first, PetscInt *end) {
  Mat matrix;
  CHECK(PetscSplitOwnership(PETSC_COMM_WORLD, &rows, &n));
  CHECK(MatCreate(PETSC_COMM_WORLD, &matrix));
  CHECK(MatSetSizes(matrix, rows, rows, n, n));
  CHECK(MatSetType(matrix, type));
  MPI_Scan(&rows, end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
  *first = *end - rows;
  return matrix;
}

static Mat aij(const csr_t *a) {
  PetscInt first, end;
  Mat matrix = empty_matrix((PetscInt)a->n_rows, PETSC_DECIDE, MATAIJ, &first, &end);
  PetscInt rows = end - first, base = (PetscInt)a->pos[first];
  PetscInt *pos = malloc(sizeof(PetscInt) * (size_t)(rows + 1));
  for (PetscInt i = 0; i <= rows; i++) pos[i] = (PetscInt)a->pos[first + i] - base;
  CHECK(MatSeqAIJSetPreallocationCSR(matrix, pos, a->crd + base, a->vals + base));
  CHECK(MatMPIAIJSetPreallocationCSR(matrix, pos, a->crd + base, a->vals + base));
  free(pos);
  return matrix;
}

/* Row by row: MatConvert from AIJ to SELL gives an empty matrix on several ranks (3.18). */
static Mat sell(const csr_t *a) {
  PetscInt first, end;
  Mat matrix = empty_matrix((PetscInt)a->n_rows, PETSC_DECIDE, MATSELL, &first, &end);
  PetscInt rows = end - first;
  PetscInt *diagonal = calloc((size_t)rows + 1, sizeof(PetscInt));
  PetscInt *others = calloc((size_t)rows + 1, sizeof(PetscInt));
  for (PetscInt i = first; i < end; i++) {
    for (uint64_t k = a->pos[i]; k < a->pos[i + 1]; k++) {
      int is_mine = a->crd[k] >= first && a->crd[k] < end;
      *(is_mine ? &diagonal[i - first] : &others[i - first]) += 1;
    }
  }
  CHECK(MatSeqSELLSetPreallocation(matrix, 0, diagonal));
  CHECK(MatMPISELLSetPreallocation(matrix, 0, diagonal, 0, others));
  for (PetscInt i = first; i < end; i++) {
    PetscInt entries = (PetscInt)(a->pos[i + 1] - a->pos[i]);
    const PetscInt *columns = a->crd + a->pos[i];
    CHECK(MatSetValues(matrix, 1, &i, entries, columns, a->vals + a->pos[i], INSERT_VALUES));
  }
  CHECK(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  CHECK(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  free(diagonal);
  free(others);
  return matrix;
}

static void limit(KSP ksp, int iterations) {
  CHECK(KSPSetTolerances(ksp, 1e-200, 1e-200, 1e200, iterations));
}

static KSP solver(Mat matrix, const char *work, int is_default) {
  KSP ksp;
  PC none;
  CHECK(KSPCreate(PETSC_COMM_WORLD, &ksp));
  CHECK(KSPSetOperators(ksp, matrix, matrix));
  CHECK(KSPGetPC(ksp, &none));
  CHECK(PCSetType(none, PCNONE));
  int is_cg = strcmp(work, "cg") == 0;
  const char *types[][2] = {{"cg", KSPCG}, {"cgs", KSPCGS}, {"bicgstab", KSPBCGS},
                            {"gmres", KSPGMRES}, {"fgmres", KSPFGMRES}};
  for (int k = 0; k < 5; k++)
    if (strcmp(work, types[k][0]) == 0) CHECK(KSPSetType(ksp, types[k][1]));
  KSPNormType cheapest = is_cg ? KSP_NORM_NATURAL
                        : strcmp(work, "fgmres") == 0 ? KSP_NORM_UNPRECONDITIONED
                                                      : KSP_NORM_PRECONDITIONED;
  if (!is_default) CHECK(KSPSetNormType(ksp, cheapest));
  CHECK(KSPSetUp(ksp));
  return ksp;
}

/* What this rank sends in a solve, as -log_view counts it. */
static void count_solve(KSP ksp, Vec x, Vec y, int iterations, double sent[3]) {
  limit(ksp, iterations);
  double before[3] = {petsc_isend_ct + petsc_send_ct, petsc_isend_len + petsc_send_len,
                      petsc_allreduce_ct};
  CHECK(KSPSolve(ksp, x, y));
  double after[3] = {petsc_isend_ct + petsc_send_ct, petsc_isend_len + petsc_send_len,
                     petsc_allreduce_ct};
  for (int k = 0; k < 3; k++) sent[k] = after[k] - before[k];
}

/* What a rank sends in an iteration, what a solve sends beside them, and the reductions of an
 * iteration with the norm that PETSc takes by default: the most of all ranks. */
static void print_traffic(KSP ksp, KSP by_default, Vec x, Vec y, int iterations, int rank) {
  double once[3], twice[3], mine[7], most[7];
  count_solve(by_default, x, y, iterations, once);
  count_solve(by_default, x, y, 2 * iterations, twice);
  mine[6] = (twice[2] - once[2]) / iterations;
  count_solve(ksp, x, y, 2 * iterations, twice);
  count_solve(ksp, x, y, iterations, once);
  for (int k = 0; k < 3; k++) {
    mine[k] = (twice[k] - once[k]) / iterations;
    mine[k + 3] = 2 * once[k] - twice[k];
  }
  MPI_Reduce(mine, most, 7, MPI_DOUBLE, MPI_MAX, 0, PETSC_COMM_WORLD);
  if (rank == 0) {
    printf("traffic");
    for (int k = 0; k < 7; k++) printf(" %g", most[k]);
    printf("\n");
  }
}

double *gathered(Vec y) {
  VecScatter scatter;
  Vec whole;
  const double *elements;
  PetscInt n;
  CHECK(VecScatterCreateToZero(y, &scatter, &whole));
  CHECK(VecScatterBegin(scatter, y, whole, INSERT_VALUES, SCATTER_FORWARD));
  CHECK(VecScatterEnd(scatter, y, whole, INSERT_VALUES, SCATTER_FORWARD));
  CHECK(VecGetLocalSize(whole, &n));
  double *copy = n > 0 ? malloc(sizeof(double) * (size_t)n) : NULL;
  CHECK(VecGetArrayRead(whole, &elements));
  if (n > 0) memcpy(copy, elements, sizeof(double) * (size_t)n);
  CHECK(VecRestoreArrayRead(whole, &elements));
  CHECK(VecScatterDestroy(&scatter));
  CHECK(VecDestroy(&whole));
  return copy;
}

static void run_products_or_solves(const arguments_t *args, Mat matrix, sem_t *semaphore, int rank,
                                   int ranks) {
  Vec x, y, work;
  PetscInt first, end;
  double *elements;
  CHECK(MatCreateVecs(matrix, &x, &y));
  CHECK(VecDuplicate(y, &work));
  CHECK(VecGetOwnershipRange(x, &first, &end));
  CHECK(VecGetArray(x, &elements));
  int is_product = strcmp(args->work, "spmv") == 0;
  for (PetscInt i = first; i < end; i++)
    elements[i - first] = input((uint64_t)i) - (is_product ? 0.5 : 0.0);
  CHECK(VecRestoreArray(x, &elements));
  KSP ksp = is_product ? NULL : solver(matrix, args->work, 0);
  if (is_product) {
    CHECK(MatMult(matrix, x, y));
  } else {
    limit(ksp, check_iterations(args));
    CHECK(KSPSolve(ksp, x, y));
    limit(ksp, args->iterations);
    if (ranks > 1) {
      KSP by_default = solver(matrix, args->work, 1);
      print_traffic(ksp, by_default, x, work, args->iterations, rank);
      CHECK(KSPDestroy(&by_default));
    }
  }
  PetscInt n;
  CHECK(VecGetSize(y, &n));
  double *whole = gathered(y);
  if (rank == 0) print_check(whole, (size_t)n);
  free(whole);
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
}

static void run_operations(const arguments_t *args, const csr_t *a, Mat matrix, sem_t *semaphore,
                           int rank, int ranks) {
  set_up_operation(args, a, matrix);
  operate();
  print_operation_check(rank);
  int repetitions;
  while ((repetitions = agree_on_batch(semaphore, rank, ranks)) > 0) {
    double seconds = 0.0;
    for (int k = 0; k < repetitions; k++) seconds += operate();
    if (rank == 0) print_seconds(seconds);
  }
}

static void run_multigrid(const arguments_t *args, const csr_t *a, Mat matrix, sem_t *semaphore,
                          int rank, int ranks) {
  double setup;
  set_up_multigrid(args, a, matrix);
  solve_from_scratch(&setup);
  print_multigrid_check(a, rank);
  int repetitions;
  while ((repetitions = agree_on_batch(semaphore, rank, ranks)) > 0) {
    double seconds = 0.0, setups = 0.0;
    for (int k = 0; k < repetitions; k++) {
      seconds += solve_from_scratch(&setup);
      setups += setup;
    }
    if (rank == 0) print_phases(seconds, setups);
  }
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
  Mat matrix = strcmp(args.variant, "sell") == 0 ? sell(&a) : aij(&a);
  sem_t *semaphore = gate(rank);
  if (is_operation(args.work))
    run_operations(&args, &a, matrix, semaphore, rank, ranks);
  else if (is_multigrid(args.work))
    run_multigrid(&args, &a, matrix, semaphore, rank, ranks);
  else
    run_products_or_solves(&args, matrix, semaphore, rank, ranks);
  CHECK(PetscFinalize());
  return 0;
}
