"""The former name of `models.forecasting.fitting`, which models logged under it import."""

from models.forecasting.fitting import *  # noqa: F403
