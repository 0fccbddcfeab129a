#!/usr/bin/env python3
"""A model of the time of fits on a GPU, from counts of machine instructions (docs/kernels.md, "A model of time").

  model.py                   prints the model beside the measurements of an H200, then the predictions
  model.py --write           writes predictions.csv, which tests/device/run reads
  model.py --check           fails if predictions.csv is not what --write writes
  model.py --count LISTING   counts the loops of a kernel; LISTING: the output of `nvdisasm -c -hex` for a cubin

A change of a kernel changes the numbers of a Stage; a new card is a line of CARDS.
"""
import re
import sys
from collections import namedtuple
from pathlib import Path

CSV = Path(__file__).with_name("predictions.csv")

# sms: multiprocessors. ghz: clock under load (H200: measured, 1.93 to 1.98; A100, RTX: boost clock of the data sheet).
# pipes, cycles: f64 pipes of a multiprocessor, and cycles of a pipe for an instruction of a warp. A100: 9.7 TFLOP/s of
# f64, 32 lanes in four pipes; H100, H200: 34 TFLOP/s, 64 lanes in four; RTX: 1/64 of the rate of f32, 2 lanes in one.
# tbs: memory in TB/s. general: resident warps of the general kernel, by shared memory (docs/kernels.md, "Lanes").
# loop, rest: cycles between two instructions of a warp alone in the slim kernel; see SLIM.
Card = namedtuple("Card", "sms ghz pipes cycles tbs general loop rest")
CARDS = {
    "A100": Card(108, 1.41, 4, 4, 1.56, 12, 5.6, 6.5),
    "H100": Card(132, 1.76, 4, 2, 3.35, 16, 5.2, 6.0),
    "H200": Card(132, 1.95, 4, 2, 4.80, 16, 5.2, 6.0),
    "RTX 4090": Card(128, 2.52, 1, 16, 1.01, 6, 5.6, 6.5),
    "RTX 5090": Card(170, 2.41, 1, 16, 1.79, 6, 5.2, 6.0),
}

# A kernel that takes part in a batch; counts are machine instructions of warps per fit of 225 points.
# loop: in the loop over the points. rest: outside of it. f64: those of both that use the f64 pipe.
# loop_gap, rest_gap: cycles between two instructions of a warp alone, with its code in the cache; None: as in the card.
# fetch: cycles that an instruction of `rest` waits for its code with all warps resident: least, expected, most.
# fetch_alone: the same if few warps are left; None: no difference. warps: per multiprocessor; None: as in the card.
# fits: of a warp.
Stage = namedtuple("Stage", "loop rest f64 loop_gap rest_gap fetch fetch_alone warps fits")

# General kernel. loop: 255 (--count, sm_90) x 29 points per lane x 7.63 evaluations / 4 fits. rest: for each function
# its PTX instructions (SOFT_CUDA_CLOCK=1, 1,500 spots of benches/batch.rs with a mask) x its SASS / its PTX in the
# text. gap, fetch: `ncu` on an H200 has 18.2 cycles between two instructions of a warp, of which 10.9 wait for code.
# These are 20 per instruction of `rest`, since the loop stays in the cache. With one other warp they are 0.7, or 1.3.
GENERAL = Stage(14_100, 16_900, 7_340, 7.3, 7.3, (20, 20, 20), 1.3, None, 4)
# Its stage in f32, for the check: 8,820 PTX instructions instead of 21,140, in the same shares.
GENERAL_F32 = Stage(5_900, 7_000, 1_850, 7.3, 7.3, (20, 20, 20), 1.3, None, 4)

# Slim kernel. Passes of a warp per fit: 7.83 / 8 (spots of benches/batch.rs on the software driver take 7.63
# evaluations; teams without a fit add 2.6 %; no fit leaves). A pass: 57 points per lane of 92 instructions, 62 of f64
# (--count), and 2,900 others, 1,320 of f64 (SOFT_CUDA_CLOCK=1: 2,790 PTX instructions; SASS / PTX of the text: 1.04).
# In f32: 4.60 evaluations; 69 instructions of a point, 3 of f64: conversions of x, y and the sample, which are stored in
# f64; 2,220 others, 100 of f64 (SOFT_CUDA_CLOCK=1: 2,210 PTX instructions; SASS / PTX of the text: 1.006). A card with
# more than one f64 pipe converts at the rate of one; neither is then the limit.
# loop_gap, rest_gap: --count has 4.64 and 5.0 on sm_90, 5.1 and 5.4 on sm_80; for the step in f32 4.3 and 4.5. To these,
# 14 cycles are added for each control instruction, 4 % of the loop and 7 % of the rest. In the general kernel, 21 % are
# control instructions; 14 cycles make its 4.5 of --count the 7.3 of ncu. fetch: 0; half of the lines of 128 bytes come
# 90 cycles late, and 3 % of the instructions jump; as in the general kernel, which has three times as many jumps.
def slim(passes, point, point_f64, step, step_f64, loop_gap, rest_gap, warps):
    """Returns the stage of the slim kernel with this number of passes per fit."""
    loop, rest, f64 = (passes / 8 * count for count in (57 * point, step, 57 * point_f64 + step_f64))
    return Stage(loop, rest, f64, loop_gap, rest_gap, (0, 7.5, 20), None, warps, 8)


