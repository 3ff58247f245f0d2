"""A headless Chromium that opens the panel's page, and reads and touches it as a user would."""

import itertools
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from wall_time import Stopwatch

PATIENCE = 300.0  # s
GRASP = 5.0  # s
PAUSE = 0.05  # s between two looks at the page, whose browser needs the processor, too
# The button or tab of a name that can be seen.
_FIND = """return [...document.querySelectorAll('button, [role=tab], [role=button]')].find(
  e => e.innerText.trim() === arguments[0] && e.offsetParent !== null && !e.disabled)"""
# The field beside a label that can be seen; of a slider that for its number.
_FIELD = """const input = 'input:not([type=hidden]):not([type=checkbox]), textarea';
let e = [...document.querySelectorAll('label')].find(
  e => e.textContent.trim() === arguments[0] && e.offsetParent !== null);
while (e && !e.querySelector(input)) e = e.parentElement;
return e && e.querySelector(input)"""
_TRACK = _FIELD.replace(
    'input:not([type=hidden]):not([type=checkbox]), textarea', '.mantine-Slider-trackContainer'
)
_OPTION = """return [...document.querySelectorAll('[role=option]')].find(
  e => e.textContent.trim() === arguments[0] && e.offsetParent !== null)"""
_HANDLE = (255, 32, 96)  # the first axis of a handle in the scene, as three.js draws it
PROGRAMS = {'chromium': ('chromium', 'chromium-browser'), 'chromedriver': ('chromedriver',)}


