"""One test for each thing that a person can do with the application."""

import json
import os
import pty
import re
import signal
import subprocess
import threading
import time
import urllib.request

from application import ApplicationTest, Client, Keys, MODEL, OUTPUT, Server, eventually


class ListTests(ApplicationTest):
    def test_add_edit_complete_mute_delete_and_save(self):
        server = self.server()
        browser = self.browser.open(server)
        self.assertIn("Nothing is to be done", browser.text("#list"))
        browser.add("Call Grace", "2030-06-03T10:00")
        browser.add("Water the plants", "2030-06-02T09:30")
        browser.until_titles(["Water the plants", "Call Grace"])
        self.assertIn("edited", browser.driver.title)

        browser.type(browser.row("Call Grace") + " [data-field=title]", "Call Grace Hopper")
        browser.type(browser.row("Call Grace Hopper") + " [data-field=notes]", "about the compiler", Keys.TAB)
        browser.set_date(browser.row("Call Grace Hopper") + " [data-field=dueDate]", "2030-06-01T18:00")
        browser.until_titles(["Call Grace Hopper", "Water the plants"])
        browser.click(browser.row("Water the plants") + " [data-action=complete]")
        browser.click(browser.row("Call Grace Hopper") + " [data-action=mute]")
        eventually(lambda: browser.find(browser.row("Water the plants") + " [data-action=complete]").text == "Done")
        browser.save()
        self.assertNotIn("edited", browser.driver.title)
        browser.message("Saved.")

        rows = Client(server).rows()
        for text in ("Call Grace Hopper", "about the compiler", "2030-06-01T18:00", "Muted", "Done"):
            self.assertIn(text, rows)
        browser.click(browser.row("Water the plants") + " [data-action=delete]")
        browser.until_titles(["Call Grace Hopper"])
        browser.save()
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("Water the plants", Client(self.server()).rows())
        self.assertEqual(browser.errors(), [])

    def test_several_items_at_once(self):
        browser = self.browser.open(self.server())
        for number in range(4):
            browser.add(f"Item {number}", f"2030-06-02T09:0{number}")
        for title in ("Item 1", "Item 2"):
            browser.click(browser.row(title) + " input.pick")
        self.assertEqual(browser.text("#selected-count"), "2 selected")
        browser.click("[data-bulk=complete]")
        eventually(lambda: len(browser.all("tr.done")) == 2)
        self.assertIn("Complete 2 Items", browser.text("#undo"))
        browser.click("#pick-all")
        self.assertEqual(browser.text("#selected-count"), "4 selected")
        browser.click("[data-bulk=delete]")
        browser.until_titles([])
        browser.click("#undo")
        browser.until_titles([f"Item {number}" for number in range(4)])

    def test_sort_by_each_column(self):
        server = self.server()
        client = Client(server)
        client.run({"load": {"document": {"categories": ["Work", "Home"], "items": [
            {"title": "b", "dueDate": "2030-06-03T09:00:00Z", "category": "Work", "completed": True},
            {"title": "C", "dueDate": "2030-06-01T13:00:00Z", "category": "Home"},
            {"title": "a", "dueDate": "2030-06-02T09:00:00Z"},
        ]}}})
        client.run({"save": {}})
        browser = self.browser.open(server)
        browser.until_titles(["C", "a", "b"])
        for column, ascending, descending in (
            ("title", ["a", "b", "C"], ["C", "b", "a"]),
            ("category", ["a", "C", "b"], ["b", "C", "a"]),
            ("state", ["C", "a", "b"], ["b", "C", "a"]),
            ("dueDate", ["C", "a", "b"], ["b", "a", "C"]),
        ):
            browser.click(f"[data-sort={column}]")
            browser.until_titles(ascending)
            self.assertEqual(browser.find(f"th.{column}").get_attribute("aria-sort"), "ascending")
            browser.click(f"[data-sort={column}]")
            browser.until_titles(descending)

    def test_filter_by_text_category_and_due(self):
        server = self.server()
        client = Client(server)
        client.run({"load": {"document": {"categories": ["Work", "Home"], "items": [
            {"title": "Überweisung", "dueDate": "2030-06-01T13:00:00Z", "category": "Work"},
            {"title": "Tea", "notes": "100 % Assam_", "dueDate": "2030-05-30T13:00:00Z", "category": "Home"},
            {"title": "Report", "dueDate": "2030-06-05T13:00:00Z", "completed": True},
        ]}}})
        client.run({"save": {}})
        browser = self.browser.open(server)
        search = "#filter [name=text]"
        for text, titles in (("uber", ["Überweisung"]), ("ASSAM_", ["Tea"]), ("%", ["Tea"]), ("*", [])):
            browser.type(search, text, "")
            browser.until_titles(titles)
        self.assertIn("No items match", browser.text("#list"))
        browser.type(search, Keys.BACKSPACE, "")
        browser.until_titles(["Tea", "Überweisung", "Report"])
        for due, titles in (
            ("overdue", ["Tea"]), ("today", ["Überweisung"]), ("done", ["Report"]),
            ("open", ["Tea", "Überweisung"]), ("week", ["Überweisung"]), ("any", ["Tea", "Überweisung", "Report"]),
        ):
            browser.click(f"#filter [name=due] option[value={due}]")
            browser.until_titles(titles)
        browser.click("[aria-label='Show Home']")
        browser.until_titles(["Tea"])
        browser.click("[data-filter=none]")
        browser.until_titles(["Report"])
        browser.click("[data-filter='']")
        browser.until_titles(["Tea", "Überweisung", "Report"])

    def test_ten_thousand_items_scroll(self):
        server = self.server()
        client = Client(server)
        client.import_items(10_000)
        self.assertIn("Saved.", client.run({"save": {}}))
        browser = self.browser.open(server)
        eventually(lambda: "10000 items" in browser.text("#list-status"))
        before = server.cpu_seconds()
        for _ in range(10):
            client.rows()
            urllib.request.urlopen(client.base, timeout=60).read()
        cpu = (server.cpu_seconds() - before) / 10
        print(f"\n  a page of 10,000 items takes {1000 * cpu:.0f} ms of CPU", flush=True)
        self.assertLessEqual(cpu, 0.1)
        other = Client(server)
        costs = {}
        for name, query in (
            ("title", {"column": "title"}), ("category", {"column": "category"}), ("state", {"column": "state"}),
            ("text", {"text": "item 0123"}), ("due", {"due": "week"}),
        ):
            query = {"column": "dueDate", "isAscending": True, "text": "", "due": "any", "isUncategorized": False, **query}
            before = server.cpu_seconds()
            for _ in range(5):
                other.run({"query": {"_0": query}})
                other.rows(4_000 if name in ("title", "category", "state") else 0)
            costs[name] = (server.cpu_seconds() - before) / 5
        print("  by " + ", ".join(f"{name} {1000 * cost:.0f} ms" for name, cost in costs.items()), flush=True)
        self.assertLessEqual(max(costs.values()), 0.2)
        # The end of the list, and then the middle.
        browser.script("window.scrollTo(0, document.body.scrollHeight)")
        eventually(lambda: "Item 09999" in browser.titles())
        self.assertLess(len(browser.all("tbody tr")), 1_000)
        browser.script("window.scrollTo(0, document.body.scrollHeight / 2)")
        eventually(lambda: any(title.startswith("Item 05") for title in browser.titles()))
        browser.picture("ten-thousand")
        self.assertEqual(browser.errors(), [])

    def test_undo_and_redo(self):
        browser = self.browser.open(self.server())
        self.assertFalse(browser.find("#undo").is_enabled())
        browser.add("Tea")
        self.assertEqual(browser.text("#undo"), "Undo Add “Tea”")
        browser.click(browser.row("Tea") + " [data-action=complete]")
        eventually(lambda: browser.text("#undo") == "Undo Complete 1 Item")
        browser.click("#undo")
        eventually(lambda: browser.text("#redo") == "Redo Complete 1 Item")
        eventually(lambda: browser.text(browser.row("Tea") + " [data-action=complete]") == "Open")
        browser.save()
        # By the keyboard, and after the save: what undo changes is unsaved again.
        browser.find("body").send_keys(Keys.CONTROL, "z")
        browser.until_titles([])
        self.assertTrue(browser.find("#save").is_enabled())
        browser.find("body").send_keys(Keys.CONTROL, Keys.SHIFT, "z")
        browser.until_titles(["Tea"])
        browser.until_saved()

    def test_validation_beside_the_field(self):
        browser = self.browser.open(self.server())
        browser.type("#add [name=title]", "")
        eventually(lambda: "title of this item" in browser.text("#add-errors"))
        self.assertEqual(browser.find("#add [name=title]").get_attribute("aria-invalid"), "true")
        browser.add("Tea")
        row = browser.row("Tea")
        browser.type(row + " [data-field=title]", "x" * 121)
        error = browser.text(row + " td.title .error")
        self.assertIn("Use at most 120 characters.", error)
        described = browser.find(row + " [data-field=title]").get_attribute("aria-describedby")
        self.assertEqual(browser.find("#" + described).text, error)
        browser.set_date(row + " [data-field=dueDate]", "1999-01-01T10:00")
        self.assertIn("Enter a date after 2000-01-01", browser.text(row + " td.due .error"))
        browser.picture("validation")
        browser.click("#save")
        browser.message("Not saved. 2 values are not valid.")
        browser.set_date(row + " [data-field=dueDate]", "")
        eventually(lambda: "Enter a date and a time." in browser.text(row + " td.due .error"))
        browser.set_date(row + " [data-field=dueDate]", "2030-06-02T10:00")
        eventually(lambda: not browser.all(row + " td.due .error"))
        browser.type(row + " [data-field=title]", "Tea")
        eventually(lambda: not browser.all(row + " .error"))
        browser.save()

    def test_categories_panel(self):
        server = self.server()
        browser = self.browser.open(server)
        names = lambda: browser.script(
            "return [...document.querySelectorAll('#categories input')].map(f => f.value)")
        for name in ("Work", "Home", "Someday"):
            browser.type("#add-category [name=name]", name)
            eventually(lambda: name in names())
        browser.type("#add-category [name=name]", "Home")
        eventually(lambda: "There is a category “Home” already." in browser.text("#category-errors"))
        browser.click("[aria-label='Move Someday up']")
        eventually(lambda: names() == ["Work", "Someday", "Home"])
        browser.type("#categories li[data-index='0'] input", "Home")
        eventually(lambda: browser.find("nav [aria-invalid=true]").get_attribute("id").endswith("-name"))
        browser.type("#categories li[data-index='0'] input", "Office")
        eventually(lambda: names() == ["Office", "Someday", "Home"])
        browser.add("Tea")
        browser.add("Coffee")
        for title in ("Tea", "Coffee"):
            menu = browser.row(title) + " select"
            browser.script("document.querySelector(arguments[0]).focus()", menu)
            browser.click(menu + " option:nth-child(4)")
            eventually(lambda: browser.find(browser.row(title) + " select option:checked").text == "Home")
        browser.save()
        browser.click("[aria-label='Remove Home']")
        eventually(lambda: "“Home” cannot be removed: 2 items use it." in browser.text("#category-errors"))
        self.assertEqual(browser.find("nav [aria-invalid=true]").get_attribute("value"), "Home")
        browser.picture("category-in-use")
        browser.click("[aria-label='Remove Someday']")
        eventually(lambda: names() == ["Office", "Home"])
        browser.save()
        server.stop()
        page = Client(self.server()).page
        self.assertEqual(re.findall(r'data-category="rename" value="([^"]*)"', page), ["Office", "Home"])

    def test_a_name_is_a_name(self):
        server = self.server()
        browser = self.browser.open(server)
        title = "<script>document.title = 'x'</script><b>&amp;\"'"
        browser.add(title)
        browser.type("#add-category [name=name]", "<img src=x onerror=alert(1)>")
        eventually(lambda: browser.all("#categories input"))
        browser.save()
        browser.driver.refresh()
        browser.until_titles([title])
        self.assertEqual(browser.all("td b, td script, nav img"), [])
        self.assertTrue(browser.driver.title.startswith("ToDo.sqlite"))
        self.assertEqual(browser.errors(), [])


