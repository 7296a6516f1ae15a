"""Debian's chromium with the console of a broker, for the time of a test."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from launched import PATIENCE, free_port  # noqa: E402

SHOTS = Path(os.environ.get("CONSOLE_SHOTS", "console-shots"))  # where pictures are kept
SKIPPED = 77

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.remote.webelement import WebElement
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    webdriver = None

CHROMIUM = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"


def missing() -> str | None:
    """What of the browser is not installed."""
    if webdriver is None:
        return "python3-selenium"
    return next((path for path in (CHROMIUM, DRIVER) if not shutil.which(path)), None)


# Toasts go away by themselves: what each says is kept.
KEEP_TOASTS = """
window.toasts = [];
new MutationObserver(() => {
  for (const toast of document.querySelectorAll('[data-testid="toast"]')) toasts.push(toast.textContent);
}).observe(document, { childList: true, subtree: true, characterData: true });
"""


# An answer that the console needs before it opens its stream waits for `release()`.
HOLD_CONNECT = """
window.streams = 0;
window.EventSource = class { constructor() { ++streams; } addEventListener() {} close() {} };
const fetched = window.fetch;
window.fetch = async (address, ...more) => {
  window.asked = String(address);
  const answer = await fetched(address, ...more);
  if (String(address).endsWith("/server")) await new Promise((go) => { window.release = go; });
  return answer;
};
document.dispatchEvent(new Event("visibilitychange"));
"""

# A deletion waits for `release()`; `asked` has the addresses of all other requests.
HOLD_DELETE = """
window.asked = [];
const fetched = window.fetch;
window.fetch = async (address, options, ...more) => {
  if (options?.method === "DELETE") await new Promise((go) => { window.release = go; });
  else asked.push(String(address));
  return fetched(address, options, ...more);
};
"""


class Browser:
    """One window. Everything waits until it can be done."""

    def __init__(self, base: str) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                         "--hide-scrollbars", "--disable-background-networking", "--disable-component-update"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER, port=free_port()))
        self.driver.set_page_load_timeout(PATIENCE)
        self.driver.set_script_timeout(PATIENCE)
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": KEEP_TOASTS})
        self.base = base

    def close(self) -> None:
        self.driver.quit()

    # --- The window

    def size(self, width: int, height: int = 900) -> None:
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def system_theme(self, theme: str) -> None:
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": theme}]})

    def open(self, address: str, page: str) -> None:
        """Loads the console anew at a fragment, and waits for its page."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.base}/console/{address}")
        self.on(page)

    def on(self, page: str) -> None:
        """Waits for a page and its data."""
        self.until(f"page {page}", lambda: self.css(f'main[data-page="{page}"]') and not self.css('[aria-busy="true"]'))

    def shot(self, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SHOTS / f"{name}.png"))

    def script(self, text: str, *arguments: object) -> object:
        return self.driver.execute_script(text, *arguments)

    def hold_connect(self) -> None:
        """The console connects anew, and is held just before it opens its stream of events."""
        self.script(HOLD_CONNECT)
        self.until("the answer", lambda: self.script("return window.release !== undefined"))

    def hold_delete(self) -> None:
        """What the console deletes next waits in the browser; `asked` says what it asks for."""
        self.script(HOLD_DELETE)

    def asked(self) -> list[str]:
        return self.script("return window.asked")

    def reconnect(self) -> None:
        """The console opens its stream of events anew."""
        self.script('document.dispatchEvent(new Event("visibilitychange"))')

    # --- Elements, by data-testid

    def until(self, what: str, holds: Callable[[], object]) -> object:
        def tried(_: object) -> object:
            try:
                return holds()
            except (WebDriverException, IndexError):
                return False  # drawn again meanwhile, or not there yet
        try:
            return WebDriverWait(self.driver, PATIENCE, 0.1).until(tried)
        except WebDriverException as error:
            self.shot("failed")
            raise AssertionError(f"never came: {what}; the page says: {self.said()}") from error

    def css(self, selector: str) -> list["WebElement"]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def all(self, testid: str) -> list["WebElement"]:
        return self.css(f'[data-testid="{testid}"]')

    def there(self, testid: str) -> bool:
        return bool(self.all(testid))

    def find(self, testid: str) -> "WebElement":
        found = self.until(testid, lambda: [element for element in self.all(testid) if element.is_displayed()])
        return found[0]

    def gone(self, testid: str) -> None:
        self.until(f"{testid} is gone", lambda: not self.there(testid))

    def text(self, testid: str) -> str:
        return self.until(f"the text of {testid}", lambda: (self.find(testid).text or " "))

    def says(self, testid: str, part: str) -> None:
        self.until(f"{testid} says {part!r}", lambda: any(part in element.text for element in self.all(testid)))

    def live_is(self, state: str) -> None:
        """The sign that says whether the page follows the broker."""
        self.until(state, lambda: self.find("live").get_attribute("data-live") == state)

    def told(self, part: str) -> None:
        """A toast says so, or did."""
        self.until(f"a toast says {part!r}", lambda: any(part in text for text in self.script("return toasts")))

    def click(self, testid: str, index: int = 0) -> None:
        """Until it is hit: what comes above it may move it away from under the pointer."""
        def clicked() -> bool:
            element = [one for one in self.all(testid) if one.is_displayed() and one.is_enabled()][index]
            self.script("""
                window.hit = false;
                arguments[0].addEventListener("click", () => { hit = true; }, { capture: true, once: true });""", element)
            element.click()
            return bool(self.script("return window.hit"))
        self.until_possible(testid, clicked)

    def until_possible(self, what: str, act: Callable[[], bool]) -> None:
        def tried() -> bool:
            try:
                return act()
            except IndexError:
                return False
        self.until(f"{what} can be used", tried)

    def fill(self, testid: str, text: str) -> None:
        def filled() -> bool:
            element = self.find(testid)
            element.clear()
            element.send_keys(text)
            return element.get_attribute("value") == text
        self.until(f"{testid} holds {text!r}", filled)

    def keys(self, *keys: str) -> None:
        """Types to whatever has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def focused(self) -> str:
        """The data-testid of what has the focus."""
        return self.script("return document.activeElement?.dataset.testid ?? ''")

    def said(self) -> str:
        return str(self.script("return document.body.innerText"))[:2000]

    # --- What went on

    def complaints(self) -> list[str]:
        """Errors and policy violations of the browser's log since the last question."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" or "Content Security Policy" in entry["message"]]

    def foreign_requests(self) -> list[str]:
        requested = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                requested.append(message["params"]["request"]["url"])
        return [url for url in requested if not url.startswith((f"{self.base}/", "data:", "about:", "chrome:", "blob:"))]


def key(name: str) -> str:
    return getattr(Keys, name)