def slim_f64(evaluations):
    """Returns a stage in f64 with this number of evaluations per fit."""
    return slim(1.026 * evaluations, 92, 62, 2_900, 1_320, None, None, 12)


# loop_gap: --count has 2.35 on sm_90 and 2.5 on sm_80, without control instructions.
SLIM_F32 = slim(1.026 * 4.60, 69, 3, 2_220, 100, 3.0, 5.4, 16)
# The kernels of each precision, one after the other. After the stage in f32, `Mixed` takes 2.74 evaluations in f64.
BATCHES = {"": [slim_f64(7.63)], ", Mixed": [SLIM_F32, slim_f64(2.74)], ", Single": [SLIM_F32]}

FITS, LAUNCH_FITS = 1_000_000, 250_000  # MOST_FITS in src/fit/batch/place.rs
LAUNCH_FITS_BEFORE = 50_000  # that of the measurements
BYTES = 225 * 8 + 150  # of a fit: samples, start, results
BANDWIDTH = 0.67  # share of the memory's data sheet that passes reach: 3.2 of 4.8 TB/s on an H200
LAUNCH = 5e-6  # seconds of a launch that follows another
# The host copies results while the next launch runs: 0.155 s per million fits and thread; 5 ms remain after the last.
# Both from an H200's machine: 161 ms with one thread in any precision; 131 ms for kernels of 126 ms.
HOST_SECONDS, THREADS, LAST = 0.155, 16, 0.005


def rate(warps, demand, alone):
    """Returns fits per cycle of a pipe that `warps` warps share, by mean value analysis of a closed queue. A fit
    occupies the pipe for `demand` cycles; without other warps it takes `alone` cycles."""
    think, queue, result = max(alone - demand, 0), 0.0, 0.0
    for n in range(1, warps + 1):
        response = demand * (1 + queue)
        result = n / (think + response)
        queue = result * response
    return result


