"""From the command line to a tracked model."""

import os

# MLflow decides at its own import whether it sends its makers what is used; a setting of the environment's own wins
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
