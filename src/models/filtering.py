"""The former name of `models.forecasting.filtering`, which models logged under it import."""

from models.forecasting.filtering import *  # noqa: F403
