"""Layout of values: reshaping, indexing, joining, sums along short axes.

NumPy's operations on the order of values are applied to an array of their indices, so that NumPy's rules hold.
Rearranged values are recorded as a "gather" (see `_tape`). `_lowering` later removes the gathers: it repeats the
operations before a gather, on columns of x in the rearranged order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from operator import getitem, setitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._tracer import Mask, Tracer, apply, binary, not_equal, number, real, spread
from ._value import FUNCTIONS

#: Maximum number of terms of a sum along an axis, which is recorded term by term.
MOST_TERMS = 128

Move = Callable[[NDArray[np.intp]], Any]


def moved(value: Tracer, move: Move) -> Tracer:
    """Return a tracer with values rearranged by `move`, a function of the array of their indices.

    If NumPy returns a view, a later in-place change of either array is an error, because it would change the other.
    """
    here = np.arange(value.size).reshape(value.shape)
    there = move(here)
    places = np.asarray(there)
    at = value.at
    if value.size > 1 and not _in_order(places, value.size):
        at = value.tape.gather(at, places.reshape(-1))
    new = type(value)(value.tape, at, places.shape)
    if np.may_share_memory(here, there):
        value.has_views = new.has_views = True
    return new if isinstance(there, np.generic) else as_an_array(new)


def as_an_array(value: Tracer) -> Tracer:
    """Mark a tracer as an array even if it has no dimensions.

    For a number, ``+=`` binds the name to a new value. For an array it changes the values under all names of the
    array; for a tracer that is marked here, this is an error.
    """
    if not value.shape:
        value.has_views = True
    return value


def _in_order(places: NDArray[np.intp], size: int) -> bool:
    return places.size == size and bool((places.reshape(-1) == np.arange(size)).all())


def _mover(function: Any) -> Callable[..., Any]:
    def move(value: Any, *args: Any, **options: Any) -> Any:
        if isinstance(value, Tracer):
            return moved(value, lambda places: function(places, *args, **options))
        return value.moved(lambda places: function(places, *args, **options))  # a complex one

    return move


FUNCTIONS[np.ndarray.flatten] = _mover(np.ndarray.flatten)
for _name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "delete", "expand_dims", "flip",
              "fliplr", "flipud", "moveaxis", "ravel", "repeat", "reshape", "resize", "roll", "rollaxis",
              "rot90", "squeeze", "swapaxes", "take", "tile", "transpose"):
    FUNCTIONS[getattr(np, _name)] = _mover(getattr(np, _name))


def item(value: Tracer, key: Any) -> Tracer:
    """Return ``value[key]``."""
    if value.shape and (key is Ellipsis or (type(key) is slice and key == slice(None))):
        return value
    if _is_traced(key):
        raise value.tape.refuse("a choice of values by a mask or an index that depends on a parameter",
                                "use np.where(mask, ..., ...)")
    return moved(value, lambda places: places[key])


def _is_traced(key: Any) -> bool:
    return any(isinstance(part, Tracer) for part in (key if isinstance(key, tuple) else (key,)))


def with_item(old: Tracer, key: Any, value: Any) -> Tracer:
    """Return `old` after ``old[key] = value``."""
    tape = old.tape
    if isinstance(key, Mask) and key.shape == old.shape and np.ndim(value) == 0:
        return apply("select", key, value, old)
    if _is_traced(key):
        raise tape.refuse("an assignment to places that depend on a parameter",
                          "use np.where(mask, ..., ...)")
    places = np.arange(old.size).reshape(old.shape)[key]
    chosen = np.zeros(old.size, bool)
    chosen[places] = True
    source = np.zeros(old.size, np.intp)
    source[places] = np.arange(places.size).reshape(np.shape(places))
    new: Any
    value = value if isinstance(value, Tracer) else number(tape, value)
    if not isinstance(value, Tracer):
        new = value if type(value) is float else np.broadcast_to(value, places.shape).reshape(-1)[source]
    elif value.size == 1:
        new = Tracer(tape, value.at, ())
    else:
        new = Tracer(tape, tape.gather(spread(value, places.shape), source), chosen.shape)
    flat = apply("select", chosen, new, Tracer(tape, old.at, chosen.shape))
    return type(old)(tape, flat.at, old.shape)


FUNCTIONS[getitem] = item
FUNCTIONS[setitem] = with_item


def joined(join: Callable[..., Any], parts: Sequence[Any]) -> Any:
    """Join arrays by `join`, a function of a list of arrays; at least one array is traced."""
    tape = next(part.tape for part in parts if hasattr(part, "tape"))
    if not all(isinstance(part, Tracer) or not hasattr(part, "tape") for part in parts):
        raise tape.refuse("complex values are put together", "use np.concatenate([z.real, z.imag])")
    if sum(isinstance(part, Tracer) for part in parts) > MOST_TERMS:
        raise tape.refuse(f"more than {MOST_TERMS} arrays are put together", "compute with whole arrays")
    plain = [part if isinstance(part, Tracer) else number(tape, part) for part in parts]
    plain = [part if isinstance(part, Tracer) else np.asarray(part) for part in plain]
    owner = join([np.full(part.shape, k) for k, part in enumerate(plain)])
    places = join([np.arange(part.size).reshape(part.shape) for part in plain]).reshape(-1)
    flat = owner.reshape(-1)
    untraced = [np.zeros(part.shape) if isinstance(part, Tracer) else part for part in plain]
    result: Any = join(untraced).reshape(-1)
    for k, part in enumerate(plain):
        if isinstance(part, Tracer):
            at = part.at if part.size == 1 else tape.gather(part.at, np.where(flat == k, places, 0))
            values = Tracer(tape, at, flat.shape)
            result = values if k == 0 and len(plain) == 1 else apply("select", flat == k, values, result)
    kind = Mask if all(part.dtype == np.bool_ for part in plain) else Tracer
    return kind(tape, result.at, owner.shape)


def _joiner(function: Any) -> Callable[..., Any]:
    def join(parts: Any, *args: Any, **options: Any) -> Any:
        return joined(lambda arrays: function(arrays, *args, **options), list(parts))

    return join


for _name in ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack"):
    FUNCTIONS[getattr(np, _name)] = _joiner(getattr(np, _name))


def append(array: Any, values: Any, axis: int | None = None) -> Any:
    """`np.append`."""
    return joined(lambda parts: np.append(parts[0], parts[1], axis=axis), [array, values])


FUNCTIONS[np.append] = append


def _at(value: Tracer, places: NDArray[np.intp]) -> Tracer:
    return moved(value, lambda _: places)


def folded(combine: Callable[[Any, Any], Any], value: Tracer, axis: Any = None,
           keepdims: bool = False) -> Any:
    """Combine the values along axes, starting with the first."""
    if axis is None:
        axes = tuple(range(value.ndim))
    else:
        axes = tuple(sorted(k % value.ndim for k in (axis if isinstance(axis, tuple) else (axis,))))
    terms = prod(value.shape[k] for k in axes)
    if terms > MOST_TERMS:
        raise value.tape.refuse(f"a sum, product or extremum of {terms} values that depend on a parameter",
                                f"there may be {MOST_TERMS}, along an axis that is not that of the points")
    rest = [k for k in range(value.ndim) if k not in axes]
    shape = tuple(value.shape[k] for k in rest)
    rows = np.transpose(np.arange(value.size).reshape(value.shape), (*axes, *rest)).reshape(terms, *shape)
    result: Any = None
    for places in rows:
        term = _at(value, places)
        result = term if result is None else combine(result, term)
    if keepdims:
        kept = tuple(1 if k in axes else length for k, length in enumerate(value.shape))
        return moved(result, lambda places: places.reshape(kept))
    return result


def _reduction(name: str, combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def reduce(value: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
               **options: Any) -> Any:
        if not isinstance(value, Tracer) or dtype is not None or out is not None or options:
            raise value.tape.refuse(f"np.{name} with options, or of complex values")
        if name in ("any", "all"):
            value = value if isinstance(value, Mask) else not_equal(value, 0.0)
        elif isinstance(value, Mask):
            value = value.astype(float)
        return folded(combine, value, axis, keepdims is True)

    return reduce


for _name, _combine in (("sum", partial(binary, "add")), ("prod", partial(binary, "mul")),
                        ("max", partial(binary, "max")), ("amax", partial(binary, "max")),
                        ("min", partial(binary, "min")), ("amin", partial(binary, "min")),
                        ("any", np.logical_or), ("all", np.logical_and)):
    FUNCTIONS[getattr(np, _name)] = _reduction(_name, _combine)


def mean(value: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
    """`np.mean`."""
    total = FUNCTIONS[np.sum](value, axis, *args, **options)
    return total / (value.size / total.size)


def diff(value: Tracer, n: int = 1, axis: int = -1) -> Any:
    """`np.diff`."""
    for _ in range(n):
        places = np.moveaxis(np.arange(value.size).reshape(value.shape), axis, 0)
        above, below = np.moveaxis(places[1:], 0, axis), np.moveaxis(places[:-1], 0, axis)
        value = _at(value, above) - _at(value, below)
    return value


def product(first: Any, second: Any) -> Any:
    """Inner products along a short axis: `np.dot` and `np.matmul` of arrays of one or two dimensions."""
    tape = first.tape if hasattr(first, "tape") else second.tape
    one, two = (part if hasattr(part, "tape") else np.asarray(part) for part in (first, second))
    if not one.ndim or not two.ndim:
        return one * two
    if two.ndim == 1:
        return FUNCTIONS[np.sum](one * two, -1)
    if one.ndim > 2 or two.ndim > 2:
        raise tape.refuse("a product of arrays of three dimensions")
    return FUNCTIONS[np.sum](one[..., :, None] * two, -2)


def outer(first: Any, second: Any) -> Any:
    """`np.outer`."""
    return np.ravel(first)[:, None] * np.ravel(second)


FUNCTIONS[np.mean], FUNCTIONS[np.diff], FUNCTIONS[np.outer], FUNCTIONS[np.dot] = mean, diff, outer, product
