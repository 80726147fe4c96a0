"""The graphs of `examples/synthetic_graphs.rs` on Dask: what a task costs there.

    python3 benches/python/examples/dask_graphs.py [--size 1000] [--busy 0] [--threads 2] [--steps 11]

Runs the example (`cargo build --release --example synthetic_graphs`) and Dask's scheduler for threads
in turn, on the same graphs with tasks of the same kind: busy for a time, then the numbers of a row are
added to. Dask's tasks give new rows, since it has no changes in place. Prints for each graph what a task
takes of a thread beyond the time that it is busy, in microseconds, as medians; exit status 1 if the
results differ. Needs `pip install dask numpy`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

import dask.threaded
import numpy as np

WIDTH = 8


def work(busy):
    begin = time.perf_counter()
    while busy > 0 and time.perf_counter() - begin < busy:
        pass


def count(row, busy):
    work(busy)
    return row + 1.0


def add(row, other, busy):
    work(busy)
    return row + other


def graph_of(kind, n, busy):
    """The tasks as Dask takes them, and the names of the rows at the end."""
    row = np.ones(WIDTH)
    if kind == "serial":
        tasks = {("count", 0): (count, row, busy)}
        tasks.update({("count", i): (count, ("count", i - 1), busy) for i in range(1, n)})
        return tasks, [("count", n - 1)]
    if kind == "independent":
        names = [("count", i) for i in range(n)]
        return {name: (count, row, busy) for name in names}, names
    tasks, rows = {}, {i: row for i in range(n)}
    distance = 1
    while distance < n:
        for i in range(0, n - distance, 2 * distance):
            name = ("sum", distance, i)
            tasks[name] = (add, rows[i], rows[i + distance], busy)
            rows[i] = name
        distance *= 2
    return tasks, [rows[0]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--size", type=int, default=1000, help="tasks")
    parser.add_argument("--busy", choices=["0", "10", "100", "1000"], default="0", help="microseconds")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=11, help="rounds, each once of both")
    parser.add_argument("--binaries", default="target/release/examples")
    arguments = parser.parse_args()
    busy = int(arguments.busy) / 1e6
    print(f"{arguments.size} tasks, {arguments.threads} threads, busy for {arguments.busy} us: "
          "microseconds of a task besides")
    print(f"{'graph':12} {'sparsefuse':>10} {'dask':>10} {'ratio':>7}")
    is_right = True
    for kind in ("independent", "serial", "reduction"):
        tasks, names = graph_of(kind, arguments.size, busy)
        at_once = 1 if kind == "serial" else arguments.threads
        words = [f"{arguments.binaries}/synthetic_graphs", "--json", "--graph", kind]
        words += ["--size", str(arguments.size), "--busy", arguments.busy, "--steps", "5"]
        words += ["--threads", str(arguments.threads)]
        ours, theirs = [], []
        for _ in range(arguments.steps):
            ran = subprocess.run(words, check=True, capture_output=True, text=True)
            checks = json.loads(ran.stdout)["checks"]
            ours.append(checks["microseconds of a task besides"]["value"])
            begin = time.perf_counter()
            rows = dask.threaded.get(tasks, names, num_workers=arguments.threads)
            seconds = time.perf_counter() - begin
            theirs.append((seconds * at_once - busy * len(tasks)) / len(tasks) * 1e6)
        first = {"independent": 2.0, "serial": arguments.size + 1.0, "reduction": arguments.size}
        if rows[0][0] != first[kind]:
            is_right = False
            print(f"{kind}: Dask's first number is {rows[0][0]}, {first[kind]} is right")
        own, other = statistics.median(ours), statistics.median(theirs)
        print(f"{kind:12} {own:10.2f} {other:10.1f} {other / own:7.0f}", flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
