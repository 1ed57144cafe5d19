"""Starts the application and browsers for the tests."""

import atexit
import datetime
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
import uuid

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

# The folder of the screenshots and logs.
OUTPUT = os.environ["TODOAPP_OUTPUT"]
NOW = "2030-06-01T12:00:00Z"
MODEL = os.path.realpath(os.path.join(os.path.dirname(__file__), "../Sources/ToDoApp/ToDo.cdmodel"))


def eventually(condition, seconds=10.0):
    """Returns the first true result of a condition. Elements may be replaced while it looks at them."""
    end = time.monotonic() + seconds
    while True:
        try:
            result = condition()
            if result:
                return result
        except StaleElementReferenceException:
            result = "a stale element"
        if time.monotonic() > end:
            raise AssertionError(f"this did not happen within {seconds} s; the last result was {result!r}")
        time.sleep(0.03)


class Server:
    """A process of the application on a store."""

    def __init__(self, store, *arguments, now=NOW, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                 environment=None, name="server"):
        self.log = []
        self.name = name
        command = [os.environ["TODOAPP"], "--store", store, "--port", "0", "--test", *arguments]
        if now:
            command += ["--now", now]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, stdin=stdin, text=True,
            env={**os.environ, "TZ": "UTC", **(environment or {})})
        self.url = self.process.stdout.readline().strip().rstrip("/")
        if not self.url.startswith("http"):
            raise AssertionError(
                f"the server did not start: {self.process.stderr.read() if self.process.stderr else ''}")
        if self.process.stderr:
            threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self):
        with open(os.path.join(OUTPUT, f"{self.name}.log"), "a") as file:
            for line in self.process.stderr:
                self.log.append(line.rstrip())
                file.write(f"{self.process.pid} {line}")

    def set_clock(self, text):
        request = urllib.request.Request(self.url + "/test/clock", data=text.encode(), method="POST")
        urllib.request.urlopen(request, timeout=20).close()

    def wait_until_open(self, seconds=60):
        eventually(lambda: self.get("/state")[1] == "open", seconds)

    def get(self, path, headers=None):
        request = urllib.request.Request(self.url + path, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, number=signal.SIGTERM, seconds=30):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()


class Client:
    """A window without a browser, as its script talks to the server."""

    def __init__(self, server):
        self.server = server
        server.wait_until_open()
        with urllib.request.urlopen(server.url + "/", timeout=60) as response:
            self.base = response.url
            self.page = response.read().decode()
        self.token = re.search(r'name="token" content="(\w+)"', self.page)[1]

    def run(self, command, token=None):
        request = urllib.request.Request(
            self.base + "/do", data=json.dumps(command).encode(), method="POST",
            headers={"Content-Type": "application/json", "X-Token": token or self.token})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.read().decode()
        except urllib.error.HTTPError as error:
            return f"{error.code} {error.read().decode()}"

    def rows(self, offset=0):
        with urllib.request.urlopen(f"{self.base}/rows?offset={offset}", timeout=60) as response:
            return response.read().decode()

    def connect(self):
        """Opens the stream of events, as a page does, and returns it."""
        stream = urllib.request.urlopen(self.base + "/events", timeout=60)
        stream.readline()
        return stream

    def close(self):
        request = urllib.request.Request(self.base + "/close", data=self.token.encode(), method="POST")
        urllib.request.urlopen(request, timeout=20).close()

    def answer(self, item, answer):
        """Answers an alert."""
        request = urllib.request.Request(
            self.base + "/alert", data=json.dumps({"id": item, "answer": answer}).encode(), method="POST",
            headers={"Content-Type": "application/json", "X-Token": self.token})
        urllib.request.urlopen(request, timeout=20).close()

    def alerts(self):
        """The titles in the dialog of alerts, as a page that is loaded now has them."""
        with urllib.request.urlopen(self.base, timeout=60) as response:
            return re.findall(r"data-alert=.*?<strong>(.*?)</strong>", response.read().decode(), re.DOTALL)

    def export(self):
        return json.loads(self.server.get(self.base.removeprefix(self.server.url) + "/export.json")[1])

    def ids(self):
        return re.findall(r'<tr id="[^"]*" data-id="([^"]*)"', self.rows())

    def add(self, title, due="2030-06-02T09:00"):
        return self.run({"add": {"title": title, "dueDate": due}})

    def save_until_killed(self, prefix):
        """Saves twenty new items at a time, on a thread of its own, until the server is killed.

        Returns the thread, and the names of the saves that the server has acknowledged so far."""
        saved = []

        def work():
            try:
                for number in range(1_000):
                    self.run({"load": {"document": {"categories": [], "items": [
                        {"title": f"{prefix}-{number}-{part}", "dueDate": "2030-06-02T09:00:00Z"}
                        for part in range(20)
                    ]}}})
                    if "Saved." in self.run({"save": {}}):
                        saved.append(f"{prefix}-{number}")
            except Exception:
                pass  # The server was killed.

        thread = threading.Thread(target=work)
        thread.start()
        return thread, saved

    def item_counts(self):
        """The number of items of each save of `save_until_killed`, by the name of the save."""
        counts = {}
        for item in self.export()["items"]:
            name = item["title"].rsplit("-", 1)[0]
            counts[name] = counts.get(name, 0) + 1
        return counts

    def import_items(self, count, **values):
        # None of them is due while a test runs.
        start = datetime.datetime(2030, 6, 2)
        items = [
            {
                "title": f"Item {number:05}", "category": f"Category {number % 7}",
                "dueDate": (start + datetime.timedelta(minutes=7 * number)).isoformat() + "Z", **values,
            }
            for number in range(count)
        ]
        return self.run({"load": {"document": {"categories": [], "items": items}}})


