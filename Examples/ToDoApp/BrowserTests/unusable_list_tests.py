"""Lists of a newer version, damaged lists, and lists in use."""

import contextlib
import os
import sqlite3
import subprocess
import time

from application import ApplicationTest, Client, MODEL, eventually


class UnusableListTests(ApplicationTest):
    """Lists that cannot be opened or read. The page says why, and what to do."""

    def explained(self, server, *texts):
        browser = self.browser
        eventually(lambda: server.get("/state")[1] == "failed", 30)
        browser.driver.get(server.url)
        text = eventually(lambda: browser.text("#failed"))
        for part in texts:
            self.assertIn(part, text)
        self.assertNotIn("Error(", text)
        return browser

    def server_is_open_after_retry(self, browser):
        browser.click("#retry")
        browser.find("#edited")

    def list_with_items(self, count=10_000):
        server = self.server()
        client = Client(server)
        client.import_items(count)
        self.assertIn("Saved.", client.run({"save": {}}))
        self.assertEqual(server.stop(), 0)
        store = os.path.join(self.folder, "ToDo.sqlite")
        with contextlib.closing(sqlite3.connect(store)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return store

    @staticmethod
    def overwrite(store, position, data):
        with open(store, "r+b") as file:
            file.seek(position)
            file.write(data)

    def test_a_damaged_header(self):
        store = self.list_with_items(10)
        self.overwrite(store, 0, b"garbage!" * 12)
        before = open(store, "rb").read()
        self.explained(self.server(), "The file cannot be opened.", "Choose a file that this app has created.", store)
        self.assertEqual(open(store, "rb").read(), before)

    def test_damage_in_the_header(self):
        # The size of pages becomes impossible.
        store = self.list_with_items(10)
        self.overwrite(store, 16, b"\x00\x03")
        self.explained(self.server(), "cannot be", store)

    def test_a_truncated_file(self):
        store = self.list_with_items()
        for part in (0.9, 0.5, 0.1):
            os.truncate(store, int(os.path.getsize(store) * part))
            self.explained_here_or_in_the_window(self.server())

    def test_a_file_that_ends_within_its_first_page(self):
        for size in (700, 17):
            store = self.list_with_items(10)
            os.truncate(store, size)
            self.explained(self.server(), "cannot be", store)
            os.remove(store)

    def test_overwritten_pages(self):
        store = self.list_with_items()
        with contextlib.closing(sqlite3.connect(store)) as database:
            size = database.execute("PRAGMA page_size").fetchone()[0]
            roots = database.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0").fetchall()
        with open(store, "rb") as file:
            intact = file.read()
        for name, root in [("sqlite_master", 1)] + roots:
            with open(store, "wb") as file:
                file.write(intact)
            start = (root - 1) * size + (100 if root == 1 else 0)
            self.overwrite(store, start, os.urandom(size - (100 if root == 1 else 0)))
            with self.subTest(table=name):
                self.explained_here_or_in_the_window(self.server(), may_be_unharmed=True)

    def explained_here_or_in_the_window(self, server, may_be_unharmed=False):
        """Damage can be found when the list is opened, or when the damaged part is read."""
        browser = self.browser
        eventually(lambda: server.get("/state")[1] in ("open", "failed"), 30)
        browser.driver.get(server.url)
        # Reads all parts of the list.
        for selector in ("[data-sort=title]", "[data-sort=category]", "[data-sort=state]", "[data-sort=dueDate]"):
            if browser.all("#failed"):
                break
            browser.click(selector)
            browser.script("window.scrollTo(0, document.body.scrollHeight)")
            time.sleep(0.1)
        if browser.all("#failed"):
            text = browser.text("#failed")
        else:
            if browser.all("#items"):
                browser.type("#add [name=title]", "New")
                if eventually(lambda: [browser.find("#save").is_enabled()])[0]:
                    browser.click("#save")
                eventually(lambda: browser.text("#busy") == "")
            text = browser.text("#messages")
            if may_be_unharmed and text in ("", "Saved."):
                server.stop()
                return
        self.assertTrue("cannot be" in text or "is not" in text, text)
        self.assertNotIn("Error(", text)
        self.assertNotIn("SQL", text)
        self.assertIsNone(server.process.poll(), "the server has crashed")
        server.stop()

    def test_damage_in_the_middle_of_a_long_list(self):
        store = self.list_with_items()
        with contextlib.closing(sqlite3.connect(store)) as database:
            size = database.execute("PRAGMA page_size").fetchone()[0]
        with open(store, "rb") as file:
            data = file.read()
        # The leaf of the table that has the item.
        pages = [
            number for number in range(len(data) // size)
            if data[number * size] == 13 and b"Item 05000" in data[number * size:(number + 1) * size]
        ]
        self.assertTrue(pages)
        for page in pages:
            self.overwrite(store, page * size, os.urandom(size))
        self.explained_here_or_in_the_window(self.server())
        self.browser.picture("damaged")

    def test_a_folder_is_no_list(self):
        os.makedirs(os.path.join(self.folder, "Folder.sqlite"))
        self.explained(self.server("Folder.sqlite"), "cannot be")

    def test_a_folder_that_does_not_exist_is_made(self):
        server = self.server("new/folder/List.sqlite")
        server.wait_until_open()
        self.assertTrue(os.path.exists(os.path.join(self.folder, "new/folder/List.sqlite")))

    def test_a_file_in_the_place_of_the_folder(self):
        with open(os.path.join(self.folder, "file"), "w") as file:
            file.write("x")
        self.explained(self.server("file/List.sqlite"))

    def test_a_list_that_another_program_has_locked(self):
        store = self.list_with_items(10)
        with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as database:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("BEGIN EXCLUSIVE")
            browser = self.explained(self.server(), "The data is in use.", "Try again in a moment.")
        self.server_is_open_after_retry(browser)
        self.assertEqual(len(browser.titles()), 10)

    def test_a_newer_store_is_explained(self):
        model = os.path.join(self.folder, "ToDo.cdmodel")
        os.makedirs(model)
        for name in os.listdir(MODEL):
            if not name.endswith(".lock"):
                with open(os.path.join(MODEL, name)) as source, open(os.path.join(model, name), "w") as copy:
                    copy.write(source.read())
        with open(os.path.join(MODEL, "3.yaml")) as source, open(os.path.join(model, "4.yaml"), "w") as copy:
            copy.write(source.read().replace("      completed:", "      colour: String?\n      completed:"))
        store = os.path.join(self.folder, "ToDo.sqlite")
        subprocess.run(
            [os.environ["CDSTORE"], "create", store, "--model", model], check=True, stdout=subprocess.DEVNULL)
        before = open(store, "rb").read()
        browser = self.explained(
            self.server(), "The data cannot be opened.", "A newer version of the app has written it.", store)
        browser.picture("newer")
        self.assertEqual(open(store, "rb").read(), before)

    def test_a_file_of_another_program_is_explained(self):
        store = os.path.join(self.folder, "ToDo.sqlite")
        with open(store, "w") as file:
            file.write("This is not a list.\n" * 100)
        browser = self.explained(self.server(), "The file cannot be opened.", "Choose a file that this app has created.")
        browser.picture("foreign")
        os.remove(store)
        self.server_is_open_after_retry(browser)

    def test_a_damaged_document_is_explained(self):
        server = self.server("Document.bin")
        Client(server).add("Tea")
        server.stop()
        with open(os.path.join(self.folder, "Document.bin"), "r+b") as file:
            file.seek(200)
            file.write(b"damage")
        self.explained(
            self.server("Document.bin"), "The data cannot be read.", "Restore the file from a backup.")

    def test_a_store_in_use_is_explained_and_can_be_retried(self):
        first = self.server("Document.xml")
        first.wait_until_open()
        browser = self.explained(self.server("Document.xml"), "The data is in use.", "Try again in a moment.")
        browser.picture("in-use")
        first.stop()
        self.server_is_open_after_retry(browser)
