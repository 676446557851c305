"""The former name of `models.forecasting.request`, which models logged under it import."""

from models.forecasting.request import *  # noqa: F403
