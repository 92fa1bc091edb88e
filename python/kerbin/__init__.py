"""Kernel machines at the cost of linear ones, by random binning features.

Estimators in the manner of scikit-learn over the C library of the same name: the options, their
defaults, bounds and explanations are the library's own, read from its table when this package is
imported.  A model file is the one that the program ``kerbin`` reads and writes.
"""

from ._cross import cross_validate
from ._features import FourierFeatures, NystromFeatures, RandomBinning
from ._library import version
from ._models import BinningClassifier, BinningRegressor

__version__ = version()
__all__ = [
    "BinningClassifier",
    "BinningRegressor",
    "FourierFeatures",
    "NystromFeatures",
    "RandomBinning",
    "cross_validate",
]
