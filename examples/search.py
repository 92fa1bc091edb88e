"""scikit-learn's tools: a frame, a pipeline, and a search over sigma and lambda."""

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer

import kerbin

rng = np.random.default_rng(0)
frame = pd.DataFrame({"age": rng.gamma(4, 10, 5000), "income": rng.lognormal(10, 1, 5000)})
price = np.sin(frame["age"] / 10) + np.log(frame["income"]) / 5 + 0.1 * rng.standard_normal(5000)
train, test, y_train, y_test = train_test_split(frame, price, random_state=0)

search = GridSearchCV(
    make_pipeline(QuantileTransformer(), kerbin.BinningRegressor(grids=128)),
    {"binningregressor__sigma": [0.1, 0.3, 1], "binningregressor__lambda_": [0.1, 1]},
    cv=3,
)
search.fit(train, y_train)
print("best", search.best_params_)
print(f"r2 on the test rows {search.score(test, y_test):.4f}")
fitted = search.best_estimator_[-1].fit_info_
print("{grids} grids, {bins} bins, {steps} steps".format(**fitted))
