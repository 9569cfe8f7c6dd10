"""Pages in a real browser, as a person opens them: offline, by keyboard, in light and in dark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.base.paths import ROOT
from harness.check.check import check
from harness.history import manifest
from harness.report import report
from harness.report.incident.explain_page import write_page
from harness.report.many import index, matrix, matrix_text, sweep_text
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


# What sticks out of the window, but for what scrolls by itself; tables of a phone are cards.
CUT: Final = """
const found = [...document.body.querySelectorAll('*')].filter(each => {
  if (!each.checkVisibility() || each.closest('.skip')) return false;
  if (each.parentElement.closest('.scroll, svg, select')) return false;
  const box = each.getBoundingClientRect();
  return box.width && (box.right > innerWidth + 1 || box.left < -1);
});
const wide = innerWidth > 900 ? '.clients' : '.stacked, .verdicts';
for (const table of document.querySelectorAll(wide)) {
  const room = table.parentElement.clientWidth;
  if (table.checkVisibility() && table.scrollWidth > room) found.push(table);
}
return found.map(each => each.outerHTML.slice(0, 120));
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


def night(results: Path) -> Path:
    suite = write_night(results)
    index.write(suite)
    return suite.path


def program(results: Path) -> Path:
    run = write_app_run(results / "everyday" / "of-a-program")
    report(run)
    return run


def clients(results: Path) -> Path:
    """The page of docs/clients.md, which has more columns than any other."""
    matrix_text.write_into(results, matrix.load_matrix(ROOT / "docs" / matrix_text.RECORD))
    return results


def a_matrix(results: Path) -> Path:
    suite = write_matrix(results)
    matrix_text.write(suite)
    return suite.path


def a_sweep(results: Path) -> Path:
    suite = write_sweep(results)
    sweep_text.write(suite)
    return suite.path


def a_trend(results: Path, spark: SparkSession) -> Path:
    up = [6_000.0 + n % 5 for n in range(20)] + [6_020.0 + n % 5 for n in range(20)]
    write_series(results / dataset.FOLDER, "R01", up, bound_high=6_050.0)
    rows = job.trends(spark, job.read(spark, str(results / dataset.FOLDER))).toArrow().to_pylist()
    return trend_page.write(results, rows)


MAKERS: Final[dict[str, Callable[[Path], Path]]] = {
    "program": lambda results: program(results) / "report.html",
    "index": lambda results: night(results) / "index.html",
    "documented": lambda results: night(results) / "documented.html",
    "matrix": lambda results: a_matrix(results) / "clients.html",
    "clients": lambda results: clients(results) / "clients.html",
    "sweep": lambda results: a_sweep(results) / "sweep.html",
    "explain": lambda results: write_page(
        results / "explain", logged(results, storm_of_a_slow_member())
    ),
}
PAGES: Final = ("report", "trend", *MAKERS)


@pytest.fixture(scope="module")
def pages(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Each kind of page that people open, made when it is asked for first."""

    @cache
    def made(name: str) -> Path:
        if name == "report":
            return Path(request.getfixturevalue("run_dir")) / "report.html"
        results = tmp_path_factory.mktemp(name)
        if name == "trend":
            return a_trend(results, request.getfixturevalue("spark"))
        return MAKERS[name](results)

    return made


def opened(browser: Chrome, page: Path) -> Chrome:
    console(browser)  # what the page before has left
    browser.get(page.as_uri())
    return browser


def console(browser: Chrome) -> list[Any]:
    """What the console has got since it was asked last."""
    return list(browser.get_log("browser"))  # type: ignore[no-untyped-call]


@contextmanager
def at_width(browser: Chrome, width: int) -> Iterator[None]:
    """A window so wide, which is a phone's if it is narrow."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def scheme(browser: Chrome, name: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": name}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_offline_without_a_word_on_the_console(
    browser: Chrome, pages: Callable[[str], Path], page: str
) -> None:
    opened(browser, pages(page))

    assert [] == console(browser)
    assert [] == browser.execute_script("return performance.getEntriesByType('resource')")
    assert browser.find_element(By.TAG_NAME, "h1").text


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_text_of_a_page_can_be_read(
    browser: Chrome, pages: Callable[[str], Path], page: str, width: int, colours: str
) -> None:
    with at_width(browser, width):
        scheme(browser, colours)
        opened(browser, pages(page))

        assert [] == browser.execute_script(LOW_CONTRAST)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_of_a_page_is_cut(
    browser: Chrome, pages: Callable[[str], Path], page: str, width: int
) -> None:
    with at_width(browser, width):
        opened(browser, pages(page))

        assert [] == browser.execute_script(CUT)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_used_with_the_keyboard_alone(
    browser: Chrome, pages: Callable[[str], Path], page: str
) -> None:
    """Every link, fold and scrolled part is reached by Tab, and shows that it is."""
    opened(browser, pages(page))
    wanted = browser.execute_script(
        "return [...document.querySelectorAll('a[href], button, summary, [tabindex=\"0\"]')]"
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


def test_a_phone_shows_one_situation_at_a_time(
    browser: Chrome, pages: Callable[[str], Path]
) -> None:
    seen = (
        "return [...document.querySelectorAll('.clients tbody tr:first-child td')]"
        ".map((each, n) => each.checkVisibility() ? n : 0).filter(n => n)"
    )
    with at_width(browser, 390):
        opened(browser, pages("clients"))
        first = browser.execute_script(seen)
        label = browser.find_element(By.XPATH, "//label[text()='deploy']")
        browser.execute_script("arguments[0].scrollIntoView({behavior: 'instant'})", label)
        label.click()

        assert ([1], [8]) == (first, browser.execute_script(seen))


def test_what_a_run_comes_to_is_copied_with_one_click(
    browser: Chrome, pages: Callable[[str], Path]
) -> None:
    opened(browser, pages("report"))
    button = browser.find_element(By.ID, "copy")
    button.click()

    assert "Copied" == button.text
    assert not browser.find_element(By.ID, "markdown").is_displayed()


def test_the_picture_of_a_run_shows_all_of_its_sentence(
    browser: Chrome, pages: Callable[[str], Path]
) -> None:
    opened(browser, pages("report").with_name("timeline.svg"))
    cut = browser.execute_script(
        "return [...document.querySelectorAll('svg > text')].filter(each =>"
        "  each.getBoundingClientRect().right > innerWidth || each.getBBox().x < 0"
        ").map(each => each.textContent)"
    )
    assert [] == cut


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