class AlertTests(ApplicationTest):
    def test_alerts(self):
        server = self.server()
        client = Client(server)
        for title, due in (("Tea", "12:09"), ("Bins", "12:10"), ("Mail", "12:11"), ("Later", "14:00")):
            client.add(title, f"2030-06-01T{due}")
        client.run({"save": {}})
        browser = self.browser.open(server)
        # Stands for the system's notifications, which a headless browser does not show.
        browser.script(
            "window.notes = []; window.Notification = class {"
            "static permission = 'granted'; constructor(text) { notes.push(text); } }")
        server.set_clock("2030-06-01T12:03:00Z")
        time.sleep(0.3)
        self.assertFalse(browser.find("#alerts-dialog").is_displayed())
        server.set_clock("2030-06-01T12:07:00Z")
        eventually(lambda: browser.find("#alerts-dialog").is_displayed())
        alerts = lambda: [alert.text for alert in browser.all("[data-alert] strong")]
        self.assertEqual(alerts(), ["Tea", "Bins", "Mail"])
        notes = browser.script("return notes")
        self.assertEqual(len(notes), 3)
        self.assertEqual(notes[0], "Tea is due at 2030-06-01 12:09.")
        browser.picture("alerts")
        answer = lambda name: browser.click(f"[data-alert]:first-of-type [data-answer={name}]")
        answer("dismiss")
        eventually(lambda: alerts() == ["Bins", "Mail"])
        answer("remind")
        eventually(lambda: alerts() == ["Mail"])
        answer("never")
        eventually(lambda: not browser.find("#alerts-dialog").is_displayed())
        eventually(lambda: browser.text(browser.row("Mail") + " [data-action=mute]") == "Muted")
        # Nothing alerts twice, except what was to be shown again.
        server.set_clock("2030-06-01T12:08:00Z")
        time.sleep(0.3)
        self.assertEqual(alerts(), [])
        server.set_clock("2030-06-01T12:12:01Z")
        eventually(lambda: alerts() == ["Bins"])
        answer("dismiss")
        # The dates are kept in the store, and the window was not edited by them.
        self.assertNotIn("edited", browser.driver.title)
        exported = json.loads(server.get(client.base.removeprefix(server.url) + "/export.json")[1])
        dates = {item["title"]: item.get("lastAlertDate") for item in exported["items"]}
        self.assertEqual(dates["Tea"], "2030-06-01T12:07:00Z")
        self.assertEqual(dates["Bins"], "2030-06-01T12:12:01Z")
        self.assertIsNone(dates["Later"])
        self.assertTrue(next(item for item in exported["items"] if item["title"] == "Mail")["doNotAlert"])
        self.assertEqual(len(browser.script("return notes")), 4)

    def test_an_alert_and_an_unsaved_change_are_combined(self):
        server = self.server()
        client = Client(server)
        client.add("Tea", "2030-06-01T12:04")
        client.run({"save": {}})
        item = client.ids()[0]
        client.run({"set": {"id": item, "field": "notes", "value": "green"}})
        server.set_clock("2030-06-01T12:00:30Z")
        self.assertIn("Saved.", client.run({"save": {}}))
        exported = json.loads(server.get(client.base.removeprefix(server.url) + "/export.json")[1])
        self.assertEqual(exported["items"][0]["notes"], "green")
        self.assertEqual(exported["items"][0]["lastAlertDate"], "2030-06-01T12:00:30Z")


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

    def test_a_closed_window_is_forgotten_when_the_server_stops(self):
        server = self.server()
        client = Client(server)
        client.add("Tea")
        request = urllib.request.Request(client.base + "/close", data=client.token.encode(), method="POST")
        urllib.request.urlopen(request, timeout=20).close()
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("Tea", Client(self.server()).rows())

    def test_loading_the_page_again_keeps_the_changes(self):
        server = self.server()
        client = Client(server)
        client.add("Tea")
        with urllib.request.urlopen(client.base, timeout=20) as response:
            page = response.read().decode()
        self.assertIn('value="Tea"', page)
        self.assertIn('data-edited="true"', page)

    def test_stopping_saves(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.server()
            Client(server).add(f"Saved by signal {number}")
            self.assertEqual(server.stop(number), 0)
        rows = Client(self.server()).rows()
        self.assertIn("Saved by signal 15", rows)
        self.assertIn("Saved by signal 2", rows)

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
        self.assertTrue(any("The title of this item is not valid" in line for line in server.log), server.log)
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
            client = Client(server)
            saved = []

            def work():
                try:
                    for number in range(1_000):
                        client.run({"load": {"document": {"categories": [], "items": [
                            {"title": f"{round}-{number}-{part}", "dueDate": "2030-06-02T09:00:00Z"}
                            for part in range(20)
                        ]}}})
                        if "Saved." in client.run({"save": {}}):
                            saved.append(number)
                except Exception:
                    pass  # The server was killed.

            thread = threading.Thread(target=work)
            thread.start()
            eventually(lambda: len(saved) > round)
            time.sleep(0.013 * round)
            server.stop(signal.SIGKILL)
            thread.join()
            server = self.server("Killed.sqlite")
            client = Client(server)
            exported = json.loads(server.get(client.base.removeprefix(server.url) + "/export.json")[1])
            counts = {}
            for item in exported["items"]:
                name = item["title"].rsplit("-", 1)[0]
                counts[name] = counts.get(name, 0) + 1
            self.assertEqual(set(counts.values()) - {20}, set(), "a save was torn")
            for number in saved:
                self.assertIn(f"{round}-{number}", counts)
            server.stop()
        subprocess.run(
            [os.environ["CDSTORE"], "verify", os.path.join(self.folder, "Killed.sqlite")], check=True,
            stdout=subprocess.DEVNULL)


class SeveralWindowsTests(ApplicationTest):
    def test_a_saved_change_appears_in_the_other_browser(self):
        server = self.server()
        one = self.browser.open(server)
        two = self.second_browser().open(server)
        one.add("Tea")
        self.assertEqual(two.titles(), [])
        one.save()
        two.until_titles(["Tea"])
        two.type(two.row("Tea") + " [data-field=title]", "Green tea")
        two.save()
        one.until_titles(["Green tea"])

    def test_a_change_of_another_process_appears_while_typing(self):
        one, two = self.server(), self.server()
        browser = self.browser.open(one)
        browser.add("Tea")
        browser.save()
        field = browser.find(browser.row("Tea") + " [data-field=title]")
        field.click()
        field.send_keys(Keys.END, " and mi")
        other = Client(two)
        other.add("Coffee", "2030-06-09T09:00")
        self.assertIn("Saved.", other.run({"save": {}}))
        eventually(lambda: "Coffee" in browser.titles())
        browser.driver.switch_to.active_element.send_keys("lk", Keys.ENTER)
        eventually(lambda: "Tea and milk" in browser.titles())
        browser.save()
        self.assertIn("Tea and milk", other.rows())

    def test_a_conflict_shows_both_values(self):
        one, two = self.server(), self.server()
        browser = self.browser.open(one)
        browser.add("Tea")
        browser.save()
        other = Client(two)
        item = other.ids()[0]
        for mine, kept in ((True, "Black tea"), (False, "White tea")):
            title = browser.row(browser.titles()[0]) + " [data-field=title]"
            browser.type(title, "Black tea" if mine else "Red tea")
            eventually(lambda: browser.find("#save").is_enabled())
            theirs = "Green tea" if mine else "White tea"
            other.run({"set": {"id": item, "field": "title", "value": theirs}})
            self.assertIn("Saved.", other.run({"save": {}}))
            browser.click("#save")
            eventually(lambda: browser.find("#conflicts-dialog").is_displayed())
            text = browser.text("#conflicts-dialog")
            self.assertIn("Yours: " + ("Black tea" if mine else "Red tea"), text)
            self.assertIn("Saved: " + theirs, text)
            self.assertIn("edited", browser.driver.title)
            if mine:
                browser.picture("conflict")
            else:
                browser.click("#conflicts-dialog [value=theirs]")
            browser.click("#conflicts-dialog button.primary")
            browser.until_saved()
            browser.until_titles([kept])
            eventually(lambda: kept in other.rows())

    def test_a_conflict_with_a_deletion(self):
        server = self.server()
        for mine in (True, False):
            one, two = Client(server), Client(server)
            one.add("Tea")
            one.run({"save": {}})
            item = one.ids()[0]
            two.ids()
            one.run({"set": {"id": item, "field": "notes", "value": "green"}})
            two.run({"delete": {"ids": [item]}})
            self.assertIn("Saved.", two.run({"save": {}}))
            answer = one.run({"save": {}})
            self.assertIn("Keep it, with your changes", answer)
            answer = one.run({"resolve": {"choices": [{"id": item, "isMine": mine}]}})
            self.assertIn("Saved.", answer)
            self.assertEqual('value="Tea"' in Client(server).rows(), mine)
            if mine:
                one.run({"delete": {"ids": [item]}})
                one.run({"save": {}})

    def test_different_values_are_combined(self):
        server = self.server()
        one, two = Client(server), Client(server)
        one.add("Tea")
        one.run({"save": {}})
        item = one.ids()[0]
        two.ids()
        one.run({"set": {"id": item, "field": "notes", "value": "green"}})
        two.run({"complete": {"ids": [item], "isOn": True}})
        two.run({"save": {}})
        self.assertIn("Saved.", one.run({"save": {}}))
        rows = Client(server).rows()
        self.assertIn("green", rows)
        self.assertIn(">Done<", rows)

    def test_categories_of_two_windows_are_combined(self):
        server = self.server()
        one, two = Client(server), Client(server)
        panel = lambda client: re.findall(
            r'data-id="([^"]*)" data-index="\d+">.*?data-category="rename" value="([^"]*)"',
            client.run({"refresh": {}}), re.DOTALL)
        for name in ("Work", "Home"):
            one.run({"addCategory": {"name": name}})
        one.run({"save": {}})
        panel(two)
        # Both add a category of the same name with an item, and both move categories.
        for client in (one, two):
            client.run({"addCategory": {"name": "Garden"}})
            garden = dict((name, item) for item, name in panel(client))["Garden"]
            client.run({"add": {"title": "Weeds", "dueDate": "2030-06-02T09:00", "category": garden}})
            client.run({"moveCategory": {"id": garden, "index": 0}})
        self.assertIn("Saved.", one.run({"save": {}}))
        self.assertIn("Saved.", two.run({"save": {}}))
        for client in (one, two, Client(server)):
            self.assertEqual(sorted(name for _, name in panel(client)), ["Garden", "Home", "Work"])
            self.assertEqual(client.rows().count('value="Weeds"'), 2)
            self.assertEqual(client.rows().count(">Garden</option>"), 2)

    def test_a_category_that_another_window_uses_cannot_be_removed(self):
        server = self.server()
        one, two = Client(server), Client(server)
        one.run({"addCategory": {"name": "Work"}})
        one.run({"save": {}})
        work = re.search(r'<li data-id="([^"]*)"', one.run({"refresh": {}}))[1]
        one.run({"deleteCategory": {"id": work}})
        two.run({"add": {"title": "Tea", "dueDate": "2030-06-02T09:00", "category": work}})
        self.assertIn("Saved.", two.run({"save": {}}))
        self.assertIn("This category cannot be deleted.", one.run({"save": {}}))
        one.run({"undo": {}})
        self.assertIn("Saved.", one.run({"complete": {"ids": one.ids(), "isOn": True}}) and one.run({"save": {}}))
        self.assertIn(">Work</option>", Client(server).rows())

    def test_twenty_clients(self):
        """Twenty windows add and save for some seconds. Nothing is lost."""
        server = self.server()
        seconds = float(os.environ.get("CLIENT_SECONDS", "6"))
        added, failures = [], []

        def work(number):
            try:
                client = Client(server)
                end = time.monotonic() + seconds
                count = 0
                while time.monotonic() < end:
                    title = f"client {number} item {count}"
                    client.add(title)
                    answer = client.run({"save": {}})
                    if "Saved." not in answer:
                        return failures.append(answer)
                    added.append(title)
                    client.rows()
                    count += 1
            except Exception as error:
                failures.append(repr(error))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        client = Client(server)
        exported = json.loads(server.get(client.base.removeprefix(server.url) + "/export.json")[1])
        self.assertEqual(sorted(item["title"] for item in exported["items"]), sorted(added))
        print(f"\n  20 clients saved {len(added) / seconds:.0f} times a second", flush=True)


class MigrationTests(ApplicationTest):
    def test_version_1_is_migrated_with_progress_and_a_backup(self):
        count = int(os.environ.get("MIGRATED_ITEMS", "4000"))
        self.old_store(1, {
            "Category": [{"@id": "c", "name": "Home"}],
            "ToDo": [
                {"@id": f"t{n}", "name": f"Item {n}", "dueDate": {"$date": 1906000000 + n}, "category": "c"}
                for n in range(count)
            ],
        })
        server = self.server()
        browser = self.browser
        browser.driver.get(server.url)
        if browser.all("#opening"):
            browser.picture("migrating")
        note = eventually(lambda: browser.text("#migrated"), 90)
        self.assertIn("from version 1 to version 3", note)
        backup = os.path.join(self.folder, "ToDo.sqlite-before-1")
        self.assertIn(backup, note)
        self.assertTrue(os.path.exists(backup))
        eventually(lambda: f"{count} items" in browser.text("#list-status"))
        self.assertEqual(browser.find("#categories input").get_attribute("value"), "Home")

    def test_version_2_is_split_and_silenced(self):
        self.old_store(2, {"ToDo": [
            {"@id": "1", "name": "Call Grace: about the compiler", "dueDate": {"$date": 1906545600}},
            {"@id": "2", "name": "Air the rooms", "dueDate": {"$date": 1906545601}},
            {"@id": "3", "name": "answer mail", "dueDate": {"$date": 1906545602}},
            {"@id": "4", "name": "", "dueDate": {"$date": 1906545603}},
            {"@id": "5", "name": "y" * 300, "dueDate": {"$date": 1906545604}},
        ]})
        browser = self.browser.open(self.server(now="2030-05-31T12:00:00Z"))
        browser.until_titles(["Call Grace", "Air the rooms", "answer mail", "Untitled", "y" * 119 + "…"])
        value = lambda title, field: browser.find(browser.row(title) + f" [data-field={field}]").get_attribute("value")
        self.assertEqual(value("Call Grace", "notes"), "about the compiler")
        self.assertEqual(value("y" * 119 + "…", "notes"), "y" * 300)
        muted = [browser.text(browser.row(t) + " [data-action=mute]") for t in browser.titles()[:3]]
        self.assertEqual(muted, ["Alerts", "Muted", "Alerts"])
        browser.picture("migrated")

    def explained(self, server, *texts):
        browser = self.browser
        eventually(lambda: server.get("/state")[1] == "failed", 30)
        browser.driver.get(server.url)
        text = eventually(lambda: browser.text("#failed"))
        for part in texts:
            self.assertIn(part, text)
        self.assertNotIn("Error(", text)
        return browser

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

    def server_is_open_after_retry(self, browser):
        browser.click("#retry")
        browser.find("#edited")

    def test_a_store_in_use_is_explained_and_can_be_retried(self):
        first = self.server("Document.xml")
        first.wait_until_open()
        browser = self.explained(self.server("Document.xml"), "The data is in use.", "Try again in a moment.")
        browser.picture("in-use")
        first.stop()
        self.server_is_open_after_retry(browser)


class DocumentTests(ApplicationTest):
    def test_export_and_import(self):
        server = self.server()
        client = Client(server)
        client.import_items(3, notes="Line 1\nLine 2 <b>", completed=True)
        client.run({"save": {}})
        path = client.base.removeprefix(server.url) + "/export.json"
        exported = server.get(path)[1]
        file = os.path.join(self.folder, "export.json")
        with open(file, "w") as copy:
            copy.write(exported)
        other = self.server("Other.sqlite")
        browser = self.browser.open(other)
        browser.find("#import").send_keys(file)
        browser.until_titles(["Item 00000", "Item 00001", "Item 00002"])
        browser.message("Imported 3 items.")
        browser.save()
        client = Client(other)
        self.assertEqual(
            json.loads(other.get(client.base.removeprefix(other.url) + "/export.json")[1]), json.loads(exported))
        browser.find("#import").send_keys(os.path.join(MODEL, "model.yaml"))
        browser.message("it is not JSON")
        with open(file, "w") as copy:
            copy.write('{"items": [{"title": 5}]}')
        browser.find("#import").send_keys(file)
        browser.message("not in the expected form")
        self.assertEqual(len(browser.titles()), 3)

    def test_documents_in_xml_and_binary(self):
        for name, start in (("Document.xml", b"<?xml"), ("Document.bin", b"\x89CDS")):
            server = self.server(name)
            Client(server).add("Tea")
            self.assertEqual(server.stop(), 0)
            with open(os.path.join(self.folder, name), "rb") as file:
                self.assertTrue(file.read(8).startswith(start))
            # A file is recognised by its contents.
            os.rename(os.path.join(self.folder, name), os.path.join(self.folder, "Renamed"))
            self.assertIn('value="Tea"', Client(self.server("Renamed")).rows())


class SecurityTests(ApplicationTest):
    def test_forged_requests_are_refused(self):
        server = self.server()
        client = Client(server)
        other = Client(server)
        self.assertTrue(client.run({"save": {}}, token="wrong").startswith("403"))
        self.assertTrue(client.run({"save": {}}, token=other.token).startswith("403"))
        request = urllib.request.Request(client.base + "/do", data=b'{"save":{}}', method="POST")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
        self.assertEqual(caught.exception.code, 403)
        self.assertEqual(server.get("/w/unknown/rows")[0], 410)

    def test_foreign_names_of_this_computer_are_refused(self):
        server = self.server()
        server.wait_until_open()
        self.assertEqual(server.get("/state", {"Host": "attacker.example:80"})[0], 421)
        self.assertEqual(server.get("/state", {"Host": "localhost:1"})[0], 200)

    def test_other_addresses_do_not_answer(self):
        server = self.server()
        server.wait_until_open()
        port = int(server.url.rsplit(":", 1)[1])
        addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
        for address in addresses:
            if ":" not in address:
                with self.assertRaises(OSError):
                    urllib.request.urlopen(f"http://{address}:{port}/state", timeout=2)

    def test_requests_with_impossible_values(self):
        client = Client(self.server())
        client.add("Tea")
        item = client.ids()[0]
        for offset in ("-1", "9223372036854775807", "x", "5"):
            client.rows(offset)
        for value in ("2030-06-31T10:00", "99999999999999999999-01-01T00:00", "9999999-01-01T00:00", "x" * 40, ""):
            client.run({"set": {"id": item, "field": "dueDate", "value": value}})
            self.assertIn("Enter a date and a time.", client.rows())
        for command in (
            {"set": {"id": "cdgen://x/ToDo/1", "field": "title", "value": "x"}}, {"delete": {"ids": [5]}},
            {"set": {"id": item.rsplit("/", 1)[0] + "/999", "field": "title", "value": "x"}},
            {"deleteCategory": {"id": item}}, {"moveCategory": {"id": item, "index": -9}}, {"nothing": {}}, [], 5,
        ):
            client.run(command)
        self.assertIn('value="Tea"', client.rows())
        client.run({"set": {"id": item, "field": "dueDate", "value": "2030-06-30T10:00"}})
        client.run({"decideLater": {}})
        self.assertIn("Saved.", client.run({"save": {}}))

    def test_files_outside_the_resources_are_not_served(self):
        server = self.server()
        for path in ("/static/..%2f..%2fPackage.swift", "/static/%2e%2e%2fapp.js", "/static/main.swift"):
            self.assertEqual(server.get(path)[0], 404)
        policy = urllib.request.urlopen(server.url + "/state").headers["Content-Security-Policy"]
        self.assertIn("script-src 'self'", policy)


class AppearanceTests(ApplicationTest):
    def fill(self, server):
        client = Client(server)
        client.run({"load": {"document": {"categories": ["Work", "Home", "Someday"], "items": [
            {"title": "Call Grace", "notes": "About the compiler", "dueDate": "2030-06-01T12:30:00Z",
             "category": "Work"},
            {"title": "Review the schema", "dueDate": "2030-06-01T15:00:00Z", "category": "Work"},
            {"title": "Send the report", "dueDate": "2030-05-31T10:00:00Z", "category": "Work", "completed": True},
            {"title": "Water the plants", "dueDate": "2030-06-01T09:00:00Z", "category": "Home"},
            {"title": "Put out the bins", "dueDate": "2030-06-02T07:00:00Z", "category": "Home",
             "doNotAlert": True},
            {"title": "Learn to juggle", "notes": "Three balls are enough", "dueDate": "2030-07-01T18:00:00Z",
             "category": "Someday"},
        ]}}})
        client.run({"save": {}})

    def test_light_and_dark(self):
        server = self.server()
        self.fill(server)
        browser = self.second_browser(width=1280, height=780)
        colours = []
        for scheme in ("light", "dark"):
            browser.driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            browser.open(server)
            eventually(lambda: len(browser.titles()) == 6)
            browser.type(browser.row("Review the schema") + " [data-field=title]", "Review the schema again")
            eventually(lambda: browser.find("#save").is_enabled())
            browser.picture(f"application-{scheme}")
            colours.append(browser.script("return getComputedStyle(document.body).backgroundColor"))
            browser.click("#revert")
            browser.until_saved()
        self.assertEqual(len(set(colours)), 2)

    def test_a_narrow_window(self):
        server = self.server()
        self.fill(server)
        browser = self.second_browser(width=500, height=900)
        browser.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 360, "height": 780, "deviceScaleFactor": 2, "mobile": True})
        browser.open(server)
        eventually(lambda: len(browser.titles()) == 6)
        browser.picture("narrow")
        self.assertLessEqual(browser.script("return document.documentElement.scrollWidth"), 360)
        browser.click(browser.row("Call Grace") + " [data-action=complete]")
        eventually(lambda: browser.text(browser.row("Call Grace") + " [data-action=complete]") == "Done")

    def test_by_the_keyboard_alone(self):
        browser = self.browser.open(self.server())
        keys = lambda *keys: eventually(
            lambda: [browser.driver.switch_to.active_element.send_keys(*keys)])
        focused = lambda: browser.script("return document.activeElement.getAttribute('aria-label')")
        def tab_to(label):
            for _ in range(60):
                keys(Keys.TAB)
                if focused() == label:
                    return
            self.fail(f"no way to {label} with the tab key; the last was {focused()}")
        tab_to("Title of the new item")
        keys("Tea", Keys.ENTER)
        browser.until_titles(["Tea"])
        tab_to("Title")
        keys(Keys.END, " and milk", Keys.ENTER)
        browser.until_titles(["Tea and milk"])
        tab_to("Tea and milk is completed")
        keys(Keys.SPACE)
        eventually(lambda: len(browser.all("tr.done")) == 1)
        self.assertEqual(focused(), "Tea and milk is completed")
        keys(Keys.CONTROL, "s")
        browser.until_saved()

    def test_the_accessibility_tree(self):
        """Everything that can be used has a role and a name, and no identifier occurs twice."""
        server = self.server()
        self.fill(server)
        browser = self.browser.open(server)
        eventually(lambda: len(browser.titles()) == 6)
        tree = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = {}
        for node in tree:
            role = node.get("role", {}).get("value")
            roles.setdefault(role, []).append(node.get("name", {}).get("value", ""))
        controls = ("button", "textbox", "checkbox", "combobox", "searchbox", "link", "Date", "DateTime", "InputTime")
        for role in controls:
            for name in roles.get(role, []):
                self.assertTrue(name.strip(), f"a {role} has no name")
        for role in ("main", "navigation", "banner", "search", "table", "columnheader", "heading", "toolbar"):
            self.assertIn(role, roles)
        repeated = browser.script(
            "const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
            "return ids.filter((id, index) => ids.indexOf(id) !== index)")
        self.assertEqual(repeated, [])

    def test_contrast(self):
        """Texts can be read in both appearances: at least 4.5 to 1."""
        server = self.server()
        self.fill(server)
        browser = self.second_browser()
        for scheme in ("light", "dark"):
            browser.driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            browser.open(server)
            eventually(lambda: len(browser.titles()) == 6)
            weak = browser.script("""
                const channel = (c) => { c /= 255; return c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
                const light = (c) => .2126 * channel(c[0]) + .7152 * channel(c[1]) + .0722 * channel(c[2]);
                const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
                const ground = (element) => {
                  for (; element; element = element.parentElement) {
                    const c = numbers(getComputedStyle(element).backgroundColor);
                    if (c[3] !== 0) return c;
                  }
                  return [255, 255, 255];
                };
                const weak = [];
                for (const e of document.querySelectorAll("button:enabled, input, textarea, select, p, h1, h2, a, span")) {
                  if (!e.offsetParent || !(e.textContent.trim() || e.value)) continue;
                  const [a, b] = [light(numbers(getComputedStyle(e).color)), light(ground(e))];
                  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
                  if (ratio < 4.5) weak.push(`${e.tagName} ${e.id} ${e.textContent || e.value}: ${ratio.toFixed(2)}`);
                }
                return weak;""")
            self.assertEqual(weak, [])


def tearDownModule():
    if ApplicationTest.shared is not None:
        ApplicationTest.shared.quit()
