"""validate_data as scikit-learn has it from 1.6 on, for the releases before too."""

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # it was a method of estimators

    def validate_data(estimator, X, *y, reset=True, skip_check_array=False, **checks):
        if skip_check_array:
            estimator._check_feature_names(X, reset=reset)
            estimator._check_n_features(X, reset=reset)
            return X
        checks["force_all_finite"] = checks.pop("ensure_all_finite")
        return estimator._validate_data(X, *y, reset=reset, **checks)


__all__ = ["validate_data"]
