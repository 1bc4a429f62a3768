"""What X an estimator takes: dense or sparse, or a kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["SampleInput"]


class SampleInput:
    """X is dense or sparse; with ``kernel="precomputed"`` it is a dense kernel matrix."""

    def _checks(self) -> dict[str, Any]:
        """What scikit-learn is to see to."""
        return {"accept_sparse": False if self._is_pairwise() else "csr", "dtype": np.float64}

    def _is_pairwise(self) -> bool:
        return getattr(self, "kernel", None) == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = not self._is_pairwise()
        tags.input_tags.pairwise = self._is_pairwise()
        return tags
