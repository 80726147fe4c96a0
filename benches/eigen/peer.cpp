// Eigen as a competitor: row-major products on OpenMP threads, its own CG and BiCGSTAB without a
// preconditioner for a fixed number of iterations, and what operations.hpp does. It has no CGS.

#include <Eigen/Sparse>
#include <omp.h>

#include "operations.hpp"

template <class Solver>
static void solve(Solver &solver, const Eigen::VectorXd &b, Eigen::VectorXd &x) {
  x = solver.solve(b);
}

int main(int argc, char **argv) {
  arguments_t args = arguments(argc, argv);
  Eigen::setNbThreads(args.threads);
  printf("version Eigen %d.%d.%d\n", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  csr_t file = map_matrix(args.matrix);
  int n = (int)file.n_rows;
  Matrix a(n, (int)file.n_cols);
  a.resizeNonZeros((int)file.nnz);
  for (int i = 0; i <= n; i++) a.outerIndexPtr()[i] = (int)file.pos[i];
  memcpy(a.innerIndexPtr(), file.crd, sizeof(int) * file.nnz);
  memcpy(a.valuePtr(), file.vals, sizeof(double) * file.nnz);

  Eigen::VectorXd b(n), x(n);
  double shift = strcmp(args.work, "spmv") == 0 ? 0.5 : 0.0;
  for (int i = 0; i < n; i++) b[i] = input((uint64_t)i) - shift;

  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner> cg;
  Eigen::BiCGSTAB<Matrix, Eigen::IdentityPreconditioner> bicgstab;
  cg.setTolerance(1e-150);
  bicgstab.setTolerance(1e-150);
  if (strcmp(args.work, "cg") == 0) cg.compute(a);
  if (strcmp(args.work, "bicgstab") == 0) bicgstab.compute(a);

  Operations operations(args, file, a);
  auto once = [&](int iterations) {
    if (operations.is_asked()) operations.once();
    cg.setMaxIterations(iterations);
    bicgstab.setMaxIterations(iterations);
    if (strcmp(args.work, "spmv") == 0) x.noalias() = a * b;
    if (strcmp(args.work, "cg") == 0) solve(cg, b, x);
    if (strcmp(args.work, "bicgstab") == 0) solve(bicgstab, b, x);
  };
  once(check_iterations(&args));
  if (operations.is_asked())
    operations.print_check();
  else
    print_check(x.data(), (size_t)n);
  int repetitions;
  while ((repetitions = next_batch()) > 0) {
    double start = now();
    for (int k = 0; k < repetitions; k++) once(args.iterations);
    print_seconds(now() - start);
  }
  return 0;
}
