"""Check of requests that are refused, for several test files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def check_refused(call: Callable[[], Any], error: type[Exception], words: str) -> str:
    """Check that a call raises an error with these words and without names of Rust; return its message."""
    with pytest.raises(error) as raised:
        call()
    message = str(raised.value)
    assert words in message
    assert "::" not in message
    return message
