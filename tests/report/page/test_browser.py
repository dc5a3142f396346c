"""The page at work in a real browser: every control acts, nothing is logged, nothing leaves the page."""

import json

import numpy as np
import pytest

from report.browser import browser
from results.made_gallery import write_gallery
from results.made_rows import changed, rows
from results.made_run import made_run, taken
from somamba.report.colours import Palette
from somamba.report.page.document import document
from somamba.report.page.markup import joined
from somamba.report.page.viewer import ViewerCase, ViewerImage, viewer
from somamba.report.report import build_report
from somamba.report.runs import comparable_runs
from somamba.report.sections.scores import scores_section

HOSTILE = "\"'><img src=x onerror=\"document.title='hacked'\"></script><script>document.title='hacked'</script>"
VIEWER = "document.querySelector('.viewer')"


@pytest.fixture(scope="module")
def chromium():
    with browser() as session:
        yield session


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Left half dark, right half a quarter brighter in every slice; ours is 0.05 too bright everywhere."""
    reference = np.zeros((4, 16, 16))
    reference[:, :, 8:] = np.array([0.25, 0.5, 0.75, 1.0])[:, None, None]
    images = [
        ViewerImage(label="Half", pixels=reference / 2, psnr=(10.0, 11.0, 12.0, 13.0), ssim=(0.1, 0.2, 0.3, 0.4)),
        ViewerImage(label="Ours", pixels=reference + 0.05),
    ]
    cases = [ViewerCase(name=name, images=images, reference=reference) for name in ("one", "two")]
    (runs,) = comparable_runs([*rows("unet", "acdc", 4, psnr=(9, 31)), *rows("so_mamba", "acdc", 4, psnr=(29, 100))])
    path = tmp_path_factory.mktemp("page") / "page.html"
    scores = scores_section([runs], Palette((("so_mamba", 0), ("unet", 0))))
    path.write_text(document("test", joined([viewer(cases), scores])))
    return path


@pytest.fixture
def opened(chromium, page):
    """The page, freshly opened; whatever a test does to it, the console stays empty."""
    chromium.open(page)
    settle(chromium)
    yield chromium
    assert chromium.log("browser") == []


def settle(session):
    """Until all that was asked for is drawn."""
    session.run("window.drawn = false; requestAnimationFrame(() => requestAnimationFrame(() => window.drawn = true))")
    session.wait(f"window.drawn && {VIEWER}.dataset.ready === 'true'")


def state(session):
    settle(session)
    return session.run(f"return {{...{VIEWER}.dataset}}")


def pixel(session, u, v, panel=0):
    """Colour at a place of an image, in shares of it while it is not zoomed."""
    settle(session)
    return session.run(
        """const canvas = document.querySelectorAll('.panel canvas')[arguments[2]];
        const size = Math.min(canvas.width, canvas.height);
        const x = canvas.width / 2 + (arguments[0] - 0.5) * size, y = canvas.height / 2 + (arguments[1] - 0.5) * size;
        const context = new OffscreenCanvas(1, 1).getContext('2d');
        context.drawImage(canvas, -Math.floor(x), -Math.floor(y));
        return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3)""",
        u,
        v,
        panel,
    )


def middle(session, panel=0):
    """A point of the window: the middle of an image."""
    session.run("document.querySelector('.viewer-stage').scrollIntoView({block: 'center'})")
    box = session.run(
        "const b = document.querySelectorAll('.panel canvas')[arguments[0]].getBoundingClientRect();"
        "return [b.left + b.width / 2, b.top + b.height / 2]",
        panel,
    )
    return tuple(box)


def test_slider_and_arrows_change_the_slice(opened):
    assert state(opened)["slice"] == "2"
    opened.press("1")
    assert pixel(opened, 0.75, 0.5) == [191, 191, 191]
    opened.press("ArrowUp")
    assert state(opened)["slice"] == "3"
    assert pixel(opened, 0.75, 0.5) == [255, 255, 255]
    opened.run("const s = document.querySelector('.viewer-slider'); s.value = 0; s.dispatchEvent(new Event('input'))")
    assert pixel(opened, 0.75, 0.5) == [64, 64, 64]
    assert pixel(opened, 0.25, 0.5) == [0, 0, 0]
    opened.run("document.querySelector('.viewer-slider').focus()")
    opened.press("ArrowRight", "ArrowRight")
    assert state(opened)["slice"] == "2"


def test_numbers_arrows_and_buttons_choose_the_image_and_space_flips(opened):
    assert state(opened)["image"] == "2"
    for key, image in ((" ", "0"), (" ", "2"), ("2", "1"), (" ", "2"), (" ", "1"), ("ArrowLeft", "0"), ("9", "0")):
        opened.press(key)
        assert state(opened)["image"] == image
    opened.click(".viewer-methods button:nth-child(2)")
    opened.press(" ")  # Flips back; the button does not take it.
    assert state(opened)["image"] == "0"
    assert opened.run("return document.querySelector('.viewer-methods button').ariaPressed") == "true"


def test_the_scores_are_those_of_the_slice(opened):
    opened.press("2")
    settle(opened)
    assert opened.run("return document.querySelector('.panel .scores').textContent") == "12.00 dB  ·  SSIM 0.300"
    opened.press("ArrowDown")
    settle(opened)
    assert opened.run("return document.querySelector('.panel .scores').textContent") == "11.00 dB  ·  SSIM 0.200"


def test_modes_show_magnitude_error_and_spectrum(opened):
    opened.press("e")
    assert state(opened)["mode"] == "error"
    left, right = pixel(opened, 0.25, 0.5), pixel(opened, 0.75, 0.5)
    assert left == right  # 0.05 too bright in either half
    assert left[0] != left[1]  # in colour
    opened.press("1")
    assert pixel(opened, 0.75, 0.5) == [191, 191, 191]  # the reference has no error and shows itself
    opened.press("k")
    assert state(opened)["mode"] == "k-space"
    assert sum(pixel(opened, 0.53, 0.53)) > sum(pixel(opened, 0.1, 0.1))
    opened.click("[data-mode=magnitude]")
    assert state(opened)["mode"] == "magnitude"


def test_the_wheel_zooms_where_the_pointer_is_and_all_images_alike(opened):
    x, y = middle(opened)
    opened.scroll((x + 100, y), -400)
    found = state(opened)
    assert float(found["zoom"]) == pytest.approx(np.e, rel=0.01)
    assert float(found["x"]) > 0.5
    assert float(found["y"]) == pytest.approx(0.5, abs=0.01)
    opened.press(" ", "ArrowUp", "k")
    assert state(opened)["zoom"] == found["zoom"]
    opened.press("r")
    assert state(opened)["zoom"] == "1"
    opened.press("+", "+", "-")
    assert float(state(opened)["zoom"]) == pytest.approx(1.25)


def test_a_drag_changes_window_and_level(opened):
    opened.press("1")
    before = pixel(opened, 0.75, 0.5)
    opened.drag(middle(opened), (0, -80))
    found = state(opened)
    assert float(found["low"]) == pytest.approx(-0.2)
    assert float(found["high"]) == pytest.approx(0.8)
    assert pixel(opened, 0.75, 0.5) > before
    opened.drag(middle(opened), (100, 0))
    wider = state(opened)
    assert float(wider["high"]) - float(wider["low"]) == pytest.approx(np.exp(0.5))
    opened.press("e")
    opened.drag(middle(opened), (-200, 0))
    assert (state(opened)["low"], float(state(opened)["high"])) == ("0", pytest.approx(0.2 / np.e))


def test_a_drag_with_shift_moves_the_image(opened):
    opened.press("+", "+", "+", "+", "+")
    before = state(opened)
    opened.drag(middle(opened), (60, 30), shift=True)
    after = state(opened)
    assert float(after["x"]) < float(before["x"])
    assert float(after["y"]) < float(before["y"])
    assert (after["low"], after["high"], after["zoom"]) == (before["low"], before["high"], before["zoom"])


def test_two_fingers_zoom(opened):
    opened.pinch(middle(opened), 40, 120)
    found = state(opened)
    assert float(found["zoom"]) == pytest.approx(3, rel=0.05)
    assert (found["low"], found["high"]) == ("0", "1")


def test_side_by_side_shows_every_image_with_one_zoom(opened):
    opened.press("s")
    assert state(opened)["together"] == "true"
    assert opened.run("return [...document.querySelectorAll('.panel b')].map(b => b.textContent)") == [
        "Reference",
        "Half",
        "Ours",
    ]
    assert [pixel(opened, 0.75, 0.6, i)[0] for i in range(3)] == [191, 96, 204]
    opened.scroll(middle(opened, 1), -800)
    assert float(state(opened)["zoom"]) > 4
    # The middle of every panel is now the edge between dark and bright, far larger than before.
    for panel in range(3):
        assert pixel(opened, 0.05, 0.6, panel) < pixel(opened, 0.95, 0.6, panel)
    opened.drag(middle(opened, 0), (0, 0))
    assert state(opened)["image"] == "0"


def test_side_by_side_may_come_while_the_pointer_is_on_the_image(opened):
    opened.drag(middle(opened), (0, 0))
    settle(opened)
    opened.press("s")
    assert state(opened)["together"] == "true"
    opened.press("s")
    assert state(opened)["together"] == "false"


def test_keys_scroll_the_page_until_the_images_are_in_sight(opened):
    opened.run(
        "document.body.style.paddingTop = '3000px'; window.scrollTo(0, 0);"
        f"window.scrollTo(0, {VIEWER}.getBoundingClientRect().top - innerHeight + 20)"  # no more than its upper edge
    )
    before = state(opened)["slice"]
    opened.press("ArrowDown")
    assert state(opened)["slice"] == before
    middle(opened)  # scrolls there
    opened.press("ArrowDown")
    assert int(state(opened)["slice"]) == int(before) - 1


def test_the_pointer_reads_the_pixel(opened):
    x, y = middle(opened)
    opened.drag((x + 4, y + 4), (0, 0))
    settle(opened)
    text = opened.run("return document.querySelector('.viewer-readout').textContent")
    assert text == "x 8, y 8:  0.800  (+0.050)"


def test_another_case_can_be_chosen(opened):
    opened.run(
        "const s = document.querySelector('.viewer-case'); s.selectedIndex = 1; s.dispatchEvent(new Event('change'))"
    )
    assert state(opened)["case"] == "two"


def test_help_opens_and_closes(opened):
    opened.press("?")
    assert opened.run("return document.querySelector('dialog').open")
    opened.press("1")  # The keys are asleep behind it.
    opened.click("dialog button")
    assert not opened.run("return document.querySelector('dialog').open")
    assert state(opened)["image"] == "2"


def test_tables_sort_by_number_with_mouse_and_keyboard(opened):
    names = "return [...document.querySelectorAll('table')[0].tBodies[0].rows].map(r => r.cells[0].textContent)"
    head = "document.querySelectorAll('table')[0].tHead.rows[0].cells[1]"
    assert opened.run(names) == ["UNet", "SO-Mamba"]
    opened.run(f"{head}.firstChild.click()")
    assert opened.run(names) == ["SO-Mamba", "UNet"]
    assert opened.run(f"return {head}.ariaSort") == "descending"
    opened.run(f"{head}.firstChild.focus()")
    opened.press("Enter")
    assert opened.run(names) == ["UNet", "SO-Mamba"]
    assert opened.run(f"return {head}.ariaSort") == "ascending"
    # 9 < 29 < 100: as numbers, not as text.
    opened.run("document.querySelector('details').open = true")
    opened.run("document.querySelector('#contest-0-psnr th:nth-child(4) button').click()")
    assert opened.run("return document.querySelector('#contest-0-psnr tbody td:nth-child(4)').textContent") == "100.00"


def test_hidden_columns_are_counted_and_a_click_brings_them(opened):
    cue = "document.querySelector('.scroll + .more')"
    opened.run("document.querySelector('.scroll').style.width = '20rem'")
    opened.wait(f"!{cue}.hidden")
    assert opened.run(f"return {cue}.textContent").endswith("more columns →")
    opened.run("document.querySelector('.scroll').scrollLeft = 10000")
    opened.wait(f"{cue}.hidden")
    opened.run("document.querySelector('.scroll').scrollLeft = 0")
    opened.wait(f"!{cue}.hidden")
    opened.run(f"{cue}.click()")
    opened.wait("document.querySelector('.scroll').scrollLeft > 0")
    opened.run("document.querySelector('.scroll').style.width = '200rem'")
    opened.wait(f"{cue}.hidden")


def test_a_metric_is_chosen_for_the_cases(opened):
    opened.run("document.querySelector('details').open = true")
    opened.click("[data-shows=contest-0-ssim]")
    assert opened.run("return ['psnr', 'ssim', 'nmse'].map(m => document.getElementById(`contest-0-${m}`).hidden)") == [
        True,
        False,
        True,
    ]


def test_names_from_files_do_nothing_and_nothing_leaves_the_page(chromium, tmp_path):
    write_gallery(tmp_path / "kept", cases=(HOSTILE, "plain"), labels=(HOSTILE, "unet"))
    sources = taken(tmp_path / "kept", made_run(tmp_path / "run", config=json.dumps({"recipe": {"model": HOSTILE}})))
    sources.scores += [changed(row, method=HOSTILE, case=HOSTILE) for row in rows("x", "acdc", 4)]
    sources.pictures[HOSTILE] = b"\x89PNG\r\n\x1a\n"
    path = tmp_path / "hostile.html"
    path.write_text(build_report(sources, title=HOSTILE, made_by={"command": HOSTILE}))
    chromium.open(path)
    settle(chromium)
    chromium.press("e", "k", "s")
    settle(chromium)
    assert chromium.run("return document.title") == HOSTILE
    assert HOSTILE in chromium.run("return document.querySelector('.viewer-methods').textContent")
    assert chromium.run("return document.querySelectorAll('[onerror], script:not([type])').length") == 1
    assert chromium.log("browser") == []
    left = [address for address in chromium.requests() if not address.startswith("data:image/png;base64,")]
    assert left == [path.as_uri()]


def test_the_policy_forbids_connections_pictures_and_other_scripts(chromium, page):
    chromium.open(page)
    chromium.run(
        """window.refused = [];
        document.addEventListener('securitypolicyviolation', (event) => window.refused.push(event.effectiveDirective));
        fetch('http://127.0.0.1:9/').catch(() => {});
        document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/a.png'}));
        document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = true'}));"""
    )
    chromium.wait("window.refused.length >= 3")
    assert set(chromium.run("return window.refused")) == {"connect-src", "img-src", "script-src-elem"}
    assert chromium.run("return window.hacked === undefined")


@pytest.mark.parametrize("width", [320, 768, 1600])
def test_nothing_is_wider_than_the_window(chromium, page, width):
    chromium.tell(
        "Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1, mobile=width < 500
    )
    try:
        chromium.open(page)
        settle(chromium)
        assert chromium.run("return document.documentElement.scrollWidth") <= width
    finally:
        chromium.tell("Emulation.clearDeviceMetricsOverride")
