"""Fit, score and save: the lines of the README."""

from sklearn.datasets import make_moons

import kerbin

X, y = make_moons(20000, noise=0.25, random_state=0)
model = kerbin.BinningClassifier().fit(X[5000:], y[5000:])
print(f"accuracy {model.score(X[:5000], y[:5000]):.4f}")
print(model.predict_proba(X[:3]).round(3))
model.save("moons.kerbin")  # `kerbin inspect moons.kerbin` reads it too
