"""What is due, with a clock that the tests set."""

import signal
import time

from application import ApplicationTest, Client, Keys, eventually


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
        eventually(lambda: alerts() == ["Tea", "Bins", "Mail"])
        eventually(lambda: len(browser.script("return notes")) == 3)
        notes = browser.script("return notes")
        self.assertEqual(notes[0], "Tea is due at 2030-06-01 12:09.")
        browser.picture("alerts")
        # The Escape key puts the dialog away until something else is due.
        browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        eventually(lambda: not browser.find("#alerts-dialog").is_displayed())
        browser.click("[data-sort=title]")
        browser.until_titles(["Bins", "Later", "Mail", "Tea"])
        self.assertFalse(browser.find("#alerts-dialog").is_displayed())
        browser.driver.refresh()
        eventually(lambda: browser.find("#alerts-dialog").is_displayed())
        browser.script(
            "window.notes = []; window.Notification = class {"
            "static permission = 'granted'; constructor(text) { notes.push(text); } }")
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
        server.set_clock("2030-06-01T12:13:00Z")
        eventually(lambda: alerts() == ["Bins"])
        answer("dismiss")
        # The dates are kept in the store, and the window was not edited by them.
        self.assertNotIn("edited", browser.driver.title)
        exported = client.export()
        dates = {item["title"]: item.get("lastAlertDate") for item in exported["items"]}
        self.assertEqual(dates["Tea"], "2030-06-01T12:07:00Z")
        self.assertEqual(dates["Bins"], "2030-06-01T12:13:00Z")
        self.assertIsNone(dates["Later"])
        self.assertTrue(next(item for item in exported["items"] if item["title"] == "Mail")["doNotAlert"])
        # The one that came again notifies again.
        self.assertEqual(len(browser.script("return notes")), 1)

    def test_an_alert_is_not_answered_by_typing(self):
        server = self.server()
        client = Client(server)
        client.add("Tea", "2030-06-01T12:09")
        client.add("Later", "2030-06-01T14:00")
        client.run({"save": {}})
        browser = self.browser.open(server)
        browser.begin_typing("Later", " to")
        server.set_clock("2030-06-01T12:07:00Z")
        eventually(lambda: browser.find("#alerts-dialog").is_displayed())
        self.assertEqual(browser.script("return document.activeElement.id"), "alerts-title")
        browser.driver.switch_to.active_element.send_keys(" day", Keys.ENTER)
        time.sleep(0.3)
        self.assertEqual(client.alerts(), ["Tea"])
        self.assertTrue(browser.find("#alerts-dialog").is_displayed())
        # The tab key leads to the buttons.
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        self.assertEqual(browser.script("return document.activeElement.dataset.answer"), "dismiss")
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        eventually(lambda: not browser.find("#alerts-dialog").is_displayed())

    def test_an_alert_and_an_unsaved_change_are_combined(self):
        server = self.server()
        client = Client(server)
        client.add("Tea", "2030-06-01T12:04")
        client.run({"save": {}})
        item = client.ids()[0]
        client.run({"set": {"id": item, "field": "notes", "value": "green"}})
        server.set_clock("2030-06-01T12:00:30Z")
        self.assertIn("Saved.", client.run({"save": {}}))
        exported = client.export()
        self.assertEqual(exported["items"][0]["notes"], "green")
        self.assertEqual(exported["items"][0]["lastAlertDate"], "2030-06-01T12:00:30Z")

    def test_an_alert_that_nobody_has_answered_outlives_the_process(self):
        server = self.server()
        client = Client(server)
        for title in ("Tea", "Bins", "Mail"):
            client.add(title, "2030-06-01T12:04")
        client.run({"save": {}})
        eventually(lambda: client.alerts() == ["Tea", "Bins", "Mail"])
        client.answer(client.ids()[0], "dismiss")
        server.stop(signal.SIGKILL)
        client = Client(self.server(now="2030-06-01T12:30:00Z"))
        eventually(lambda: client.alerts() == ["Bins", "Mail"])
        # Who completes an item has answered its alert, and so has who changes its date, as soon as that is saved.
        client.run({"complete": {"ids": client.ids()[1:2], "isOn": True}})
        self.assertEqual(client.alerts(), ["Bins", "Mail"])
        client.run({"save": {}})
        eventually(lambda: client.alerts() == ["Mail"])
        client.run({"set": {"id": client.ids()[2], "field": "dueDate", "value": "2030-06-01T13:00"}})
        client.run({"save": {}})
        eventually(lambda: client.alerts() == [])
        client.server.set_clock("2030-06-01T12:56:00Z")
        eventually(lambda: client.alerts() == ["Mail"])
        client.run({"delete": {"ids": client.ids()[2:]}})
        self.assertIn("Saved.", client.run({"save": {}}))
        eventually(lambda: client.alerts() == [])

    def test_deleting_an_item_while_it_alerts_asks_nothing(self):
        server = self.server()
        client = Client(server)
        client.add("Tea", "2030-06-01T13:04")
        client.run({"save": {}})
        client.run({"delete": {"ids": client.ids()}})
        server.set_clock("2030-06-01T13:00:00Z")
        self.assertEqual(Client(server).alerts(), ["Tea"])
        self.assertIn("Saved.", client.run({"save": {}}))
        eventually(lambda: client.alerts() == [])
        server.set_clock("2030-06-01T13:02:00Z")
        self.assertFalse([line for line in server.log if "cannot" in line], server.log)