class Browser:
    """A window of a headless browser."""

    def __init__(self, width=1200, height=820):
        options = webdriver.ChromeOptions()
        for argument in (
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--lang=en-GB",
            f"--window-size={width},{height}", "--force-color-profile=srgb",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(
            options=options, service=Service("/usr/bin/chromedriver", env={**os.environ, "TZ": "UTC"}))
        self.driver.set_script_timeout(20)

    def open(self, server, path="/"):
        server.wait_until_open()
        self.driver.get(server.url + path)
        self.find("#edited")
        return self

    def find(self, selector, seconds=10):
        return eventually(lambda: next(iter(self.all(selector)), None), seconds)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return eventually(lambda: [self.find(selector).text])[0]

    def click(self, selector):
        def attempt():
            try:
                self.find(selector).click()
                return True
            except StaleElementReferenceException:
                return False
            except WebDriverException as error:
                if "not interactable" in str(error) or "intercepted" in str(error):
                    return False
                raise
        eventually(attempt)

    def type(self, selector, text, end=Keys.ENTER):
        # The row of the field may be replaced meanwhile. The new field has the focus then.
        eventually(lambda: [self.find(selector).click()])
        for keys in ((Keys.CONTROL, "a"), (text + end,)):
            eventually(lambda: [self.driver.switch_to.active_element.send_keys(*keys)])

    def set_date(self, selector, value):
        """Sets a date, whose field takes keys in the order of the browser's language."""
        self.driver.execute_script(
            "const field = document.querySelector(arguments[0]); field.focus(); field.value = arguments[1];"
            "field.blur()", selector, value)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def lose_program(self):
        """Lets the page send its changes in vain, as to a program that does not answer."""
        self.script(
            "window.former = fetch; window.fetch = (path, options) => path.endsWith('/do') "
            "? Promise.reject(new Error('It is away.')) : former(path, options)")

    def find_program(self):
        """Ends what lose_program() began."""
        self.script("window.fetch = former")

    def titles(self):
        return self.script("return [...document.querySelectorAll('tbody [data-field=title]')].map(f => f.value)")

    def until_titles(self, titles):
        try:
            eventually(lambda: self.titles() == titles)
        except AssertionError:
            raise AssertionError(f"the list has {self.titles()} instead of {titles}") from None

    def row(self, title):
        """A selector of the row with a title."""
        def identifier():
            return self.script(
                "return [...document.querySelectorAll('tbody tr')].find("
                "r => r.querySelector('[data-field=title]')?.value === arguments[0])?.id", title)
        return "#" + eventually(identifier)

    def add(self, title, due=None):
        if due:
            self.set_date("#add [name=dueDate]", due)
        self.type("#add [name=title]", title)
        eventually(lambda: title in self.titles())

    def begin_typing(self, title, text):
        """Types a text at the end of a title, and stays in the field."""
        field = self.find(self.row(title) + " [data-field=title]")
        field.click()
        field.send_keys(Keys.END, text)

    def save(self):
        eventually(lambda: self.find("#save").is_enabled())
        self.click("#save")
        self.until_saved()

    def until_saved(self):
        eventually(lambda: self.script("return document.getElementById('edited').dataset.edited") == "false")

    def message(self, part):
        try:
            return eventually(lambda: part in self.text("#messages"))
        except AssertionError:
            raise AssertionError(f"the message is {self.text('#messages')!r}, without {part!r}") from None

    def picture(self, name):
        self.driver.save_screenshot(os.path.join(OUTPUT, f"{name}.png"))

    def errors(self):
        """What the browser complained of."""
        return [
            entry["message"] for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and "/events" not in entry["message"]
        ]

    def quit(self):
        self.driver.quit()


class ApplicationTest(unittest.TestCase):
    """A test with a folder of its own, and one browser that the tests share."""

    shared = None

    @classmethod
    def setUpClass(cls):
        if ApplicationTest.shared is None:
            ApplicationTest.shared = Browser()
            atexit.register(ApplicationTest.shared.quit)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.servers = []
        self.browser = ApplicationTest.shared
        # Forgets what the browser has complained of in other tests.
        self.browser.driver.get_log("browser")

    def tearDown(self):
        result = self._outcome.result
        if any(test is self for test, _ in result.failures + result.errors):
            self.browser.picture("failed-" + self.id())
        # The next test begins without a question about unsaved changes.
        self.browser.script("addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true)")
        for server in self.servers:
            server.stop(signal.SIGKILL)

    def server(self, name="ToDo.sqlite", *arguments, **options):
        """Starts a process on a file of the test's folder, or on a store that has a URL."""
        store = name if "://" in name else os.path.join(self.folder, name)
        server = Server(store, *arguments, name=self.id(), **options)
        self.servers.append(server)
        return server

    def second_browser(self, **size):
        browser = Browser(**size)
        self.addCleanup(browser.quit)
        return browser

    def old_store(self, version, items, name="ToDo.sqlite"):
        """A store of an old version, made by `cdstore`."""
        model = os.path.join(self.folder, "ToDo.cdmodel")
        os.makedirs(model)
        for file in [f"{number}.yaml" for number in range(1, version + 1)]:
            shutil.copy(os.path.join(MODEL, file), model)
        shutil.copy(os.path.join(MODEL, "model.yaml"), model)
        store = os.path.join(self.folder, name)
        tool = os.environ["CDSTORE"]
        subprocess.run([tool, "create", store, "--model", model], check=True, stdout=subprocess.DEVNULL)
        data = os.path.join(self.folder, "items.json")
        with open(data, "w") as file:
            json.dump(items, file)
        subprocess.run([tool, "load", store, data], check=True, stdout=subprocess.DEVNULL)
        return store


class Proxy:
    """A way to a database server that the tests can close and open again."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.sockets = []
        self.lock = threading.Lock()
        self.listener = None
        self.port = 0
        self.open()

    def open(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        self.listener.listen(100)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def close(self):
        """Ends all connections. New ones are refused."""
        with self.lock:
            listener, self.listener = self.listener, None
            sockets, self.sockets = self.sockets, []
        for closed in ([listener] if listener else []) + sockets:
            try:
                closed.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            closed.close()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            with self.lock:
                if self.listener is not listener:
                    client.close()
                    server.close()
                    return
                self.sockets += [client, server]
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for ended in (source, target):
            try:
                ended.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


@unittest.skipUnless("CDGEN_POSTGRES_URL" in os.environ, "there is no PostgreSQL server: see .ci/postgresql")
class TeamTest(ApplicationTest):
    """A test on a new schema of a PostgreSQL server."""

    # A save that cannot be repeated fails soon.
    LIMITS = "replay_timeout=1&connect_timeout=2"

    def setUp(self):
        super().setUp()
        self.schema = "todo_" + uuid.uuid4().hex[:12]
        self.url = f"{os.environ['CDGEN_POSTGRES_URL']}?schema={self.schema}&{self.LIMITS}"
        self.addCleanup(self.sql, f'DROP SCHEMA IF EXISTS "{self.schema}" CASCADE')

    def sql(self, text):
        done = subprocess.run(
            ["psql", os.environ["CDGEN_POSTGRES_URL"], "-qAtc", text], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def proxied(self):
        """A proxy, and the URL of the schema through it."""
        host, port = re.search(r"@([^:/]+):(\d+)/", os.environ["CDGEN_POSTGRES_URL"]).groups()
        proxy = Proxy(host, int(port))
        self.addCleanup(proxy.close)
        return proxy, self.url.replace(f"@{host}:{port}/", f":secret@127.0.0.1:{proxy.port}/")
