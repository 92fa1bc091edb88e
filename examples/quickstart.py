"""Fit, score, save, and read back: the lines of the README."""

from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

import kerbin

X, y = make_moons(20000, noise=0.25, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = kerbin.BinningClassifier(sigma=0.5, lambda_=1, loss="logistic").fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.4f}")
print(model.predict_proba(X_test[:3]).round(3))
model.save("moons.kerbin")  # `kerbin inspect moons.kerbin` reads it too
same = kerbin.BinningClassifier.load("moons.kerbin")
assert (same.predict(X_test) == model.predict(X_test)).all()
