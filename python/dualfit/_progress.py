"""How far a fit is, shown by tqdm where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Callback = Callable[[dict[str, Any]], Any]


def watcher(progress: bool, callback: Callback | None) -> Callback | None:
    """What the core calls with every event: a bar, the caller's own function, both or none."""
    if not progress:
        return callback
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return callback
    bar: Any = None

    def told(event: dict[str, Any]) -> Any:
        nonlocal bar
        if bar is None:
            unit = {"step": " steps", "batch": " fits", "stream": " points"}.get(event["kind"], "")
            bar = tqdm(total=event.get("total"), unit=unit, unit_scale=event["kind"] != "step")
        done = event["iteration"] if event["kind"] == "step" else event.get("done", 0)
        # A stream is passed over several times.
        if done < bar.n:
            bar.reset(event.get("total"))
        bar.update(done - bar.n)
        if "cost" in event and event["cost"] is not None:
            bar.set_postfix(cost=f"{event['cost']:.6g}")
        return callback(event) if callback is not None else None

    return told
