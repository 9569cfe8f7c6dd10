"""Pages in a real browser, as a person opens them: offline, by keyboard, in light and in dark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.check.check import check
from harness.history import manifest
from harness.report import report
from harness.report.incident.explain_page import write_page
from harness.report.many import index, matrix_text, sweep_text
from harness.report.many import trend as trend_page
from harness.tables.engines.contract import Engine
from harness.trend import dataset, job
from tests.machine import browser as machine
from tests.report.sample_logs import logged, storm_of_a_slow_member
from tests.report.sample_matrix import write_app_run, write_matrix
from tests.report.sample_suite import write_night
from tests.report.sample_sweep import write_sweep
from tests.trend.sample import write_series

pytestmark = [pytest.mark.browser, pytest.mark.spark, pytest.mark.long(2)]

Chrome = webdriver.Chrome
DATA: Final = Path(__file__).resolve().parents[1] / "data"
LONGEST_TAB_WALK: Final = 400

# Texts with less contrast to what is behind them than WCAG 2.2 AA asks for: 4.5, large ones 3.
LOW_CONTRAST: Final = """
const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
const mix = (over, under) => {
  const a = over.length > 3 ? over[3] : 1;
  return [0, 1, 2].map(i => over[i] * a + under[i] * (1 - a));
};
const luminance = colour => colour
  .map(each => each / 255)
  .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
  .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
const behind = element => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    layers.push(parse(getComputedStyle(at).backgroundColor));
  }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const canvas = dark ? [0, 0, 0] : [255, 255, 255];
  return layers.reverse().reduce((under, over) => mix(over, under), canvas);
};
const found = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const element = walk.currentNode.parentElement, style = getComputedStyle(element);
  const said = walk.currentNode.textContent.trim();
  if (!said || !element.getClientRects().length || element.closest('.skip, title, style')) continue;
  const under = behind(element);
  const ink = mix(parse(element.closest('svg') ? style.fill : style.color), under);
  const [light, dark] = [luminance(ink), luminance(under)].sort((a, b) => b - a);
  const size = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
  const ratio = (light + 0.05) / (dark + 0.05);
  if (ratio < (size >= 24 || bold && size >= 18.66 ? 3 : 4.5)) {
    found.push(`${ratio.toFixed(2)} ${element.tagName}.${element.getAttribute('class')}: ${said}`);
  }
}
return [...new Set(found)];
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """Chromium without a network; what the page's console gets is kept."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(machine.browser())
    for flag in (
        "--headless=new",
        "--no-sandbox",  # tests may run as root, where Chromium has none
        "--window-size=1280,900",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=str(machine.driver()))
    driver = webdriver.Chrome(options, service)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def run_dir(duckdb_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded run in which a consumer was killed, judged and reported."""
    recorded = max(DATA.glob("schema-*/*/*"))
    folder = Path(shutil.copytree(recorded, tmp_path_factory.mktemp("results") / "run"))
    check(folder, duckdb_engine)
    report(folder)
    return folder


