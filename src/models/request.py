"""The former name of `models.forecasting.request`, which models logged under it import."""

from models.forecasting.request import FORMATS, LONGEST_VALUE, PARAMETERS, decoded

__all__ = ["FORMATS", "LONGEST_VALUE", "PARAMETERS", "decoded"]
