"""The former name of `models.forecasting.forecaster`, which models logged under it import."""

from models.forecasting.forecaster import *  # noqa: F403
