"""Test the page in headless Chromium: python browser.py FOLDER [SCREENSHOTS].

FOLDER is the built page. With dualfit and pandas in the environment, the Python code of the page is run, too.
"""

import contextlib
import functools
import http.server
import importlib.util
import math
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

#: Certified values and standard errors of NIST for Misra1a.
MISRA1A = {"b1": (2.3894212918e2, 2.7070075241), "b2": (5.5015643181e-4, 7.2668688436e-6)}
ROWS = 100_000
#: A module with the functions of the page's module, whose `dualfit_run` traps.
TRAP = bytes.fromhex(
    "0061736d01000000"  # magic number and version
    "010a0260017f017f6000017f"  # types: (i32) -> i32, () -> i32
    "030302" "0001"  # functions of these types
    "05030100" "10"  # 16 pages of memory
    "072a03" "066d656d6f72790200" "0f6475616c6669745f726573657276650000" "0b6475616c6669745f72756e0001"
    "0a0a02" "040041000b" "0300000b"  # 0; unreachable
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server without a log."""

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/index.html"
    finally:
        server.shutdown()


def fit(page: Page, text: str, model: str) -> None:
    """Type a table and a model, and press the button."""
    page.fill("#text", text)
    page.fill("#model", model)
    page.wait_for_timeout(400)
    page.click("#fit")
    expect(page.locator("#fit")).to_be_enabled(timeout=60_000)


def parameters(page: Page) -> dict[str, list[str]]:
    rows = page.locator("#parameters tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


def example(page: Page, name: str) -> None:
    """Press the button of an example and wait for its result."""
    page.evaluate("document.getElementById('status').textContent = ''")
    page.get_by_role("button", name=re.compile(name)).click()
    expect(page.locator("#status")).to_contain_text("onverged", timeout=60_000)
    expect(page.locator("#fit")).to_be_enabled()


def certified(page: Page) -> None:
    """The values of NIST, with the digits that the page shows."""
    example(page, "Misra1a")
    found = parameters(page)
    for name, (value, error) in MISRA1A.items():
        assert math.isclose(float(found[name][0]), value, rel_tol=1e-7), found
        assert math.isclose(float(found[name][1]), error, rel_tol=1e-3), found
    assert page.eval_on_selector("#picture", "image => image.decode().then(() => image.naturalWidth)") > 300
    assert "CurveFit::parse" in page.locator("#rust").text_content()


def code_in_python(page: Page, text: str) -> None:
    """The page's Python code gives the page's values."""
    if not (importlib.util.find_spec("dualfit") and importlib.util.find_spec("pandas") and importlib.util.find_spec("matplotlib")):
        print("SKIP (dualfit, pandas or matplotlib is not installed): the page's Python code")
        return
    code = page.locator("#python").text_content()
    os.environ["MPLBACKEND"] = "Agg"
    before, names = os.getcwd(), {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None):
        file = re.search(r'read_csv\("([^"]+)"', code)[1]
        Path(folder, file).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            exec(code, names)  # noqa: S102
        finally:
            os.chdir(before)
    values = dict(zip(names["fit"].names, names["fit"].params, strict=True))
    for name, (shown, _) in parameters(page).items():
        if name in values:
            assert math.isclose(values[name], float(shown), rel_tol=1e-6), (name, values[name], shown)


def decimal_commas(page: Page) -> None:
    fit(page, "Zeit (s);Strom (A)\n0,0;8,1\n0,5;6,2\n1,0;4,9\n1,5;3,8\n2,0;3,1\n2,5;2,4\n", "a*exp(-b*Zeit)")
    value = float(parameters(page)["b"][0])
    assert 0.4 < value < 0.6, value
    assert 'decimal=","' in page.locator("#python").text_content()


def nonsense(page: Page) -> None:
    """Each mistake has a message, and the page goes on."""
    line = "x,y\n1,2\n2,4.1\n3,5.9\n4,8.2\n"
    for text, model, words in [
        ("good morning", "a*x", "data.csv"),
        ("x,y\n1,2\n2,zwei\n3,6\n", "a*x", "data.csv:3"),
        (line, "a*x +", "column"),
        (line, "gausian", "did you mean"),
        (line, "a*exb(x)", "exb"),
        (line, "(" * 20_000 + "x" + ")" * 20_000, "nest"),
        (line, "", "no model"),
    ]:
        fit(page, text, model)
        expect(page.locator("#message")).to_contain_text(words)
        assert page.locator("#found").is_hidden()
    fit(page, line, "a*x")
    expect(page.locator("#status")).to_contain_text("Converged")
    fit(page, "<b>x</b>,<img src=x onerror=alert(1)>\n1,2\n2,4.1\n3,5.9\n", "a*x")
    assert page.locator("#preview img, #result b").count() == 0


def many_rows(page: Page) -> None:
    draw = random.Random(1)
    xs = [10 * i / ROWS for i in range(ROWS)]
    rows = (f"{x:.4f},{5 * math.exp(-x / 2) + 1 + draw.gauss(0, 0.1):.5f}" for x in xs)
    text = "x,y\n" + "\n".join(rows) + "\n"
    page.set_input_files("#file", {"name": "many.csv", "mimeType": "text/csv", "buffer": text.encode()})
    expect(page.locator("#preview caption")).to_have_text(f"{ROWS} rows", timeout=30_000)
    page.fill("#model", "a*exp(-x/tau) + c")
    begun = time.perf_counter()
    page.click("#fit")
    # The page responds while the worker computes.
    assert page.evaluate("1 + 1") == 2
    expect(page.locator("#fit")).to_be_enabled(timeout=120_000)
    print(f"{ROWS} rows: {time.perf_counter() - begun:.2f} s; {page.locator('#status').inner_text()}")
    value, error = map(float, parameters(page)["tau"])
    assert abs(value - 2) < 4 * error and error < 0.01, (value, error)
    page.click("#clear")
    assert page.input_value("#text") == "" and page.locator("#preview").is_hidden()


def cancelled(page: Page) -> None:
    """A running fit ends at once, and the next one works."""
    example(page, "two peaks")
    page.fill("#model", "gaussian(a_) + gaussian(b_) + gaussian(c_) + gaussian(d_) + sine(e_) + exponential(f_)")
    page.click("#fit")
    page.wait_for_timeout(200)
    page.keyboard.press("Escape")
    expect(page.locator("#message")).to_contain_text("cancelled", timeout=1000)
    example(page, "Misra1a")


def crash(page: Page, url: str) -> None:
    """A trap of the module is shown, and the next request has a new module."""
    page.route("**/dualfit.wasm", lambda route: route.fulfill(body=TRAP, content_type="application/wasm"))
    page.goto(url)
    expect(page.locator("#message")).to_contain_text("unreachable")
    expect(page.locator("#message")).to_contain_text("restarted")
    page.unroute("**/dualfit.wasm")
    example(page, "Misra1a")


def pictures(page: Page, folder: Path) -> None:
    for scheme in ("light", "dark"):
        for name, width in (("wide", 1280), ("narrow", 360)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            example(page, "two peaks")
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (scheme, name)
            page.screenshot(path=folder / f"{scheme}_{name}.png", full_page=True)


def main(folder: Path, shots: Path | None) -> None:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("SKIP (no Chromium)")
        sys.exit("browser" in os.environ.get("DUALFIT_REQUIRE", ""))
    with served(folder) as url, sync_playwright() as tools, tempfile.TemporaryDirectory() as scratch:
        browser = tools.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        faults, elsewhere = [], []
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on("request", lambda request: elsewhere.append(request.url) if request.method != "GET" else None)
        begun = time.perf_counter()
        page.goto(url)
        expect(page.locator("#library option")).not_to_have_count(1)
        print(f"the page and its library: {time.perf_counter() - begun:.2f} s")
        begun = time.perf_counter()
        certified(page)
        print(f"first fit: {time.perf_counter() - begun:.2f} s")
        code_in_python(page, page.input_value("#text"))
        example(page, "decimal commas")
        code_in_python(page, page.input_value("#text"))
        for name in ("two peaks", "dose"):
            example(page, name)
        for test in (decimal_commas, nonsense, many_rows, cancelled):
            print(test.__name__, flush=True)
            test(page)
        crash(page, url)
        pictures(page, shots or Path(scratch))
        browser.close()
    assert not faults, faults
    assert not elsewhere, elsewhere
    print("the page works")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
