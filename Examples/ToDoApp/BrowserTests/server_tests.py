"""A list on a PostgreSQL server, with several processes of the application."""

import os
import signal
import subprocess
import threading
import time

from application import Client, Keys, TeamTest, eventually


class TeamTests(TeamTest):
    def two_processes(self):
        return self.server(self.url), self.server(self.url)

    def test_two_processes_serve_a_team(self):
        # Both start at the same time, and one of them creates the tables.
        one, two = self.two_processes()
        first = self.browser.open(one)
        second = self.second_browser().open(two)
        self.assertIn(self.schema, first.driver.title)
        first.type("#add-category [name=name]", "Work")
        eventually(lambda: "Work" in first.text("#categories") or first.all("#categories input"))
        first.add("Call Grace", "2030-06-03T10:00")
        first.save()
        second.until_titles(["Call Grace"])
        eventually(lambda: [f.get_attribute("value") for f in second.all("#categories input")] == ["Work"])
        second.type(second.row("Call Grace") + " [data-field=notes]", "about the compiler", Keys.TAB)
        second.click(second.row("Call Grace") + " [data-action=complete]")
        second.save()
        notes = lambda: first.find(first.row("Call Grace") + " [data-field=notes]").get_attribute("value")
        eventually(lambda: notes() == "about the compiler")
        eventually(lambda: first.text(first.row("Call Grace") + " [data-action=complete]") == "Done")
        first.click("#undo")
        first.click("#revert")
        first.picture("team")
        for server in (one, two):
            self.assertEqual(server.stop(), 0)
        # One schema has one panel, however many processes begin.
        self.assertEqual(self.sql(f'SELECT count(*) FROM "{self.schema}"."Panel"'), "1")
        self.assertIn("Call Grace", Client(self.server(self.url)).rows())
        self.assertEqual(first.errors(), [])

    def test_a_conflict_of_two_processes(self):
        one, two = self.two_processes()
        first, second = self.browser.open(one), self.second_browser().open(two)
        first.add("Tea")
        first.save()
        second.until_titles(["Tea"])
        for choice, kept in (("mine", "Black tea"), ("theirs", "White tea")):
            mine, theirs = ("Black tea", "Green tea") if choice == "mine" else ("Red tea", "White tea")
            title = lambda browser: browser.row(browser.titles()[0]) + " [data-field=title]"
            first.type(title(first), mine)
            eventually(lambda: first.find("#save").is_enabled())
            second.type(title(second), theirs)
            second.save()
            first.click("#save")
            eventually(lambda: first.find("#conflicts-dialog").is_displayed())
            text = first.text("#conflicts-dialog")
            self.assertIn(f"Yours: {mine}", text)
            self.assertIn(f"Saved: {theirs}", text)
            first.click(f"#conflicts-dialog [value={choice}]")
            first.click("#conflicts-dialog button.primary")
            first.until_saved()
            for browser in (first, second):
                browser.until_titles([kept])

    def test_the_server_goes_away_and_comes_back(self):
        proxy, url = self.proxied()
        one, two = self.server(url), self.server(self.url)
        browser = self.browser.open(one)
        browser.add("Tea", "2030-06-02T09:00")
        browser.add("Coffee", "2030-06-02T10:00")
        browser.save()
        browser.type(browser.row("Tea") + " [data-field=notes]", "green", Keys.TAB)
        eventually(lambda: browser.find("#save").is_enabled())
        proxy.close()
        eventually(lambda: "The data cannot be reached." in browser.text("#away"))
        self.assertIn("What you have not saved stays in this window.", browser.text("#away"))
        # What is shown stays, and can be edited.
        browser.type(browser.row("Coffee") + " [data-field=title]", "Black coffee")
        eventually(lambda: browser.find("#busy").text == "")
        browser.click("#save")
        browser.message("Not saved. The data cannot be reached.")
        browser.picture("server-away")
        self.assertIn("edited", browser.driver.title)
        self.assertEqual(len(browser.titles()), 2)
        # Loading the page explains it too, and goes on by itself.
        address = browser.driver.current_url
        browser.driver.get(address)
        text = browser.text("#failed")
        for part in ("The data cannot be reached.", "Check the connection", "unsaved changes are kept", self.schema):
            self.assertIn(part, text)
        self.assertNotIn("secret", browser.driver.page_source)
        self.assertNotIn("Error(", text)
        browser.picture("server-away-page")
        other = Client(two)
        other.add("Milk", "2030-06-02T11:00")
        self.assertIn("Saved.", other.run({"save": {}}))
        eventually(lambda: one.get("/state")[1] == "away")
        # Longer than the server keeps a window that was closed.
        time.sleep(16)
        proxy.open()
        eventually(lambda: browser.all("#edited"), 20)
        self.assertEqual(browser.driver.current_url, address)
        browser.until_titles(["Tea", "Black coffee", "Milk"])
        self.assertFalse(browser.find("#away").is_displayed())
        self.assertEqual(browser.find(browser.row("Tea") + " [data-field=notes]").get_attribute("value"), "green")
        browser.save()
        rows = other.rows()
        self.assertIn("green", rows)
        self.assertIn("Black coffee", rows)
        self.assertEqual(browser.text("#undo")[:11], "Undo Change")

    def test_a_window_lives_through_many_interruptions(self):
        """Each value that a window has accepted is saved in the end, whenever the server goes away."""
        proxy, url = self.proxied()
        client = Client(self.server(url))
        for number in range(6):
            client.add(f"Item {number}")
        self.assertIn("Saved.", client.run({"save": {}}))
        items = client.ids()
        ended = threading.Event()

        def interrupt():
            while not ended.is_set():
                time.sleep(0.05)
                proxy.close()
                time.sleep(0.1)
                proxy.open()
                time.sleep(0.3)

        thread = threading.Thread(target=interrupt)
        thread.start()
        expected = {}
        try:
            for round in range(60):
                item = items[round % len(items)]
                value = f"round {round}"
                answer = client.run({"set": {"id": item, "field": "notes", "value": value}})
                if "cannot be re" in answer or answer.startswith("5"):
                    # The window may have taken the value, and then failed to read the list.
                    expected.setdefault(item, []).append(value)
                else:
                    expected[item] = [value]
                if round % 7 == 0:
                    client.run({"save": {}})
        finally:
            ended.set()
            thread.join()
        eventually(lambda: "Saved." in client.run({"save": {}}) or 'data-edited="false"' in client.run({"refresh": {}}), 30)
        self.assertEqual(len(expected), 6)
        rows = Client(self.server(self.url)).rows()
        for item, values in expected.items():
            part = rows[rows.index(f'data-id="{item}"'):].split("</tr>")[0]
            self.assertTrue(any(f"\n{value}<" in part for value in values), f"{values} are not in {part}")

    def test_the_list_is_opened_when_the_server_is_there(self):
        proxy, url = self.proxied()
        proxy.close()
        server = self.server(url)
        eventually(lambda: server.get("/state")[1] == "failed", 30)
        browser = self.browser
        browser.driver.get(server.url)
        text = browser.text("#failed")
        self.assertIn("The data cannot be reached.", text)
        self.assertNotIn("secret", browser.driver.page_source + "\n".join(server.log))
        browser.picture("server-not-there")
        proxy.open()
        browser.click("#retry")
        browser.find("#edited", 20)
        self.assertNotIn("secret", browser.driver.page_source)

    def test_stopping_while_the_server_is_away(self):
        proxy, url = self.proxied()
        server = self.server(url)
        client = Client(server)
        client.add("Tea")
        proxy.close()
        self.assertEqual(server.stop(), 1)
        self.assertTrue(any("Could not save changes while quitting" in line for line in server.log), server.log)

    def test_a_schema_of_another_program_is_explained(self):
        self.sql(f'CREATE SCHEMA "{self.schema}"; CREATE TABLE "{self.schema}".other (x int)')
        server = self.server(self.url)
        eventually(lambda: server.get("/state")[1] == "failed", 30)
        self.browser.driver.get(server.url)
        self.assertIn("does not contain data of this app", self.browser.text("#failed"))

    def test_urls_that_cannot_be_used(self):
        for url in ("postgresql://host/db?schema=", "postgres://host:0/db", "postgresql:db"):
            done = subprocess.run(
                [os.environ["TODOAPP"], "--store", url], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 64, url)
            self.assertIn("the URL of the server cannot be used", done.stderr)

    def test_a_process_is_killed_while_saving(self):
        """The other process goes on, and the list has whole saves."""
        saved = []
        for round in range(3):
            server = self.server(self.url)
            thread, acknowledged = Client(server).save_until_killed(round)
            eventually(lambda: len(acknowledged) > round, 20)
            time.sleep(0.017 * round)
            server.stop(signal.SIGKILL)
            thread.join()
            saved += acknowledged
        counts = Client(self.server(self.url)).item_counts()
        self.assertEqual(set(counts.values()), {20}, "a save was torn")
        self.assertEqual(set(saved) - set(counts), set())


