"""`python -m pipeline.relocate`: put the places of a moved store's artifacts right, and print the store's URI.

`make ui` does it. A store that another process has open under its other name is left as it is, with a warning.
"""

from __future__ import annotations

import sys
import warnings

from pipeline.host.passwords import masked
from pipeline.host.process import prepare_environment
from pipeline.settings.messages import expected_errors, one_line
from pipeline.tracking.location import StoreInUse
from pipeline.tracking.store import open_store, tracking_uri


def main() -> None:
    prepare_environment()
    try:
        open_store(None)
    except StoreInUse as error:
        warnings.warn(f"{error}; until then artifacts do not open here", stacklevel=1)
    except expected_errors() as error:
        sys.exit(f"error: {one_line(error)}")
    print(masked(tracking_uri(None)))


if __name__ == "__main__":
    main()
