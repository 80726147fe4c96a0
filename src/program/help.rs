//! The texts of `--help`.

pub(super) const ABOUT: &str = "\
Solves and describes sparse linear systems, and finds eigenvalues.

Matrices come from files of Matrix Market or SciPy, or from generators. The work is split over \
threads and ranks. Ranks are processes (under mpiexec or srun, if built with the feature `mpi`) or \
threads of one process. The bits of the solution do not depend on the number of threads and ranks.";

pub(super) const OVERVIEW: &str = "\
Examples:
  sparsefuse solve poisson2d:512
  sparsefuse solve matrix.mtx.gz --solver bicgstab --pc jacobi --out x.mtx
  sparsefuse solve poisson3d:64 --ranks 2 --json
  sparsefuse solve poisson2d:2048 --checkpoint state.ck --every 500
  sparsefuse plan poisson2d:4096 --ranks 4096
  mpiexec -n 2 sparsefuse solve poisson3d:64
  sparsefuse solve poisson3d:128 --device cuda
  sparsefuse eigs poisson2d:512 --k 4 --sigma 0
  sparsefuse info matrix.mtx --spy matrix.png

Exit status:
  0  done; for `solve` and `eigs`: converged
  1  the solver ran, but did not converge
  2  could not be done: bad input or usage, no memory, a file that cannot be written; one line on
     standard error says what was expected and what was found

Environment (settings of the runtime; the options of a command come first):
  SPARSEFUSE_THREADS  threads, divided among the ranks
  SPARSEFUSE_FUSION   0 or 1: whether tasks are fused
  SPARSEFUSE_ISA      baseline, avx2 or avx512: the instruction set of the kernels
  SPARSEFUSE_TILE     rows of a tile of the summation order; changes the last bits of results
  SPARSEFUSE_AHEAD    windows that may run while the program goes on, on one rank (2)
  SPARSEFUSE_CUT      arrays with fewer elements are replicated on every rank
  SPARSEFUSE_CHECK    0 or 1: whether ranks check that they run the same program
  SPARSEFUSE_MEMORY   the most bytes that the arrays of one rank may take
  SPARSEFUSE_MPI      0: ignore mpiexec and srun, and run alone
  SPARSEFUSE_PACK     0 or 1: whether matrices that are multiplied again are packed
  SPARSEFUSE_DEVICE   none, cuda, cuda:1 or emulated: where kernels run besides the processors
  SPARSEFUSE_DEVICE_BYTES  the bytes that a task moves at least to go there (4194304)
  SPARSEFUSE_NVRTC    the library that compiles for GPUs, libnvrtc.so, where it is not found
  SPARSEFUSE_NATIVE   0 or 1: whether expensive kernels are compiled in the background
  SPARSEFUSE_CACHE    the directory of compiled kernels
  SPARSEFUSE_CC       the C compiler for them: a command with its arguments

`sparsefuse solve --help` explains the sources of matrices and the fields of the JSON object.";

pub(super) const SOLVE: &str = "\
Solves A x = b by a Krylov method and reports how it went.

Convergence is decided by the true residual b - A x, which is computed from x after the last \
iteration; the report shows it.";

/// What every command takes as its matrix; a macro because `concat!` takes literals alone.
macro_rules! sources {
    () => {
        "\
Sources of matrices:
  FILE.mtx, FILE.mtx.gz  Matrix Market: coordinate or array; real, integer, pattern or complex
  FILE.npz               what scipy.sparse.save_npz writes: csr, csc, coo, dia or bsr
  poisson1d:N            second difference on N points
  poisson2d:N            five-point Laplacian on an N by N grid
  poisson3d:N            seven-point Laplacian on an N by N by N grid
  banded:N,DIAGONALS     N rows, an odd number of full diagonals, diagonally dominant
  diffusion2d:N, diffusion3d:N, banded_varying:N,DIAGONALS
                         the same structures with coefficients that vary, positive definite
  random:N,PER_ROW,SEED  N rows with PER_ROW entries in random columns and a dominant diagonal;
                         not symmetric
  rmat:SCALE[,PER_ROW[,SEED]]
                         graph with a power law: 2^SCALE nodes with PER_ROW (16) edges each;
                         duplicate edges are summed"
    };
}

