"""Progress bars by tqdm, if it is installed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Callback = Callable[[dict[str, Any]], Any]


class Bar:
    """A callback that shows a bar, and then calls the caller's callback.

    Attributes
    ----------
    of_many : bool
        True if the steps are those of several fits at the same time, from several threads: the bar counts all of them.
    """

    def __init__(self, tqdm: Any, callback: Callback | None) -> None:
        self._tqdm, self._callback, self._lock = tqdm, callback, threading.Lock()
        self._bar: Any = None
        self._searching = self.of_many = False

    def __call__(self, event: dict[str, Any]) -> Any:
        with self._lock:
            self._show(event)
        return self._callback(event) if self._callback is not None else None

    def _show(self, event: dict[str, Any]) -> None:
        total, searching = event.get("total"), event["kind"] == "search"
        if searching != self._searching:
            self.close()
        self._searching = searching
        if self._bar is None:
            unit = {"step": " steps", "batch": " fits", "stream": " points", "search": " rounds",
                    "generation": " generations"}.get(event["kind"], "")
            self._bar = self._tqdm(total=total, unit=unit, unit_scale=event["kind"] != "step")
        bar = self._bar
        if event["kind"] == "step" and bar.total is not None:
            return  # A step of a stream, whose bar counts points.
        done = event["iteration"] if event["kind"] == "step" else event.get("done", 0)
        if self.of_many and event["kind"] == "step":
            done = bar.n + 1
        # A stream is read in several passes.
        if done < bar.n:
            bar.reset(total)
        if event.get("cost") is not None:
            bar.set_postfix(cost=f"{event['cost']:.6g}", refresh=False)
        bar.update(done - bar.n)

    def close(self) -> None:
        """Close the bar; the next event creates another one."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def watcher(progress: bool, callback: Callback | None) -> Callback | None:
    """Return the callback for the core: a bar, the caller's callback, both or None."""
    if not progress:
        return callback
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return callback
    return Bar(tqdm, callback)


@contextmanager
def shown(settings: Mapping[str, Any]) -> Iterator[None]:
    """Context of a fit with these settings; at its end the bar is closed."""
    try:
        yield
    finally:
        if isinstance(settings.get("callback"), Bar):
            settings["callback"].close()
