"""Runs the explorer of src/ad/sources/explorer.cpp in vectorized numpy. Prints one line of JSON.

All histories make a step together. Each operation handles only the histories that need it.

It has two ways to find a nearest unseen cell; `rings` was measured to be the faster one.
  keys   gives each cell a 16-bit key, its distance and then a random byte, and takes the unseen
         cell with the smallest key
  rings  uses bit sets: it intersects the cells at distance 1, 2, ... of a history with its unseen
         ones until a ring is not empty, and draws one of its bits
"""

import argparse
import json
import time

import numpy as np

SIDE, HORIZON, ACTIONS, START = 9, 20, 5, 40
CELLS = SIDE * SIDE
EPISODES, EPSILON = 8, 0.05
X, Y = np.divmod(np.arange(CELLS), SIDE)
DISTANCE = np.abs(X[:, None] - X) + np.abs(Y[:, None] - Y)
RADIUS = 2 * (SIDE - 1)


def moves():
    """Returns [cells, actions]: the result of each action."""
    dx, dy = np.array([1, -1, 0, 0, 0]), np.array([0, 0, 1, -1, 0])
    x = np.clip(X[:, None] + dx, 0, SIDE - 1)
    y = np.clip(Y[:, None] + dy, 0, SIDE - 1)
    return (x * SIDE + y).astype(np.uint8)


def ways():
    """Returns [from, to]: the first action of a shortest way, along x before y."""
    way = np.full((CELLS, CELLS), 4, np.uint8)
    way[Y[:, None] < Y] = 2
    way[Y[:, None] > Y] = 3
    way[X[:, None] < X] = 0
    way[X[:, None] > X] = 1
    return way


MOVES, WAYS = moves().ravel(), ways().ravel()


class Keys:
    """Finds the nearest unseen cell by the smallest of 81 keys."""

    BASE = (DISTANCE << 8).astype(np.uint16)

    def __init__(self, n):
        self.seen = np.zeros((n, CELLS), np.uint16)  # 0xffff where seen

    def see(self, rows, cells):
        self.seen[rows, cells] = 0xFFFF

    def nearest(self, rows, cells, rng):
        noise = np.frombuffer(rng.bytes(rows.size * CELLS), np.uint8).reshape(-1, CELLS)
        keys = self.BASE[cells]
        keys |= noise
        keys |= self.seen[rows]
        best = keys.argmin(1)
        nothing_unseen = keys[np.arange(rows.size), best] == 0xFFFF
        return np.where(nothing_unseen, START, best)


class Rings:
    """Finds the nearest unseen cell by bit sets of 64 + 17 cells."""

    def __init__(self, n):
        self.unseen = np.empty((2, n), np.uint64)
        self.unseen[0] = ~np.uint64(0)
        self.unseen[1] = np.uint64((1 << (CELLS - 64)) - 1)

    BIT = np.uint64(1) << (np.arange(CELLS) % 64).astype(np.uint64)
    RING = np.zeros((2, RADIUS + 1, CELLS), np.uint64)
    for _half in range(2):
        _cells = np.arange(64 * _half, min(64 * (_half + 1), CELLS))
        for _d in range(RADIUS + 1):
            _bits = np.where(DISTANCE[:, _cells] == _d, BIT[_cells], np.uint64(0))
            RING[_half, _d] = np.bitwise_or.reduce(_bits, axis=1)

    def see(self, rows, cells):
        low = cells < 64
        self.unseen[0, rows[low]] &= ~self.BIT[cells[low]]
        self.unseen[1, rows[~low]] &= ~self.BIT[cells[~low]]

    def nearest(self, rows, cells, rng):
        unseen = self.unseen[:, rows]
        low, high = np.zeros((2, rows.size), np.uint64)
        left = np.arange(rows.size)
        for d in range(1, RADIUS + 1):
            ring = self.RING[:, d, cells[left]] & unseen[:, left]
            low[left], high[left] = ring
            left = left[(ring[0] | ring[1]) == 0]
            if left.size == 0:
                break
        in_low = np.bitwise_count(low)
        total = in_low + np.bitwise_count(high)
        k = (rng.random(rows.size, np.float32) * total).astype(np.uint8)
        use_low = k < in_low
        bits = np.where(use_low, low, high)
        k = np.where(use_low, k, k - in_low)
        for _ in range(int(k.max(initial=0))):
            bits = np.where(k > 0, bits & (bits - np.uint64(1)), bits)
            k -= k > 0
        lowest = bits & -bits
        cell = np.bitwise_count(lowest - np.uint64(1)) + np.where(use_low, 0, 64)
        return np.where(total == 0, START, cell)  # back to the start


def play(goals, search, rng):
    """Returns histories of `goals` as action, reward, landing, each [episodes * horizon, n]."""
    n = goals.size
    memory = search(n)
    everyone = np.arange(n)
    memory.see(everyone, np.full(n, START))
    action, reward, landing = np.empty((3, EPISODES * HORIZON, n), np.uint8)
    searching = everyone
    for t in range(EPISODES * HORIZON):
        if t % HORIZON == 0:
            cell = np.full(n, START)
        target = goals.copy()
        if searching.size:
            target[searching] = memory.nearest(searching, cell[searching], rng)
        act = WAYS[cell * CELLS + target]
        random = np.flatnonzero(rng.random(n, np.float32) < EPSILON)
        act[random] = rng.integers(0, ACTIONS, random.size)
        landing[t] = MOVES[cell * ACTIONS + act]
        cell = landing[t].astype(np.intp)
        action[t] = act
        reward[t] = cell == goals
        if searching.size:
            memory.see(searching, cell[searching])
            searching = searching[reward[t, searching] == 0]
    return action, reward, landing


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--search", choices=["keys", "rings"], default="rings")
    parser.add_argument("--streams", type=int, default=240,
                        help="histories of each goal, all stepped together")
    args = parser.parse_args()
    search = {"keys": Keys, "rings": Rings}[args.search]
    train = [g for g in range(CELLS) if (g // 9, g % 9) not in
             {(4, 2), (5, 6), (6, 8), (7, 2), (3, 6), (0, 5), (5, 8), (5, 4)}]
    goals = np.repeat(train, args.streams)
    rng = np.random.default_rng(0)
    play(goals, search, rng)  # warm-up
    begin, steps, returns = time.process_time(), 0, []
    while time.process_time() - begin < args.seconds:
        _, reward, _ = play(goals, search, rng)
        steps += reward.size
        returns.append(reward.sum() / goals.size / EPISODES)
    used = time.process_time() - begin
    print(json.dumps({"name": f"explorer histories, numpy {args.search}",
                      "value": round(steps / used), "unit": "env steps/CPU-s",
                      "check": round(float(np.mean(returns)), 3)}))


if __name__ == "__main__":
    main()
