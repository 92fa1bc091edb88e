#!/usr/bin/env python3
"""What a sweep costs on many machines, by the model of docs/scaling.md.

    scaling.py [--draw FILE.png] [--grids R] [--row-ns T]

Prints a table of seconds for a sweep, and how many ranks pay, for networks with published figures; draws both.
The cost of a row in a grid is measured (docs/scaling.md says how), the networks are not ours.
"""
import argparse
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import plot  # noqa: E402

SLICE = 16    # grids that a step of a sweep changes at once (src/sweeps/sweep_state.h)
NUMBER = 8    # bytes of a sum
SEARCH = 3    # numbers of a line search
PART = 2048   # rows whose sums are gathered together (src/core/sums.h)
ENDING = 7    # such sums of a part at the end of a sweep

# Seconds for a short message, and seconds for a byte of a long one.
NETWORKS = {
    # Larsen, Sarangam and Huggahalli (SBAC-PAD 2007): 10 us end to end by TCP; the line rate.
    "10 GbE": (10e-6, 1 / 1.25e9),
    # University of Michigan, Flux: 1.8 us and 25 Gb/s measured on QDR InfiniBand.
    "InfiniBand QDR": (1.8e-6, 8 / 25e9),
    # Cisco, Open MPI 1.8.1 over usNIC: 1.93 us, 37.23 Gb/s.
    "40 GbE usNIC": (1.93e-6, 8 / 37.23e9),
    # 100 Gb/s by its name, with the latency of QDR as an upper bound.
    "InfiniBand HDR100": (1.8e-6, 8 / 100e9),
}


def all_reduce(ranks, size, network):
    """The better of recursive doubling and of Rabenseifner's reduce-scatter with all-gather: Thakur,
    Rabenseifner and Gropp, IJHPCA 19 (2005) 49-66, without the additions."""
    if ranks == 1:
        return 0.0
    alpha, beta = network
    steps = math.ceil(math.log2(ranks))
    doubling = steps * (alpha + size * beta)
    halving = 2 * steps * alpha + 2 * (ranks - 1) / ranks * size * beta
    return min(doubling, halving)


def all_gather(ranks, size, network):
    """By a ring or recursive doubling: `size` bytes of all ranks together; the same paper."""
    if ranks == 1:
        return 0.0
    alpha, beta = network
    return math.ceil(math.log2(ranks)) * alpha + (ranks - 1) / ranks * size * beta


class Fit:
    """rows N, bins D, grids R, outputs C; row: seconds for a row in a grid and an output."""

    def __init__(self, rows, bins, grids, outputs, row):
        self.rows, self.bins, self.grids, self.outputs, self.row = rows, bins, grids, outputs, row

    def slices(self):
        return math.ceil(self.grids / SLICE)

    def bytes_of_sums(self):
        """That a rank gives to others in a sweep, by all-reduce."""
        return NUMBER * self.outputs * (self.bins + SEARCH * self.slices())

    def bytes_of_ending(self):
        """That all ranks together gather at the end of a sweep."""
        return NUMBER * self.outputs * ENDING * math.ceil(self.rows / PART)

    def work(self, ranks):
        return self.rows / ranks * self.grids * self.outputs * self.row

    def talk(self, ranks, network):
        a_slice = NUMBER * self.outputs * self.bins / self.slices()
        search = NUMBER * self.outputs * SEARCH
        each = all_reduce(ranks, a_slice, network) + all_reduce(ranks, search, network)
        return self.slices() * each + all_gather(ranks, self.bytes_of_ending(), network)

    def sweep(self, ranks, network):
        return self.work(ranks) + self.talk(ranks, network)

    def two_way(self, ranks, across, network):
        """Grids over `across` ranks too: the sums of a slice are those of fewer bins, but the rows' change must
        be added up over those ranks, four bytes a row and slice."""
        down = ranks // across
        a_slice = NUMBER * self.outputs * self.bins / self.slices() / across
        change = 4 * self.outputs * self.rows / down
        talk = all_reduce(down, a_slice, network) + all_reduce(across, change, network)
        talk += all_reduce(ranks, NUMBER * self.outputs * SEARCH, network)
        return self.work(ranks) + self.slices() * talk + all_gather(ranks, self.bytes_of_ending(), network)


RANKS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


def half(fit, network):
    """The most ranks with half of their time at work."""
    good = [ranks for ranks in RANKS if fit.work(ranks) >= fit.talk(ranks, network)]
    return max(good)


def table(grids, row):
    print(f"seconds of a sweep; R = {grids}, one output, {1e9 * row:.2f} ns for a row in a grid")
    for name, network in NETWORKS.items():
        print(f"\n{name}")
        print("rows       bins     " + "".join(f"{ranks:>9}" for ranks in RANKS[::2]) + "   half at work")
        for rows in 1e7, 1e8, 1e9:
            for bins in 1e5, 1e7:
                fit = Fit(rows, bins, grids, 1, row)
                times = "".join(f"{fit.sweep(ranks, network):9.3g}" for ranks in RANKS[::2])
                print(f"{rows:<10.0e} {bins:<8.0e} {times}   {half(fit, network):>6}")
    print("\nrows over 32 and grids over 32 of 1024 ranks, instead of rows over all (InfiniBand HDR100)")
    for rows in 1e7, 1e9:
        for bins in 1e7, 1e9:
            fit, network = Fit(rows, bins, grids, 1, row), NETWORKS["InfiniBand HDR100"]
            print(f"rows {rows:.0e}, bins {bins:.0e}: {fit.sweep(1024, network):8.3g} s by rows, "
                  f"{min(fit.two_way(1024, a, network) for a in (2, 4, 8, 16, 32)):8.3g} s both ways")


def draw(path, grids, row):
    colours = [plot.ORANGE, plot.GREEN, plot.BLUE, plot.RED]
    panels = []
    for rows, bins in (1e9, 1e5), (1e9, 1e7), (1e7, 1e5), (1e7, 1e7):
        fit = Fit(rows, bins, grids, 1, row)
        lines = [plot.Line(name, [(ranks, fit.sweep(1, network) / fit.sweep(ranks, network)) for ranks in RANKS],
                           colour) for (name, network), colour in zip(NETWORKS.items(), colours)]
        lines.append(plot.Line("ideal", [(ranks, ranks) for ranks in RANKS], plot.BLACK, dashed=True, points=False))
        panels.append(plot.Panel(f"{rows:.0e} rows, {bins:.0e} bins".replace("e+0", "e"), "ranks", "speed-up of a sweep",
                                 lines, log="xy", key="top left"))
    plot.draw(path, panels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", metavar="FILE")
    parser.add_argument("--grids", type=int, default=256)
    parser.add_argument("--row-ns", type=float, default=1.1)
    args = parser.parse_args()
    table(args.grids, 1e-9 * args.row_ns)
    if args.draw:
        draw(args.draw, args.grids, 1e-9 * args.row_ns)


if __name__ == "__main__":
    main()
