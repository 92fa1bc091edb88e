"""CatBoost, LightGBM and XGBoost on tables as people have them, prepared as a careful user would.

What the boosters get, all of it learned from the training rows:

  numbers     columns whose cells are all numbers, missing ones NaN
  dates       columns whose cells are all dates: days since 2000, the time of day as a fraction
  categories  every other column, true and false as well; LightGBM and XGBoost have pandas' categories,
              with missing cells and levels that only test rows have as NaN; CatBoost has the words
              themselves, with missing as the level "NA"

No column is left out: ids are categories of many levels, and the boosters deal with them.
"""

import time

import numpy as np
import pandas

PEERS = ["CatBoost", "LightGBM", "XGBoost 500"]
MISSING = {"", "?", "na", "n/a", "nan", "null", ".", "#n/a"}
DATE = r"\d{4}-\d\d?-\d\d?([ T]\d\d?:\d\d(:\d\d)?Z?)?|\d\d?/\d\d?/\d{4}( \d\d?:\d\d(:\d\d)?)?"


def is_missing(cell):
    return cell.strip().lower() in MISSING


def days(cells):
    when = pandas.to_datetime(cells, errors="coerce", format="mixed", utc=True)
    return (when - pandas.Timestamp("2000-01-01", tz="UTC")) / pandas.Timedelta(days=1)


def read(path):
    """The cells of a CSV file as words, None where missing; and the labels, as words."""
    frame = pandas.read_csv(path, dtype=object, keep_default_na=False)
    frame.columns = [f"c{i}" for i in range(frame.shape[1])]
    frame = frame.apply(lambda column: column.str.strip())
    labels = frame.pop(frame.columns[-1])
    return frame.mask(frame.apply(lambda column: column.map(is_missing)), None), labels


def typed(train, test):
    """The columns of both as numbers and categories."""
    train, test = train.copy(), test.copy()
    for name in train.columns:
        known = train[name].dropna()
        if pandas.to_numeric(known, errors="coerce").notna().all():
            for frame in train, test:
                frame[name] = pandas.to_numeric(frame[name], errors="coerce").astype("float64")
        elif known.str.fullmatch(DATE).all():
            for frame in train, test:
                frame[name] = days(frame[name])
        else:
            kind = pandas.CategoricalDtype(sorted(known.unique()))
            for frame in train, test:
                frame[name] = frame[name].where(frame[name].isin(kind.categories), None).astype(kind)
    return train, test


def words(frame, cells):
    """The frame with the words of its categories, also those that only these rows have, for CatBoost."""
    frame = frame.copy()
    for name in frame.select_dtypes("category").columns:
        frame[name] = cells[name].fillna("NA").astype(str).astype(object)
    return frame


def catboost(classes, seed, train, test, y):
    import catboost as module

    kind = module.CatBoostClassifier if classes else module.CatBoostRegressor
    levels = [name for name in train.columns if not pandas.api.types.is_numeric_dtype(train[name])]
    model = kind(thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False)
    began = time.process_time()
    model.fit(train, y, cat_features=levels)
    return time.process_time() - began, np.ravel(model.predict(test))


def lightgbm(classes, seed, train, test, y):
    import lightgbm as module

    kind = module.LGBMClassifier if classes else module.LGBMRegressor
    model = kind(n_jobs=1, random_state=seed, verbosity=-1)
    began = time.process_time()
    model.fit(train, y)
    return time.process_time() - began, model.predict(test)


def xgboost(classes, seed, train, test, y):
    import xgboost as module

    kind = module.XGBClassifier if classes else module.XGBRegressor
    model = kind(n_estimators=500, learning_rate=0.1, tree_method="hist", enable_categorical=True, n_jobs=1,
                 random_state=seed)
    began = time.process_time()
    model.fit(train, y)
    return time.process_time() - began, model.predict(test)


def run(peer, classes, seed, train_path, test_path):
    """Error (RMSE, or the share of wrong rows in percent) and processor seconds of the fit."""
    (train, y), (test, truth) = read(train_path), read(test_path)
    typed_train, typed_test = typed(train, test)
    if peer == "CatBoost":
        typed_train, typed_test = words(typed_train, train), words(typed_test, test)
    fit = {"CatBoost": catboost, "LightGBM": lightgbm, "XGBoost 500": xgboost}[peer]
    if not classes:
        seconds, predicted = fit(False, seed, typed_train, typed_test, y.astype(float))
        return float(np.sqrt(np.mean((predicted - truth.astype(float)) ** 2))), seconds
    names, codes = np.unique(y.astype(str), return_inverse=True)
    seconds, predicted = fit(True, seed, typed_train, typed_test, codes)
    return 100 * float(np.mean(names[predicted.astype(int)] != truth.astype(str).to_numpy())), seconds
