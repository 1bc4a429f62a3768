"""What a release is: wheel and sdist, built, checked, installed and tried.

``python -m tests.dist`` builds both into ``dist/``, then makes, for every Python from 3.11 that is
found, one environment with the lowest allowed dependencies and one with the newest, and in each runs
:mod:`tests.dist.smoke` on what was installed. ``--help`` lists more.
"""