def stage_seconds(stage, card, case, launch_fits):
    """Returns the seconds of a stage for FITS fits, and its limit. case: 0, 1, 2 for least, expected and most fetch."""
    loop_gap, rest_gap = stage.loop_gap or card.loop, stage.rest_gap or card.rest
    fetch, hertz = stage.fetch[case], card.ghz * 1e9
    alone = stage.loop * loop_gap + stage.rest * (rest_gap + fetch)
    issue, f64 = (stage.loop + stage.rest) * card.pipes / 4, stage.f64 * card.cycles
    warps = stage.warps or card.general
    per_cycle = rate(warps // card.pipes, max(issue, f64), alone) * card.pipes * card.sms
    steady = max(FITS / (per_cycle * hertz), FITS * BYTES / (BANDWIDTH * card.tbs * 1e12))
    # At the end of a launch the warps are idle for half of a fit, on average.
    last_fetch = fetch if stage.fetch_alone is None else stage.fetch_alone
    last = stage.fits * (stage.loop * loop_gap + stage.rest * (rest_gap + last_fetch)) / hertz
    busy = max(issue, f64) * per_cycle / card.pipes / card.sms
    limit = ("f64" if f64 >= issue else "issue") if busy > 0.8 else "latency and fetch" if fetch else "latency"
    return steady + FITS / launch_fits * (0.5 * last + 2 * LAUNCH), limit


def batch(stages, card, case=1, threads=THREADS, launch_fits=LAUNCH_FITS):
    """Returns seconds and limit of a batch of FITS spots with resident data."""
    parts = [stage_seconds(stage, card, case, launch_fits) for stage in stages]
    device, host = sum(seconds for seconds, _ in parts), HOST_SECONDS / threads
    return max(device, host) + LAST, max(parts)[1] if device > host else "host"


def single(points, card):
    """Returns seconds and limit of a fit of a decay with resident data. It has 5 evaluations of 13 us (launch, wait and
    step of the host, measured with 1e3 points) and a pass: 16 bytes, 40 f64 instructions and 79 in all per point."""
    memory = 16 * points / (BANDWIDTH * card.tbs * 1e12)
    clock = card.sms * card.ghz * 1e9
    f64 = points / 32 * 40 * card.cycles / card.pipes / clock
    issue = points / 32 * 79 / 4 / clock
    work, limit = max((memory, "memory"), (f64, "f64"), (issue, "issue"))
    return 5 * (13e-6 + work) + 1e-6, "launches and waits" if work < 13e-6 else limit


SPOTS, DECAY = "1,000,000 Gaussians of 15 x 15 on a device/f64, resident", "decay on a device/device, resident/1000000"
# Seconds on an H200 with the general kernel (docs/benchmarks.md, "On a GPU"): name, measured, model.
H200 = CARDS["H200"]
MEASURED = [("1e6 spots, general kernel, f64", 0.131, batch([GENERAL], H200, launch_fits=LAUNCH_FITS_BEFORE)[0]),
            ("the same, f32, one thread of the host", 0.161, batch([GENERAL_F32], H200, threads=1)[0])]
MEASURED += [(f"one fit, {points:.0e} points", seconds, single(points, H200)[0])
             for points, seconds in ((1e3, 66e-6), (1e5, 77e-6), (1e6, 93e-6), (1e7, 310e-6), (1e8, 2.57e-3))]
# Goals on an H200 in seconds; 20 million spots a second are 0.05 s for the million of the benchmark.
GOALS = {SPOTS: 0.05, SPOTS + ", Single": 0.02, DECAY: 0.0002}
HEAD = """\
# Predicted times of fits on a card. tests/device/run prints its measurements beside them.
# Written by tests/device/model.py --write. Predictions: nothing here was measured.
#
# card:    words of the device's name, as in "NVIDIA H200"; of several rows for a work that with the longest counts
# work:    the benchmark as criterion calls it, in quotes if it has a comma
# seconds: predicted, empty if nothing was predicted
# limit:   what bounds it, in words
# goal:    seconds that were set as the goal, empty if none was
# low:     seconds if no instruction waited for its code; empty if that has no part in the prediction
# high:    seconds if instructions of the slim kernel waited for their code as those of the general kernel do
#
# The goals are those of docs/benchmarks.md, "On a GPU".
# The goal of 8 ms for 1e7 points is one of page-locked memory, which no benchmark uses; nor does one time the compiler.
card,work,seconds,limit,goal,low,high
"""


def predictions():
    """Returns the text of predictions.csv."""
    text = HEAD
    for name, card in CARDS.items():
        def goal(work):
            return GOALS.get(work, "") if name == "H200" else ""
        seconds, limit = single(1e6, card)
        text += f'{name},"{DECAY}",{seconds:.3g},{limit},{goal(DECAY)},,\n'
        if name == "H200":
            text += f'{name},"{DECAY.replace("resident", "from the host")}",,,0.002,,\n'
        for suffix, stages in BATCHES.items():
            work = SPOTS + suffix
            low, (seconds, limit), high = batch(stages, card, 0)[0], batch(stages, card), batch(stages, card, 2)[0]
            bounds = f"{low:.3g},{high:.3g}" if high > low else ","
            text += f'{name},"{work}",{seconds:.3g},{limit},{goal(work)},{bounds}\n'
    return text


def count(listing):
    """Prints each loop of a listing: instructions, those of f64, and the cycles of one round for a warp alone. Cycles
    are from the stall counts and scoreboards in bits 41 to 57 of the second word of an instruction."""
    latency = {"LDG": 35, "LDL": 35, "LDS": 25, "LDC": 30, "MUFU": 22, "SHFL": 24, "S2R": 25, "DSETP": 10}
    code, labels = [], {}
    for line in listing.splitlines():
        if label := re.match(r"\s*(\.L\w+):", line):
            labels[label[1]] = len(code)
        elif found := re.search(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(.*?);\s*/\* 0x", line):
            code.append([found[1], 0])
        elif word := re.match(r"\s+/\* 0x([0-9a-f]{16}) \*/", line):
            code[-1][1] = int(word[1], 16) >> 41
    for end, (text, _) in enumerate(code):
        target = re.search(r"BRA.*`\((\.L\w+)\)", text)
        begin = labels.get(target[1], end + 1) if target else end + 1
        if end - begin < 60:
            continue
        names = [words.split()[0].split(".")[0] for words, _ in code[begin:end + 1]]
        clock, started, ready = 0, 0, [0] * 6
        for _ in range(2):  # the second round meets the loads of the first
            started = clock
            for name, (_, bits) in zip(names, code[begin:end + 1]):
                clock = max([clock] + [ready[k] for k in range(6) if bits >> 11 + k & 1])
                for barrier, cycles in ((bits >> 5 & 7, latency.get(name, 20)), (bits >> 8 & 7, 10)):
                    if barrier < 6:
                        ready[barrier] = max(ready[barrier], clock + cycles)
                clock += max(bits & 15, 1)
        f64 = sum(name in ("DFMA", "DMUL", "DADD", "DSETP") for name in names)
        print(f"{begin:6} to {end:6}: {len(names):5} instructions, {f64:4} of f64, {clock - started:6} cycles")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count"]:
        count(Path(sys.argv[2]).read_text())
    elif sys.argv[1:] == ["--write"]:
        CSV.write_text(predictions())
    elif sys.argv[1:] == ["--check"]:
        sys.exit(0 if CSV.read_text() == predictions() else f"{CSV.name} is old: run tests/device/model.py --write")
    else:
        for name, seconds, model in MEASURED:
            measured = f"measured {1e3 * seconds:8.3f} ms"
            print(f"{name:40} {measured}, model {1e3 * model:8.3f} ms, {model / seconds - 1:+.0%}")
        print(predictions()[len(HEAD):])