pub(super) const AFTER_SOLVE: &str = concat!(
    sources!(),
    "

Examples:
  sparsefuse solve poisson2d:512
  sparsefuse solve random:100000,8,1 --solver bicgstab --rhs random:7
  sparsefuse solve matrix.mtx --rhs b.mtx --pc jacobi --rtol 1e-10 --out x.mtx
  sparsefuse solve matrix.mtx --solver gmres --restart 50 --pc ilu:1
  sparsefuse solve matrix.mtx --solver auto --pc auto --plot residuals.png
  sparsefuse solve poisson2d:1024 --pc gmg
  sparsefuse solve diffusion3d:64 --solver richardson --pc gmg:cycle=w,smoother=gs,post=2
  sparsefuse solve poisson3d:64 --explain
  sparsefuse solve poisson2d:2048 --checkpoint state.ck --every 500
  sparsefuse solve poisson2d:2048 --resume state.ck --checkpoint state.ck --ranks 2
  sparsefuse solve poisson2d:256 --json | jq .us_per_iteration

Preconditioners (--pc NAME or NAME:OPTIONS; defaults in brackets):
  none                       no preconditioner
  auto                       chosen by looking at the matrix, as --solver auto; if a choice does
                             not converge, the next one is tried, and the report says why
  jacobi                     division by the diagonal
  bjacobi:SIZE               the inverse of dense blocks on the diagonal [32 rows]
  sor:OMEGA, ssor:OMEGA      successive over-relaxation, forward or symmetric [1: Gauss-Seidel];
                             with the option colors (ssor:colors) in multicolor order
  chebyshev:DEGREE           a Chebyshev polynomial in A [4]
  polynomial:DEGREE          a Neumann series [2]
  ilu:K                      incomplete LU with K levels of fill [0]
  ilut:DROP,FILL             incomplete LU: entries below DROP times the norm of their row are
                             dropped, and all but the FILL largest [1e-3, 20]
  ic                         incomplete Cholesky without fill
  schwarz:OVERLAP,blocks=N   additive Schwarz with ILU(0) [1, one block on each rank: the only
                             preconditioner whose iterations depend on the ranks]; also asm
  lu, cholesky               complete factorisations, replicated on every rank
  gmg:OPTIONS                geometric multigrid on the generator's grid, or on --grid
  amg:OPTIONS                algebraic multigrid by smoothed aggregation
Options of multigrid: cycle=v|w|vw|f, smoother=jacobi|chebyshev, pre=N and post=N (smoothing steps
before, at least one, and after the coarse correction), levels=N (at most), coarsest=N (a level with
at most N rows is the last), coarse=inverse|direct|smoother (the solver of the coarsest level: the
dense inverse of at most 4000 rows, sparse LU, or the smoother); gmg also has smoother=gs and
restriction=full|injection; amg has theta=T, below 1 (the strength threshold: couplings weaker than
T times their diagonals are dropped).

Several right-hand sides: if the file of --rhs has k columns, each is solved for, several at a time
where that is faster. The report has a line and `columns` an entry for each; --out writes k columns;
the exit status is 0 if all have converged. --plot, --checkpoint and --resume take one column.

Fields of the JSON object (null stands for a number that is infinite or not a number):
  source                     the matrix, as given
  solver, pc, dtype          as used; dtype is f32, f64, cf32 or cf64 (complex)
  chosen_because             why --solver auto or --pc auto chose these, or null
  tried                      what else was tried: solver, pc, outcome, seconds
  rows, cols, nnz            the size of the matrix and its stored entries
  threads, ranks             threads of each rank, ranks
  imbalance                  the work of the busiest rank (entries and rows) over the mean; rows
                             are redistributed by entries where that gains more than a tenth
  imbalance_of_equal_rows    the same with equally many rows for each rank
  converged, reason          whether the solver converged, and why it stopped; of several
                             right-hand sides the reason of the first that did not converge
  hint                       what may help if it did not converge, or null
  iterations                 of the method, those before a checkpoint included; the sum of all
                             right-hand sides
  columns                    of each right-hand side: converged, reason, iterations, true_residual
  resumed_at                 iterations of the checkpoint that the solve resumed from, or 0
  true_residual              |b - A x| / |b|, computed from x; the largest of all right-hand sides
  setup_s, solve_s           seconds for reading, assembly, b, the preconditioner and all that auto
                             tried in vain; for the solver alone
  us_per_iteration           microseconds of solve_s for each iteration
  tasks_per_iteration        operations that the method issued
  fused_tasks_per_iteration  fused tasks that ran
  device                     what ran tasks besides the processors, or null
  device_tasks_per_iteration fused tasks that ran there
  uploaded_bytes, downloaded_bytes  copied to the device, and from it, in all
  bytes_per_iteration        bytes that kernels read and wrote, counted from their arguments, on all
                             ranks
  peak_memory_bytes          the most memory of all arrays at any time, summed over the ranks
  process_memory_bytes       the most memory of a process at any time, factors of direct solves and
                             buffers among it: of the largest process; null where the system does
                             not tell
  solution_hash              FNV-1a, 64 bits, of the little-endian bytes of x, column by column
                             (complex: real part first; every NaN as the same one); the same for
                             any number of threads and ranks, with and without fusion
The fields per iteration are totals of the whole solve, with its start and its final check, divided
by the iterations of this run.

Checkpoints: a new file is written under another name, synced and renamed, so a complete one always
remains. --resume refuses a file of another method, matrix, b, preconditioner, precision or
SPARSEFUSE_TILE. Tolerances and --max-iter may differ. The methods cg, cgs and bicgstab have
checkpoints.

Least squares: lsqr and lsmr also stop where the residual is minimal without being small,
|A'(b - A x)| <= RTOL |A| |b - A x|; that is reported and does not count as converged
(exit status 1).

Exit status:
  0  converged
  1  ran, but did not converge
  2  could not be done: bad input or usage, no memory, a file that cannot be written"
);

