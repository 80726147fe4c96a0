/* Task Bench on MPI: the peer of examples/task_bench.rs, with the same points, inputs, checks and
 * computation.
 *
 *     mpiexec -n RANKS nonblock PATTERN WIDTH TIME-STEPS ITERATIONS ROUNDS
 *
 * Each rank has a range of points. In a time step it posts a nonblocking receive for each input that
 * comes from another rank and a nonblocking send for each output that goes to one, copies those of its
 * own points, waits for all, and runs its points: what the driver `nonblock` of Task Bench does
 * (Slaughter et al., SC 2020). Dependences are listed before the time begins. Prints one line of JSON:
 * the median of the seconds of a graph over the rounds, after one that is not counted. */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 5, LANES = 64 };

/* Of a point: those of the time step before that it depends on, and those of the next one that depend
 * on it, whether or not they take part in a time step. */
typedef struct {
  int n_inputs, n_users;
  int inputs[MOST_INPUTS], users[MOST_INPUTS];
} point_t;

/* The points that take part in a time step. */
typedef struct {
  int begin, end;
} range_t;

typedef struct {
  int64_t t, i;
} output_t;

static const char *pattern;
static int width, steps;

static int is(const char *name) { return strcmp(pattern, name) == 0; }

static int least(int a, int b) { return a < b ? a : b; }

static int is_in(range_t range, int i) { return range.begin <= i && i < range.end; }

/* The points of a time step. */
static range_t points_of(int t) {
  if (t < 0) return (range_t){0, 0};
  if (is("tree")) return (range_t){0, t < 30 ? least(width, 1 << t) : width};
  if (!is("dom")) return (range_t){0, width};
  int begin = t + width > steps ? t + width - steps : 0;
  return (range_t){begin, begin + least(width, least(t + 1, steps - t))};
}

/* How many kinds of time steps there are: those of an fft differ in their distance. */
static int kinds(void) {
  int levels = 0;
  while (is("fft") && 1 << levels < width) levels++;
  return levels > 0 ? levels : 1;
}

/* The points that point i of a time step of a kind depends on. */
static int inputs_of(int kind, int i, int inputs[MOST_INPUTS]) {
  int wanted[MOST_INPUTS], n = 0, found = 0;
  if (is("stencil_1d")) {
    for (int j = i - 1; j <= i + 1; j++) wanted[n++] = j;
  } else if (is("nearest")) {
    for (int j = i - 2; j <= i + 2; j++) wanted[n++] = j;
  } else if (is("fft")) {
    for (int k = -1; k <= 1; k++) wanted[n++] = i + k * (1 << kind);
  } else if (is("tree")) {
    wanted[n++] = i / 2;
  } else if (is("dom")) {
    for (int j = i - 1; j <= i; j++) wanted[n++] = j;
  } else {
    wanted[n++] = i;
  }
  for (int k = 0; k < n; k++) {
    if (0 <= wanted[k] && wanted[k] < width) inputs[found++] = wanted[k];
  }
  return found;
}

