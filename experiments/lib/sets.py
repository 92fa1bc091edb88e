"""The data sets of the experiments: the paper's, with their files, preparation and options; and the eight of
experiments/accuracy."""

import lzma
import os
from dataclasses import dataclass


@dataclass
class Set:
    """A data set of the paper.

    `unit` is how much sigma is multiplied by because our features are larger than the authors' by
    that (mnist: pixels up to 255).  lambda and the list of sigmas, in the authors' scale, were
    tuned on validation rows of the training data; sigma is tuned in each run.
    """

    name: str
    files: tuple  # training and test data, or one file to be split
    scale: str  # the authors', for the sweep over sigma
    lam: float
    sigmas: tuple
    authors: str = ""  # their name for it, if it differs
    unit: float = 1
    train_rows: int = 0  # of a file to be split
    distinct: bool = False  # train without duplicates
    regression: bool = False
    own_scale: str = ""  # for the comparison, where another one was better on validation rows
    large: bool = False  # a quick run does random binning up to R = 64 and nothing else

    @property
    def score(self):
        return "relative error" if self.regression else "accuracy, %"


SETS = [
    Set("cadata", ("cadata.libsvm",), "maxabs", 0.3, (0.2, 0.3, 0.45, 0.7), train_rows=16512,
        regression=True, own_scale="minmax"),
    Set("census", ("census.train", "census.test"), "maxabs", 0.3, (1, 2, 4, 8), regression=True),
    Set("ijcnn1", ("ijcnn1.train", "ijcnn1.test"), "none", 1, (0.5, 0.75, 1)),
    Set("cod-rna", ("cod-rna.train", "cod-rna.test"), "maxabs", 0.3, (0.16, 0.2, 0.25),
        authors="cod_rna", distinct=True),
    Set("covtype", ("covtype.train", "covtype.test"), "none", 0.1, (0.07, 0.1, 0.16, 0.22), large=True),
    Set("SUSY", ("SUSY.train", "SUSY.test"), "none", 1, (0.45, 0.63, 1, 1.6), large=True),
    Set("mnist", ("mnist.train", "mnist.test"), "none", 0.1, (24, 33, 47), unit=255, large=True),
    Set("acoustic", ("acoustic.train", "acoustic.test"), "none", 1, (0.5, 1, 2, 4)),
    Set("letter", ("letter.tr", "letter.test"), "none", 0.1, (0.6, 0.8, 1.1, 1.5)),
]

EIGHT = ["cadata", "cpusmall", "ijcnn1", "letter", "covtype20k", "cod-rna", "pendigits", "a9a"]
REGRESSION = {"cadata", "cpusmall", "flights"}
# Sets without a test file are split at random, a fifth for testing, by the seed.
SPLIT = {"cadata", "cpusmall", "covtype20k"}
TABLE_SEEDS = 1, 2, 3


def error_of(name, metrics):
    """RMSE, or the share of wrong rows in percent, from the metrics of `kerbin predict --json`."""
    return metrics["rmse"] if name in REGRESSION else 100 * (1 - metrics["accuracy"])


def find(folder, name):
    """The path of NAME or NAME.xz in the folder, or None."""
    for path in (os.path.join(folder, name), os.path.join(folder, name + ".xz")):
        if os.access(path, os.R_OK):
            return path
    return None


def lines_of(path):
    opener = lzma.open if path.endswith(".xz") else open
    with opener(path, "rt") as file:
        return file.read().splitlines(keepends=True)


def shuffle(lines):
    """Fisher and Yates with Lehmer's generator: the same order on every machine."""
    x = 12345
    for i in range(len(lines), 1, -1):
        x = x * 16807 % 2147483647
        j = x % i
        lines[i - 1], lines[j] = lines[j], lines[i - 1]


def write_lines(path, lines):
    with open(path + ".part", "w") as file:
        file.writelines(lines)
    os.replace(path + ".part", path)


def prepare(data_set, folder, work):
    """Training and test file as the paper has them, made under `work` where the data differ from
    that; None if the data are not there."""
    paths = [find(folder, name) for name in data_set.files]
    if None in paths:
        return None
    train, test = (os.path.join(work, data_set.name + part) for part in (".train", ".test"))
    if data_set.train_rows:
        lines = lines_of(paths[0])
        shuffle(lines)
        write_lines(train, lines[: data_set.train_rows])
        write_lines(test, lines[data_set.train_rows :])
        return train, test
    if data_set.distinct:
        write_lines(train, list(dict.fromkeys(lines_of(paths[0]))))
        return train, paths[1]
    return paths[0], paths[1]
