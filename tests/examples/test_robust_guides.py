"""The guides to robust logistic and quantile regression: their claims hold."""

from __future__ import annotations

import numpy as np
import pytest

import dcprog as dc
from examples.guides import robust_logistic, robust_quantiles


@pytest.mark.filterwarnings("ignore")
def test_logistic_claims(capsys: pytest.CaptureFixture[str]) -> None:
    assert robust_logistic.main([]) == 0
    assert "5 of 5 claims as expected" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_quantile_claims(capsys: pytest.CaptureFixture[str]) -> None:
    assert robust_quantiles.main([]) == 0
    printed = capsys.readouterr().out
    assert "3 of 3 claims as expected" in printed
    assert "intercept" in printed


def test_quantiles_of_clean_data_are_those_of_the_plain_loss() -> None:
    """A bound that no good sample reaches changes nothing."""
    x, y, good = robust_quantiles.drawn(share=0.0)
    assert np.all(good)
    for tau in robust_quantiles.LEVELS:
        plain = dc.RobustRegressor(dc.pinball(tau), dc.l2(0.0)).fit(x, y)
        capped = dc.RobustRegressor(dc.cap(dc.pinball(tau), 50.0), dc.l2(0.0)).fit(x, y)
        np.testing.assert_allclose(capped.predict(x), plain.predict(x), atol=1e-5)