pub(super) const PLAN: &str = "\
Analyses a solve for many ranks without running it.

For one rank after the other the program makes the rows, finds the ghosts, packs the matrix and \
schedules the tasks of the method, as in a real run; it computes nothing and sends nothing. The \
figures are those of one iteration after the first ones.";

pub(super) const AFTER_PLAN: &str = concat!(
    sources!(),
    "
Files cannot be planned: to read one, all ranks exchange rows.

Examples:
  sparsefuse plan poisson2d:4096 --ranks 4096
  sparsefuse plan poisson3d:256 --ranks 64 --solver bicgstab --pc jacobi
  sparsefuse plan diffusion2d:1024 --ranks 16 --latency 1e-5 --bandwidth 1e9 --json

Figures of each rank, and fields of the JSON object in `spread` (min, mean, max, rank_of_max) and
`per_rank`:
  rows, nonzeros               of the matrix
  ghosts                       elements of vectors that products need and other ranks hold
  neighbours                   ranks that hold them
  ghost_messages, ghost_bytes  sent in an iteration to ranks that need rows of this one
  reduction_messages, reduction_bytes
                               sent in an iteration for reductions, along a tree
  matrix_bytes                 the matrix as it is assembled
  product_bytes                the matrix as a product reads it, packed where that is smaller
  peak_memory_bytes            the most memory of all arrays at any time
  bytes, flops                 that kernels move and compute in an iteration
  compute_s, communication_s   seconds of an iteration, by the model
Other fields: source, solver, pc, ranks, rows, nnz; fused_tasks_per_iteration,
reductions_per_iteration; machine (latency_s, bandwidth, flops, memory_bandwidth); iteration_s and
slowest_rank.
Not planned are methods that need the adjoint or whose iterations differ: gmres, fgmres, lgmres,
gcrotmk, bicg, qmr, lsqr and lsmr.

The model: a fused task takes the time of its memory traffic or of its operations, whichever is
longer; each message costs its sender the latency and its bytes, one after the other. Nothing
overlaps, and an iteration takes as long as on the slowest rank. The defaults are a core with
10 GB/s and 10 Gflop/s, and a network with 2 us and 10 GB/s for each rank."
);

