"""Everything that speaks to MLflow: the store, one run, the logged model, the parent of a multirun."""
