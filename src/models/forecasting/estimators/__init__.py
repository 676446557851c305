"""Forecasters with the parameters and methods of scikit-learn: tables in, what is learnt, forecasts out."""
