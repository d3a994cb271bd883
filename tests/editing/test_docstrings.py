"""Every example in a docstring of this package is true."""

import doctest
import importlib
import pkgutil

import pytest

import toolhaft.editing

MODULES = sorted(module.name for module in pkgutil.iter_modules(toolhaft.editing.__path__, "toolhaft.editing."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name: str):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
