"""The graph of `gallery::rmat`, by its own random numbers (Philox4x32-10), in NumPy."""

import numpy as np

MASK = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def bits(seed, index):
    """The 64 random bits of each index."""
    words = [index & MASK, index >> SHIFT, np.zeros_like(index), np.zeros_like(index)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first = np.uint64(0xD2511F53) * words[0]
        second = np.uint64(0xCD9E8D57) * words[2]
        words = [
            (second >> SHIFT) ^ words[1] ^ np.uint64(key[0]),
            second & MASK,
            (first >> SHIFT) ^ words[3] ^ np.uint64(key[1]),
            first & MASK,
        ]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return words[0] | words[1] << SHIFT


def rmat(scale, per_row, seed):
    """The weighted graph of 2**scale nodes as a SciPy matrix in row format."""
    from scipy.sparse import coo_matrix

    n = 1 << scale
    draws = np.uint64(-(-scale // 4) + 1)
    first = np.arange(per_row * n, dtype=np.uint64) * draws
    rows, columns = np.zeros(first.size, np.int64), np.zeros(first.size, np.int64)
    for level in range(scale):
        if level % 4 == 0:
            drawn = bits(seed, first + np.uint64(level // 4))
        quadrant = np.searchsorted([37356, 49807, 62259], drawn & np.uint64(0xFFFF), "right")
        drawn = drawn >> np.uint64(16)
        rows, columns = 2 * rows + quadrant // 2, 2 * columns + quadrant % 2
    last = bits(seed, first + draws - np.uint64(1))
    weights = 1 - (last >> np.uint64(11)) / 2.0**53
    return coo_matrix((weights, (rows, columns)), shape=(n, n)).tocsr()