static void compute(long iterations, int t) {
  double numbers[LANES];
  for (int k = 0; k < LANES; k++) numbers[k] = (double)t + (double)k;
  for (long iteration = 0; iteration < iterations; iteration++) {
    for (int k = 0; k < LANES; k++) numbers[k] = numbers[k] * 0.75 + 0.25;
  }
  /* As if the numbers were used. */
  __asm__ volatile("" : : "r"(numbers) : "memory");
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int owner(int i, int ranks) {
  int rank = 0;
  while (i >= (rank + 1) * width / ranks) rank++;
  return rank;
}

/* Of the message from one point to another; Open MPI has 31 bits. */
static int tag(int from, int to) { return (from % (1 << 15)) << 15 | to % (1 << 15); }

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 6) {
    fprintf(stderr, "nonblock: expected PATTERN WIDTH TIME-STEPS ITERATIONS ROUNDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  pattern = argv[1];
  width = atoi(argv[2]);
  steps = atoi(argv[3]);
  long iterations = atol(argv[4]);
  int rounds = atoi(argv[5]);
  int first = rank * width / ranks, end = (rank + 1) * width / ranks, own = end - first;

  /* All points of each kind of time step, of which each rank looks at its own. */
  int n_kinds = kinds();
  point_t *points = calloc((size_t)n_kinds * (size_t)width, sizeof(point_t));
  int *owners = malloc(sizeof(int) * (size_t)width);
  long n_points = 0;
  for (int i = 0; i < width; i++) owners[i] = owner(i, ranks);
  for (int t = 0; t < steps; t++) n_points += points_of(t).end - points_of(t).begin;
  for (int kind = 0; kind < n_kinds; kind++) {
    point_t *all = &points[(size_t)kind * (size_t)width];
    for (int i = 0; i < width; i++) {
      all[i].n_inputs = inputs_of(kind, i, all[i].inputs);
      for (int k = 0; k < all[i].n_inputs; k++) {
        point_t *from = &all[all[i].inputs[k]];
        from->users[from->n_users++] = i;
      }
    }
  }

  size_t n_own = own > 0 ? (size_t)own : 1;
  output_t *outputs = malloc(sizeof(output_t) * n_own);
  output_t(*inputs)[MOST_INPUTS] = malloc(sizeof(output_t[MOST_INPUTS]) * n_own);
  MPI_Request *requests = malloc(sizeof(MPI_Request) * 2 * MOST_INPUTS * n_own);
  double *seconds = malloc(sizeof(double) * (size_t)rounds);
  int *n_inputs = malloc(sizeof(int) * n_own);
  int(*places)[MOST_INPUTS] = malloc(sizeof(int[MOST_INPUTS]) * n_own);
  long wrong = 0;
  for (int round = -1; round < rounds; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int t = 0; t < steps; t++) {
      const point_t *all = &points[(size_t)((t + n_kinds - 1) % n_kinds) * (size_t)width];
      range_t before = points_of(t - 1), now = points_of(t);
      int n = 0;
      for (int i = first; i < end; i++) {
        int found = 0;
        for (int k = 0; is_in(now, i) && k < all[i].n_inputs; k++) {
          int from = all[i].inputs[k];
          if (!is_in(before, from)) continue;
          output_t *input = &inputs[i - first][found];
          places[i - first][found++] = from;
          if (owners[from] == rank) {
            *input = outputs[from - first];
          } else {
            MPI_Irecv(input, sizeof *input, MPI_BYTE, owners[from], tag(from, i), MPI_COMM_WORLD,
                      &requests[n++]);
          }
        }
        n_inputs[i - first] = found;
        for (int k = 0; is_in(before, i) && k < all[i].n_users; k++) {
          int to = all[i].users[k];
          if (owners[to] != rank && is_in(now, to)) {
            MPI_Isend(&outputs[i - first], sizeof *outputs, MPI_BYTE, owners[to], tag(i, to),
                      MPI_COMM_WORLD, &requests[n++]);
          }
        }
      }
      MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
      for (int i = first; i < end; i++) {
        if (!is_in(now, i)) continue;
        for (int k = 0; k < n_inputs[i - first]; k++) {
          const output_t *input = &inputs[i - first][k];
          wrong += input->t != t - 1 || input->i != places[i - first][k];
        }
        compute(iterations, t);
        outputs[i - first] = (output_t){t, i};
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (round >= 0) seconds[round] = MPI_Wtime() - begin;
  }
  long all_wrong;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(seconds, (size_t)rounds, sizeof(double), compare);
    printf("{\"seconds\": %.9e, \"points\": %ld, \"wrong\": %ld}\n", seconds[rounds / 2], n_points,
           all_wrong);
  }
  MPI_Finalize();
  return 0;
}