pub(super) const EIGS: &str = "\
Finds a few eigenvalues of a square matrix: of a symmetric (Hermitian) one by Lanczos's method with \
thick restarts, of others by the Krylov-Schur method, with complex values.

With --sigma the method works with the inverse of A - S I, by a sparse LU factorisation, and finds \
the eigenvalues nearest to S; without it works with A itself, and finds those at the ends of the \
spectrum. With --mass it solves A x = value B x, and vectors are orthonormal in the inner product of B. \
The residuals |A x - value x| (or |A x - value B x|) are computed from the eigenvectors after the \
last step. Of an eigenvalue that occurs several times it may miss copies: a Krylov space \
contains one vector of each eigenspace, and only rounding brings in the others. A smaller --tol or a \
larger --ncv finds more of them. Of a matrix that is far from normal, as a product of triangles may \
be, eigenvalues are less exact than their residuals.";

pub(super) const AFTER_EIGS: &str = concat!(
    sources!(),
    "

Examples:
  sparsefuse eigs poisson2d:100 --which largest
  sparsefuse eigs poisson2d:512 --k 4 --sigma 0
  sparsefuse eigs matrix.mtx --k 10 --which ends --tol 1e-6 --json
  sparsefuse eigs matrix.mtx --k 2 --out vectors.mtx
  sparsefuse eigs stiffness.mtx --mass mass.mtx --sigma 0
  sparsefuse eigs tests/data/unsymmetric.mtx --k 4 --sigma 0.5+1i

Fields of the JSON object (null stands for a number that is infinite or not a number):
  source                     the matrix, as given
  dtype                      f64 or cf64 (complex)
  rows, nnz                  the size of the matrix and its stored entries
  threads, ranks             threads of each rank, ranks
  hermitian                  whether the matrix is its adjoint, up to rounding
  mass                       the mass matrix, as given, or null
  which                      as used; `nearest` with --sigma
  sigma                      as given, a number or its parts [re, im], or null
  values, residuals          converged or not; of a Hermitian matrix in ascending order, of others
                             the most wanted first, each value as its parts [re, im]
  converged, reason          whether all have converged, and why the method stopped
  hint                       what may help if they have not, or null
  converged_values           how many have converged
  restarts, products         of the method; products are with A, or with the inverse
  setup_s, solve_s           seconds for reading and assembly; for factors and the method

Exit status:
  0  converged
  1  ran, but did not converge
  2  bad input or usage"
);

pub(super) const INFO: &str = "\
Describes a matrix: its size, structure, symmetry and diagonal, its bytes in memory, and the header \
of its file.";

pub(super) const AFTER_INFO: &str = concat!(
    sources!(),
    "

Examples:
  sparsefuse info matrix.mtx
  sparsefuse info poisson2d:32 --spy poisson.png

Fields of the JSON object:
  source                       the matrix, as given
  rows, cols, nnz              the size of the matrix and its stored entries, duplicates summed
  dtype                        f64 or cf64 (complex)
  row_min, row_mean, row_max   stored entries of a row; row_mean is null without rows
  empty_rows                   rows without stored entries
  bandwidth                    the largest |row - column| of a stored entry
  pattern_symmetric            whether entries are stored in pairs across the diagonal
  symmetry                     symmetric, hermitian, skew-symmetric or none: the values, up to
                               rounding: 1000 times the precision of the largest entry
  diagonal_missing             places of the diagonal where nothing is stored
  diagonal_zero                entries of the diagonal that are stored and 0
  diagonal_positive            whether all of the diagonal is stored, real and above 0
  dominant_rows                the share of rows whose diagonal entry is at least as large as the
                               sum of the others, in absolute values; null without rows
  csr_bytes                    bytes of the matrix in compressed row format
  csr_bytes_per_nonzero        the same for each stored entry; null without entries
  packed                       how repeated products read the matrix: bytes, bytes_per_nonzero,
                               the rows in each form (stencil_rows, diagonal_rows,
                               window_rows, paced_rows), and the values of the dictionary
                               (0 without one)
  file                         null, or what the file's header says: format, field, symmetry,
                               stored (the entries in the file)"
);