def program(name: str) -> str | None:
    """Return where one of `PROGRAMS` is; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS[name])), None)


def _program(name: str) -> str:
    found = program(name)
    if found is None:
        pytest.skip(f'there is no {name}; on Debian: apt install chromium chromium-driver')
    return found


class Browser:
    """One window of Chromium."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)

    def wait(self, condition, what: str = ''):
        """Wait until a condition holds; its result."""
        from selenium.common.exceptions import WebDriverException

        watch = Stopwatch()
        while True:
            try:
                if result := condition():
                    return result
            except (AttributeError, WebDriverException):  # not there yet
                pass
            assert not watch.is_over(PATIENCE), f'not on the page: {what}\n{self.text[:2000]}'
            time.sleep(PAUSE)

    def wait_until_drawn(self) -> None:
        """Wait until what the page has taken in is on it."""
        twice = 'const end = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(end))'
        self.driver.execute_async_script(twice)

    @property
    def text(self) -> str:
        """All that can be read."""
        return self.driver.execute_script('return document.body.innerText')

    def wait_for(self, words: str) -> None:
        self.wait(lambda: words in self.text, words)

    def press(self, name: str) -> None:
        """Press a button or a tab."""

        def click() -> bool:
            element = self.driver.execute_script(_FIND, name)
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return True

        self.wait(click, f'button {name}')

    def button(self, name: str):
        """The button or tab itself, which is another one when the page is built anew."""
        return self.wait(lambda: self.driver.execute_script(_FIND, name), f'button {name}')

    def color_of(self, name: str) -> str:
        """The colour of a button."""
        return self.driver.execute_script(
            f'function find() {{ {_FIND} }}'
            'return getComputedStyle(find(arguments[0])).backgroundColor',
            name,
        )

    def field(self, label: str) -> str:
        """What stands in the field beside a label."""
        return self.driver.execute_script(
            f'function find() {{ {_FIELD} }} return find(arguments[0]).value', label
        )

    def open_folder(self, title: str) -> None:
        """Open a folder that is closed."""
        script = """return [...document.querySelectorAll('legend, div, p')].find(
          e => e.children.length < 2 && e.textContent.trim() === arguments[0])"""
        element = self.wait(lambda: self.driver.execute_script(script, title), title)
        self.driver.execute_script('arguments[0].click()', element)

    def thumb(self, label: str) -> float:
        """Where the slider beside a label stands."""
        track = self.driver.execute_script(_TRACK, label)
        return float(
            track.find_element('css selector', '[role=slider]').get_attribute('aria-valuenow')
        )

    def slide(self, label: str, share: float) -> None:
        """Click on the slider beside a label, at a share of its length."""
        from selenium.webdriver.common.action_chains import ActionChains

        element = self.wait(lambda: self.driver.execute_script(_TRACK, label), f'slider {label}')
        offset = round((share - 0.5) * element.size['width'])
        ActionChains(self.driver).move_to_element_with_offset(element, offset, 0).click().perform()

    def choose(self, label: str, option: str) -> None:
        """Choose from the list beside a label."""

        def click() -> bool:
            if self.field(label) == option:
                return True
            self.driver.execute_script(_FIELD, label).click()
            self.wait(lambda: self.driver.execute_script(_OPTION, option), option).click()
            return self.field(label) == option

        self.wait(click, f'{option} of {label}')

    def grab(self, is_pulled=lambda: True) -> None:
        """Press the mouse on the first axis of the one handle that is shown, and pull a bit.

        A thin axis may be missed: once more, until it is seen that it is pulled.
        """

        def is_held() -> bool:
            rows, columns = np.nonzero((np.abs(self.picture() - _HANDLE) < 50).all(axis=-1))
            if not len(rows):  # not drawn yet
                return False
            centre = np.array([columns.mean(), rows.mean()])
            spread = np.cov(columns, rows) + np.eye(2)
            nearest = np.hypot(columns - centre[0], rows - centre[1]).argmin()
            scale = 1.0 / self.driver.execute_script('return devicePixelRatio')
            start = scale * np.array([columns[nearest], rows[nearest]])
            along = np.linalg.eigh(spread)[1][:, -1]
            self._mouse = start
            self.pull(0.0, 0.0)
            self._pointer('pointer_down')
            for _ in range(4):
                self.pull(*(10.0 * along))
            watch = Stopwatch()
            while not is_pulled():
                if watch.is_over(GRASP):
                    self.let_go()
                    return False
                time.sleep(PAUSE)
            return True

        self.wait(is_held, 'a handle')

    def pull(self, right: float, down: float) -> None:
        """Move the mouse by some pixels."""
        self._mouse = self._mouse + [right, down]
        self._pointer('move_to_location', *map(round, self._mouse))

    @contextmanager
    def turning(self) -> Iterator:
        """Turn the view by the mouse while in the context; what it gives turns it a bit."""
        places = itertools.cycle([(150, 400), (200, 420), (250, 400), (200, 380)])
        self._pointer('move_to_location', *next(places))
        self._pointer('pointer_down')
        try:
            yield lambda: self._pointer('move_to_location', *next(places))
        finally:
            self._pointer('pointer_up')

    def let_go(self) -> None:
        """Release the mouse."""
        self._pointer('pointer_up')

    def _pointer(self, action: str, *arguments: int) -> None:
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        builder = ActionBuilder(self.driver, duration=50)
        getattr(builder.pointer_action, action)(*arguments)
        builder.perform()

    def type_into(self, label: str, text: str, *, end: bool = True) -> None:
        """Type into the field beside a label, and press the Enter key if asked to."""
        from selenium.webdriver.common.keys import Keys

        def send() -> bool:  # not while its folder is still opening
            field = self.driver.execute_script(_FIELD, label)
            field.send_keys(Keys.CONTROL, 'a')
            for key in text or [Keys.DELETE]:
                field.send_keys(key)
            return True

        self.wait(send, f'field {label}')
        if end:
            self.end_typing()

    def end_typing(self) -> None:
        """Press the Enter key."""
        from selenium.webdriver.common.keys import Keys

        self.driver.switch_to.active_element.send_keys(Keys.ENTER)

    def picture(self, path: Path | None = None) -> np.ndarray:
        """What is seen, as (height, width, 3)."""
        from PIL import Image

        data = self.driver.get_screenshot_as_png()
        if path is not None:
            Path(path).write_bytes(data)
        return np.asarray(Image.open(BytesIO(data)).convert('RGB')).astype(int)


@contextmanager
def chromium(*, scale: float = 0.5, downloads: Path | None = None) -> Iterator:
    """Start a browser; skip where there is none."""
    binary, driver = _program('chromium'), _program('chromedriver')
    selenium = pytest.importorskip('selenium', reason='selenium is not installed')
    assert selenium
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in (
        '--headless=new',
        '--no-sandbox',
        '--use-angle=swiftshader',
        '--enable-unsafe-swiftshader',
        '--disable-dev-shm-usage',
        '--window-size=900,700',
        f'--force-device-scale-factor={scale}',  # a quarter of the pixels to draw
    ):
        options.add_argument(argument)
    if downloads is not None:
        options.add_experimental_option('prefs', {'download.default_directory': str(downloads)})
    started = webdriver.Chrome(options, Service(driver))
    # A page that draws without a graphics card answers late where others want the processors.
    started.command_executor.client_config.timeout = PATIENCE
    try:
        yield Browser(started)
    finally:
        started.quit()
