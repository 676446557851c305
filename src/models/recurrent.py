"""The former name of `models.forecasting.recurrent`, which models logged under it import."""

from models.forecasting.recurrent import *  # noqa: F403
