"""Closing windows, and stopping and killing the server."""

import os
import pty
import signal
import subprocess
import time
import urllib.request

from application import ApplicationTest, Client, Keys, eventually


class QuittingTests(ApplicationTest):
    def test_closing_a_window_with_changes_asks(self):
        # A driven browser accepts the question at once, so the test looks at what the page answers to the event.
        browser = self.browser.open(self.server())
        asks = lambda: browser.script(
            "const event = new Event('beforeunload', { cancelable: true });"
            "dispatchEvent(event); return event.defaultPrevented")
        self.assertFalse(asks())
        browser.add("Tea")
        self.assertTrue(asks())
        browser.save()
        self.assertFalse(asks())
        # Text that is being typed is a change, too.
        browser.begin_typing("Tea", " and mi")
        self.assertTrue(asks())
        browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.assertFalse(asks())
        # So is text in a form that does not have the focus. A chosen item is no change.
        browser.type("#add [name=title]", "Coffee", "")
        browser.click(browser.row("Tea") + " input.pick")
        self.assertTrue(asks())
        browser.type("#add [name=title]", Keys.BACKSPACE, "")
        browser.click(browser.row("Tea") + " input.pick")
        self.assertFalse(asks())

    def test_text_that_nobody_was_asked_about_is_kept(self):
        server = self.server()
        browser = self.browser.open(server)
        browser.add("Tea")
        browser.save()
        browser.begin_typing("Tea", " and milk")
        # Some browsers close a page without a question.
        browser.script("dispatchEvent(new Event('pagehide'))")
        address = browser.driver.current_url.removeprefix(server.url)
        eventually(lambda: 'value="Tea and milk"' in server.get(address)[1])
        self.assertEqual(server.stop(), 0)
        self.assertIn('value="Tea and milk"', Client(self.server()).rows())

    def test_typed_text_stays_when_the_program_is_started_again(self):
        server = self.server()
        browser = self.browser.open(server)
        browser.add("Tea")
        browser.save()
        browser.find("#add [name=title]").send_keys("Coffee")
        browser.begin_typing("Tea", " and mi")
        address = browser.driver.current_url
        self.assertEqual(server.stop(), 0)
        self.server("ToDo.sqlite", "--port", server.url.rsplit(":", 1)[1])
        eventually(lambda: browser.driver.current_url != address and browser.all("#edited"), 30)
        eventually(lambda: browser.script("return document.activeElement.value") == "Tea and mi")
        self.assertEqual(browser.find("#add [name=title]").get_attribute("value"), "Coffee")
        browser.driver.switch_to.active_element.send_keys(Keys.END, "lk", Keys.ENTER)
        browser.until_titles(["Tea and milk"])
        browser.save()

    def test_typed_text_whose_item_is_gone_is_shown(self):
        server = self.server()
        browser = self.browser.open(server)
        browser.add("Tea")
        eventually(lambda: browser.find("#save").is_enabled())
        browser.begin_typing("Tea", " and milk")
        address = browser.driver.current_url
        # A program that is killed saves nothing.
        server.stop(signal.SIGKILL)
        self.server("ToDo.sqlite", "--port", server.url.rsplit(":", 1)[1])
        eventually(lambda: browser.driver.current_url != address and browser.all("#edited"), 30)
        browser.message("You had typed: Tea and milk")

    def test_a_window_that_nobody_was_asked_about_is_saved(self):
        server = self.server()
        client = Client(server)
        client.add("Tea")
        browser = self.browser
        browser.driver.get(client.base)
        browser.until_titles(["Tea"])
        # A page on which nobody has clicked or typed goes away without a question.
        browser.script("addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true)")
        browser.driver.get("about:blank")
        time.sleep(1)
        self.assertEqual(server.stop(), 0)
        self.assertIn("Tea", Client(self.server()).rows())

    def test_a_closed_window_is_forgotten_when_the_server_stops(self):
        server = self.server()
        client = Client(server)
        client.add("Tea")
        # The server learns later that the connection of a closed page has ended.
        with client.connect():
            client.close()
            self.assertEqual(server.stop(), 0)
        self.assertNotIn("Tea", Client(self.server()).rows())

    def test_a_window_with_a_second_page_is_not_closed(self):
        server = self.server()
        client = Client(server)
        client.add("Tea")
        with client.connect(), client.connect():
            client.close()
            self.assertEqual(server.stop(), 0)
        self.assertIn("Tea", Client(self.server()).rows())

    def test_loading_the_page_again_keeps_the_changes(self):
        server = self.server()
        client = Client(server)
        client.add("Tea")
        with urllib.request.urlopen(client.base, timeout=20) as response:
            page = response.read().decode()
        self.assertIn('value="Tea"', page)
        self.assertIn('data-edited="true"', page)

    def test_stopping_saves(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            server = self.server()
            Client(server).add(f"Saved by signal {number}")
            self.assertEqual(server.stop(number), 0)
        rows = Client(self.server()).rows()
        self.assertIn("Saved by signal 15", rows)
        self.assertIn("Saved by signal 2", rows)
        self.assertIn('value="Saved by signal 1"', rows)

    def test_a_log_that_cannot_be_written_does_not_end_the_program(self):
        with open(os.path.join(self.folder, "ToDo.sqlite"), "w") as file:
            file.write("This is not a list.")
        with open("/dev/full", "w") as log:
            server = self.server(stderr=log)
        eventually(lambda: server.get("/state")[1] == "failed", 30)
        # The server has complained by now, and still answers.
        self.assertEqual(server.get("/state")[1], "failed")
        self.assertIsNone(server.process.poll())

    def test_without_a_terminal_a_failed_save_is_an_error(self):
        server = self.server()
        Client(server).add("Good")
        client = Client(server)
        client.add("Bad")
        client.run({"set": {"id": client.ids()[0], "field": "title", "value": ""}})
        self.assertEqual(server.stop(), 1)
        self.assertTrue(any("Could not save changes while quitting" in line for line in server.log), server.log)
        rows = Client(self.server()).rows()
        self.assertIn("Good", rows)
        self.assertNotIn("Bad", rows)

    def test_the_terminal_asks_when_a_save_fails(self):
        controller, terminal = pty.openpty()
        server = self.server(stdin=terminal)
        client = Client(server)
        client.add("Tea")
        client.run({"set": {"id": client.ids()[0], "field": "title", "value": ""}})
        question = lambda: sum("Quit anyway?" in line for line in server.log)
        server.process.send_signal(signal.SIGINT)
        eventually(lambda: question() == 1)
        self.assertTrue(any("The item cannot be saved because of the title" in line for line in server.log), server.log)
        os.write(controller, b"r\n")
        # The window still has its changes, and they can be mended.
        eventually(lambda: 'data-edited="true"' in client.run({"refresh": {}}))
        server.process.send_signal(signal.SIGINT)
        eventually(lambda: question() == 2)
        os.write(controller, b"q\n")
        self.assertEqual(server.process.wait(10), 1)

    def test_killed_while_saving(self):
        """The list is as it was after a save, whenever the server is killed."""
        for round in range(5):
            server = self.server("Killed.sqlite")
            thread, saved = Client(server).save_until_killed(round)
            eventually(lambda: len(saved) > round)
            time.sleep(0.013 * round)
            server.stop(signal.SIGKILL)
            thread.join()
            server = self.server("Killed.sqlite")
            counts = Client(server).item_counts()
            self.assertEqual(set(counts.values()) - {20}, set(), "a save was torn")
            for name in saved:
                self.assertIn(name, counts)
            server.stop()
        subprocess.run(
            [os.environ["CDSTORE"], "verify", os.path.join(self.folder, "Killed.sqlite")], check=True,
            stdout=subprocess.DEVNULL)