@pytest.fixture(scope="module")
def pages(
    run_dir: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Each kind of page that people open."""
    results = tmp_path_factory.mktemp("night")
    night = write_night(results)
    night.save()
    index.write(night)
    matrix = write_matrix(results)
    matrix_text.write(matrix)
    sweep = write_sweep(results)
    sweep_text.write(sweep)
    program = write_app_run(results / "everyday" / "of-a-program")
    report(program)
    up = [6_000.0 + n % 5 for n in range(20)] + [6_020.0 + n % 5 for n in range(20)]
    write_series(results / dataset.FOLDER, "R01", up, bound_high=6_050.0)
    rows = job.trends(spark, job.read(spark, str(results / dataset.FOLDER))).toArrow().to_pylist()
    (results / "trend").mkdir()
    return {
        "report": run_dir / "report.html",
        "program": program / "report.html",
        "index": night.path / "index.html",
        "matrix": matrix.path / "clients.html",
        "sweep": sweep.path / "sweep.html",
        "trend": trend_page.write(results / "trend", rows),
        "explain": write_page(results / "explain", logged(results, storm_of_a_slow_member())),
    }


PAGES: Final = ("report", "program", "index", "matrix", "sweep", "trend", "explain")


def opened(browser: Chrome, page: Path) -> Chrome:
    console(browser)  # what the page before has left
    browser.get(page.as_uri())
    return browser


def console(browser: Chrome) -> list[Any]:
    """What the console has got since it was asked last."""
    return list(browser.get_log("browser"))  # type: ignore[no-untyped-call]


def scheme(browser: Chrome, name: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": name}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_offline_without_a_word_on_the_console(
    browser: Chrome, pages: dict[str, Path], page: str
) -> None:
    opened(browser, pages[page])

    assert [] == console(browser)
    assert [] == browser.execute_script("return performance.getEntriesByType('resource')")
    assert browser.find_element(By.TAG_NAME, "h1").text


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_text_of_a_page_can_be_read(
    browser: Chrome, pages: dict[str, Path], page: str, colours: str
) -> None:
    scheme(browser, colours)
    opened(browser, pages[page])

    assert [] == browser.execute_script(LOW_CONTRAST)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_used_with_the_keyboard_alone(
    browser: Chrome, pages: dict[str, Path], page: str
) -> None:
    """Every link, fold and scrolled part is reached by Tab, and shows that it is."""
    opened(browser, pages[page])
    wanted = browser.execute_script(
        "return [...document.querySelectorAll('a[href], summary, [tabindex=\"0\"]')]"
        ".filter(each => each.checkVisibility()).length"
    )
    reached: set[str] = set()
    for _ in range(LONGEST_TAB_WALK):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        at = browser.execute_script(
            "const at = document.activeElement, style = getComputedStyle(at);"
            "at.dataset.walk ||= String(Math.random());"
            "return [at.tagName, at.dataset.walk, style.outlineStyle, at.outerHTML.slice(0, 80)]"
        )
        if at[0] == "BODY" or at[1] in reached:
            break
        assert "none" != at[2], f"no outline on {at[3]}"
        reached.add(at[1])

    assert wanted == len(reached)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone(browser: Chrome, pages: dict[str, Path], page: str) -> None:
    browser.set_window_size(420, 900)
    try:
        opened(browser, pages[page])
        wide = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
    finally:
        browser.set_window_size(1280, 900)

    assert wide[0] <= wide[1]


def test_the_timeline_shows_the_fault_where_the_history_has_it(
    browser: Chrome, run_dir: Path
) -> None:
    """By the axis that a person reads: seconds since steady state."""
    (fault,) = [
        row
        for row in pq.read_table(run_dir / "history" / "faults.parquet").to_pylist()
        if row["phase"] == "injected"
    ]
    steady = next(
        phase["from"] for phase in manifest.read(run_dir)["phases"] if phase["name"] == "steady"
    )
    meant_s = (fault["at"] - datetime.fromisoformat(steady)).total_seconds()
    opened(browser, run_dir / "report.html")
    plot = browser.find_element(By.CSS_SELECTOR, "#timeline .plot")
    ticks: list[Any] = [
        (float(tick.text.removesuffix("s").strip()), middle(tick))
        for tick in plot.find_elements(By.CSS_SELECTOR, "text.tick")
        if tick.text.removesuffix("s").strip().lstrip("-−").replace(".", "").isdigit()
    ]
    (first_s, first_px), (last_s, last_px) = ticks[0], ticks[-1]
    shown_px = middle(plot.find_element(By.CSS_SELECTOR, ".fault-edge"))
    shown_s = first_s + (shown_px - first_px) * (last_s - first_s) / (last_px - first_px)

    assert meant_s == pytest.approx(shown_s, abs=0.15), json.dumps(ticks)
    assert fault["kind"] in plot.find_element(By.CSS_SELECTOR, "text.fault").text


def middle(element: Any) -> float:
    """Where an element is, from left to right."""
    return float(element.rect["x"] + element.rect["width"] / 2)
