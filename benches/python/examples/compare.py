"""The programs of `examples/` beside the same programs in NumPy, JAX and numba.

    python3 benches/python/examples/compare.py [NAME[:SIZE[:STEPS]] ...] [--peers numpy,jax,numba]
        [--threads 1] [--rounds 5] [--binaries target/release/examples]

Runs the built examples (`cargo build --release --examples`), compares their results with those of
the peers, and prints the mean time of a step of each, all steps counted: medians over the rounds.
The peers are processes that stay, run the program once before it is timed, and do so again in each
round, after a run of the example, which is a new process with its first steps: so the phases of the
machine hit all alike. Exit status 1 if a result differs, or a peer fails.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Size and steps of a comparison where no others are given.
WORK = {
    "stencil27": (128, 40),
    "channel_flow": (256, 40),
    "shallow_water": (256, 60),
    "black_scholes": (1_000_000, 50),
    "mandelbrot": (1000, 100),
    "logistic_regression": (200_000, 40),
    "prk_stencil": (1024, 60),
    "jacobi": (2000, 60),
    "k_means": (200_000, 20),
    "n_body": (1000, 40),
    "page_rank": (16, 60),
    "matrix_factorization": (14, 30),
    "rydberg": (22, 20),
    "wave_dg": (32, 60),
    "euler_dg": (24, 30),
    "navier_stokes_dg": (16, 30),
}


def worker(name, variant, size, steps):
    """A peer: says that it is ready and where its result is, then answers each line by seconds."""
    sys.path.insert(0, HERE)
    import clock
    import numpy as np

    if variant == "numpy":
        from twins import TWINS
    elif variant == "jax":
        from twins_jax import TWINS
    else:
        from twins_numba import TWINS
    if name not in TWINS:
        print("none", flush=True)
        return
    run = TWINS[name]
    with tempfile.NamedTemporaryFile(suffix=".npy", delete=False) as file:
        np.save(file, np.asarray(run(size, steps)))
    print(file.name, flush=True)
    for _ in sys.stdin:
        run(size, steps)
        print(clock.seconds, flush=True)


class Peer:
    def __init__(self, name, variant, size, steps, threads):
        environment = dict(os.environ)
        for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
            environment[f"{library}_NUM_THREADS"] = str(threads)
        environment["JAX_PLATFORMS"] = "cpu"
        if threads == 1:
            environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        words = [sys.executable, __file__, "--worker", name, variant, str(size), str(steps)]
        if threads == 1:
            words = ["taskset", "-c", "0", *words]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=environment)
        self.steps = steps
        self.times = []

    def result(self):
        """What it has computed; None if it does not have this program."""
        import numpy as np

        line = self.process.stdout.readline().strip()
        if line == "none":
            return None
        if line == "":
            sys.exit("a peer has failed: its own lines are above")
        array = np.load(line)
        os.unlink(line)
        return array

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.times.append(1e6 * float(self.process.stdout.readline()) / self.steps)


def example(name, size, steps, arguments, out=None):
    words = [os.path.join(arguments.binaries, name), "--json", "--size", str(size)]
    words += ["--steps", str(steps), "--threads", str(arguments.threads)]
    words += ["--out", out] if out else []
    if arguments.threads == 1:
        words = ["taskset", "-c", "0", *words]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def compare(name, size, steps, arguments):
    import numpy as np
    from twins import TOLERANCES

    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        report = example(name, size, steps, arguments, file.name)
        expected = np.load(file.name)
    is_right = True
    peers = {}
    for variant in arguments.peers:
        peer = Peer(name, variant, size, steps, arguments.threads)
        found = peer.result()
        if found is None:
            peer.process.kill()
            continue
        scale = max(np.abs(expected).max(), 1e-300)
        difference = np.abs(found - expected).max() / scale
        is_same = found.shape == expected.shape and difference <= TOLERANCES[name]
        is_right &= is_same
        verdict = "" if is_same else f" (more than {TOLERANCES[name]:.0e}: DIFFERENT)"
        print(f"{name:20} {variant:6} differs by {difference:.1e}{verdict}", flush=True)
        peers[variant] = peer
    times = []
    if arguments.rounds > 0:
        # Long enough for the compiler of native code, whose results later runs find on the disk.
        example(name, size, 10 * steps, arguments)
    for _ in range(arguments.rounds):
        times.append(1e6 * example(name, size, steps, arguments)["seconds"] / steps)
        for peer in peers.values():
            peer.go()
    if not times:
        return is_right
    own = statistics.median(times)
    line = f"{name:20} size {size}, {arguments.threads} threads: {own:.1f} us a step, "
    line += f"{report['tasks_per_step']:.0f} tasks fused to {report['fused_tasks_per_step']:.2f}, "
    line += f"{report['peak_memory_arrays']:.1f} arrays"
    for variant, peer in peers.items():
        time_of_peer = statistics.median(peer.times)
        line += f"; {variant} {time_of_peer:.1f} us ({time_of_peer / own:.2f}x)"
        peer.process.stdin.close()
    print(line, flush=True)
    return is_right


def main():
    if sys.argv[1:2] == ["--worker"]:
        name, variant, size, steps = sys.argv[2:]
        return worker(name, variant, int(size), int(steps))
    sys.path.insert(0, HERE)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", nargs="*", default=list(WORK))
    parser.add_argument("--peers", default="numpy", type=lambda text: text.split(","))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--binaries", default="target/release/examples")
    arguments = parser.parse_args()
    is_right = True
    for work in arguments.work:
        name, *numbers = work.split(":")
        size, steps = [*map(int, numbers), *WORK[name][len(numbers) :]]
        is_right &= compare(name, size, steps, arguments)
    sys.exit(0 if is_right else 1)


main()
