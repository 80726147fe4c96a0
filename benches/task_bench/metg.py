"""METG(50) and the floor of a task: the example `task_bench` on threads and on ranks beside MPI.

    python3 benches/task_bench/metg.py [--patterns stencil_1d,fft] [--widths 2,8] [--time-steps 1000]
        [--rounds 3] [--systems threads,ranks,ranks-in-process,mpi] [--mpiexec "mpiexec -n 2"]

The granularity of a task is the seconds of a graph times the cores that work (2) / its points; the
efficiency is the rate of iterations against the highest rate that the same system reaches. METG(50),
the minimum effective task granularity, is the smallest granularity with an efficiency of 50 % or more,
by linear interpolation between two runs. The floor is the granularity of tasks that compute nothing.

Runs all systems in turn with the iterations of a task halved each time, then without any, and so on
for each round; of the rounds the shortest time counts. Each run does the graph once, then several times,
of which it reports the median. Build before:

    cargo build --release --features mpi --example task_bench
    mpicc -O3 -o target/nonblock benches/task_bench/nonblock.c
"""

import argparse
import json
import os
import subprocess
import sys

CORES = 2
# Of a rank: cuts at any point, so that few points are shared by the ranks too.
CUTS = {"SPARSEFUSE_CUT": "1", "SPARSEFUSE_TILE": "1"}
# Operations of a graph with the largest tasks: about a second.
LARGEST = 2**32


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--patterns", default="stencil_1d,nearest,fft,no_comm,tree,dom")
    parser.add_argument("--widths", default="8")
    parser.add_argument("--time-steps", default="1000", choices=["10", "100", "1000"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--graphs", type=int, default=3, help="graphs of a run")
    parser.add_argument("--systems", default="threads,ranks,ranks-in-process,mpi")
    parser.add_argument("--mpiexec", default=f"mpiexec -n {CORES}")
    parser.add_argument("--binaries", default="target")
    return parser.parse_args()


def run(system, options, pattern, width, iterations):
    """Seconds of a graph, and its points."""
    mpiexec = options.mpiexec.split()
    if system == "mpi":
        words = [f"{options.binaries}/nonblock", pattern, width, options.time_steps]
        command = mpiexec + words + [iterations, options.graphs]
        environment = {}
    else:
        words = [f"{options.binaries}/release/examples/task_bench", "--json", "--size", width]
        words += ["--pattern", pattern, "--time-steps", options.time_steps]
        words += ["--iterations", iterations, "--steps", options.graphs]
        form = {
            "threads": ["--form", "tasks", "--threads", CORES],
            "ranks": ["--form", "arrays", "--threads", 1],
            "ranks-in-process": ["--form", "arrays", "--threads", 1, "--ranks", CORES],
        }
        command = (mpiexec if system == "ranks" else []) + words + form[system]
        environment = {} if system == "threads" else dict(CUTS)
        if system != "ranks":
            environment["SPARSEFUSE_MPI"] = "0"
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        check=True,
    )
    report = json.loads(done.stdout)
    if system == "mpi":
        if report["wrong"]:
            sys.exit(f"{command}: {report['wrong']} inputs are wrong")
        return report["seconds"], report["points"]
    checks = report["checks"]
    return checks["seconds of a graph"]["value"], checks["points"]["value"]


def metg(points):
    """Of pairs of granularity and efficiency, the smallest granularity first."""
    below = None
    for granularity, efficiency in points:
        if efficiency >= 0.5 and below is None:
            return granularity
        if efficiency >= 0.5:
            smaller, of_smaller = below
            share = (0.5 - of_smaller) / (efficiency - of_smaller)
            return smaller + share * (granularity - smaller)
        below = (granularity, efficiency)
    return float("nan")


def measure(options, pattern, width):
    systems = options.systems.split(",")
    most = max(LARGEST // (64 * int(width) * int(options.time_steps)), 64)
    iterations = [0] + [2**k for k in range(14) if 2**k <= most]
    seconds = {}
    for _ in range(options.rounds):
        for number in reversed(iterations):
            for system in systems:
                found, points = run(system, options, pattern, width, number)
                best = seconds.get((system, number), float("inf"))
                seconds[system, number] = min(best, found)
    for system in systems:
        granularity = {n: seconds[system, n] * CORES / points * 1e6 for n in iterations}
        rate = {n: n / granularity[n] for n in iterations}
        peak = max(rate.values())
        found = metg([(granularity[n], rate[n] / peak) for n in iterations])
        row = [pattern, width, system, f"{found:.3f}", f"{granularity[0]:.3f}"]
        print("| " + " | ".join(row + [f"{peak * 64 * 2 / 1e3:.1f}"]) + " |", flush=True)


def main():
    options = arguments()
    print("| pattern | width | system | METG(50), us | floor, us | GFLOP/s of a core |")
    print("|---|--:|---|--:|--:|--:|")
    for pattern in options.patterns.split(","):
        for width in options.widths.split(","):
            measure(options, pattern, width)


if __name__ == "__main__":
    main()