class TeamAlertTests(TeamTest):
    def test_both_processes_show_an_alert_until_one_is_answered(self):
        one, two = self.server(self.url), self.server(self.url)
        client = Client(one)
        for title, due in (("Tea", "12:09"), ("Bins", "12:10"), ("Mail", "12:11")):
            client.add(title, f"2030-06-01T{due}")
        self.assertIn("Saved.", client.run({"save": {}}))
        first, second = self.browser.open(one), self.second_browser().open(two)
        # Both look at the same time.
        threads = [threading.Thread(target=server.set_clock, args=("2030-06-01T12:07:00Z",)) for server in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shown = lambda browser: [alert.text for alert in browser.all("[data-alert] strong")]
        for browser in (first, second):
            eventually(lambda: shown(browser) == ["Tea", "Bins", "Mail"])
        first.click("[data-alert]:first-of-type [data-answer=dismiss]")
        for browser in (first, second):
            eventually(lambda: shown(browser) == ["Bins", "Mail"])
        second.click("[data-alert]:first-of-type [data-answer=remind]")
        for browser in (first, second):
            eventually(lambda: shown(browser) == ["Mail"])
        # Nobody has answered the last one when its process is killed: the other still shows it, and so does a new one.
        one.stop(signal.SIGKILL)
        self.assertEqual(shown(second), ["Mail"])
        third = self.server(self.url, now="2030-06-01T12:08:00Z")
        self.assertEqual(eventually(lambda: Client(third).alerts()), ["Mail"])
        # The answer of a new process reaches the other, and what was to come again comes in both.
        first.open(third)
        first.click("[data-answer=never]")
        eventually(lambda: not second.find("#alerts-dialog").is_displayed())
        for server in (two, third):
            server.set_clock("2030-06-01T12:12:30Z")
        for browser in (first, second):
            eventually(lambda: shown(browser) == ["Bins"])
        second.click("[data-answer=dismiss]")
        eventually(lambda: not first.find("#alerts-dialog").is_displayed())
        for browser in (first, second):
            self.assertNotIn("edited", browser.driver.title)

    def test_an_answer_while_the_server_is_away_is_not_lost(self):
        proxy, url = self.proxied()
        server = self.server(url)
        client = Client(server)
        client.add("Tea", "2030-06-01T12:04")
        client.run({"save": {}})
        browser = self.browser.open(server)
        server.set_clock("2030-06-01T12:00:30Z")
        eventually(lambda: browser.find("#alerts-dialog").is_displayed())
        proxy.close()
        browser.click("[data-answer=dismiss]")
        eventually(lambda: "The data cannot be reached." in browser.text("#alerts-dialog"))
        browser.picture("alert-server-away")
        proxy.open()
        eventually(lambda: server.get("/state")[1] == "open", 20)
        browser.click("[data-answer=dismiss]")
        eventually(lambda: not browser.find("#alerts-dialog").is_displayed())
        self.assertEqual(Client(server).alerts(), [])


