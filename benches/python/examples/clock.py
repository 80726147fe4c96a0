"""The time of the steps of a program, without what comes before and after them."""

import time

seconds = 0.0


def timed(steps):
    """The numbers of the steps, as `range`."""
    global seconds
    begin = time.perf_counter()
    yield from range(steps)
    seconds = time.perf_counter() - begin


def at_once(run):
    """What a function returns that makes all steps."""
    global seconds
    begin = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - begin
    return result
