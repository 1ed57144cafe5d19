"""Several windows, browsers and processes on one list."""

import re

from application import ApplicationTest, Client, Keys, eventually


class SeveralWindowsTests(ApplicationTest):
    def test_a_saved_change_appears_in_the_other_browser(self):
        server = self.server()
        one = self.browser.open(server)
        two = self.second_browser().open(server)
        one.add("Tea")
        self.assertEqual(two.titles(), [])
        one.save()
        two.until_titles(["Tea"])
        # What others save takes no message away.
        one.type("#add [name=title]", "")
        eventually(lambda: one.text("#add-errors") != "")
        two.type(two.row("Tea") + " [data-field=title]", "Green tea")
        two.save()
        one.until_titles(["Green tea"])
        self.assertIn("The item cannot be saved", one.text("#add-errors"))

    def test_a_change_of_another_process_appears_while_typing(self):
        one, two = self.server(), self.server()
        browser = self.browser.open(one)
        browser.add("Tea")
        browser.save()
        browser.begin_typing("Tea", " and mi")
        other = Client(two)
        other.add("Coffee", "2030-06-09T09:00")
        self.assertIn("Saved.", other.run({"save": {}}))
        eventually(lambda: "Coffee" in browser.titles())
        browser.driver.switch_to.active_element.send_keys("lk", Keys.ENTER)
        eventually(lambda: "Tea and milk" in browser.titles())
        browser.save()
        self.assertIn("Tea and milk", other.rows())

    def test_a_text_that_somebody_changes_while_it_is_edited(self):
        """Whoever edits is told, and undo brings the other text back."""
        server = self.server()
        browser = self.browser.open(server)
        browser.add("Tea")
        browser.save()
        browser.begin_typing("Tea", " and mi")
        other = Client(server)
        other.run({"set": {"id": other.ids()[0], "field": "title", "value": "Green tea"}})
        self.assertIn("Saved.", other.run({"save": {}}))
        default = "return document.activeElement.defaultValue"
        eventually(lambda: browser.script(default) == "Green tea")
        browser.driver.switch_to.active_element.send_keys("lk", Keys.ENTER)
        browser.message("Somebody else has changed this to “Green tea” while you were editing it.")
        browser.until_titles(["Tea and milk"])
        browser.click("#undo")
        browser.until_titles(["Green tea"])
        self.assertFalse(browser.find("#save").is_enabled())

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

    def test_items_that_somebody_has_deleted_are_left_out(self):
        server = self.server()
        one, two = Client(server), Client(server)
        for title in ("Tea", "Coffee", "Milk"):
            one.add(title)
        one.run({"save": {}})
        ids = one.ids()
        two.run({"delete": {"ids": ids[:2]}})
        self.assertIn("Saved.", two.run({"save": {}}))
        # The page does this as soon as somebody saves.
        one.run({"refresh": {}})
        answer = one.run({"complete": {"ids": ids, "isOn": True}})
        self.assertIn("Undo Complete 1 Item<", answer)
        self.assertIn("Saved.", one.run({"save": {}}))
        self.assertIn("This does not exist.", one.run({"set": {"id": ids[0], "field": "title", "value": "x"}}))
        self.assertIn('data-edited="false"', one.run({"complete": {"ids": ids[:2], "isOn": True}}))
        self.assertEqual(Client(server).rows().count(">Done<"), 1)

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

    def test_the_category_of_the_filter_vanishes(self):
        server = self.server()
        one, two = Client(server), Client(server)
        one.add("Tea")
        one.run({"save": {}})
        query = lambda category: {"query": {"_0": {
            "column": "dueDate", "isAscending": True, "text": "", "due": "any", "category": category,
            "isUncategorized": False}}}
        garden = lambda client: re.search(r'<li data-id="([^"]*)"', client.run({"refresh": {}}))[1]
        # By an undo of the same window.
        one.run({"addCategory": {"name": "Garden"}})
        category = garden(one)
        self.assertIn("No items match", one.run(query(category)))
        self.assertNotIn("This does not exist.", one.run({"undo": {}}))
        self.assertIn('value="Tea"', one.rows())
        self.assertEqual(server.get(one.base.removeprefix(server.url))[0], 200)
        # An item for a category that does not exist is not made.
        command = {"title": "Weeds", "dueDate": "2030-06-02T09:00", "category": category}
        self.assertIn("This does not exist.", one.run({"add": command}))
        self.assertNotIn("Weeds", one.rows())
        # By another window.
        one.run({"addCategory": {"name": "Garden"}})
        one.run({"save": {}})
        category = garden(two)
        two.run(query(category))
        one.run({"deleteCategory": {"id": category}})
        self.assertIn("Saved.", one.run({"save": {}}))
        eventually(lambda: 'data-count="1"' in two.run({"refresh": {}}))
        self.assertIn('value="Tea"', two.rows())

    def test_a_category_that_another_window_uses_cannot_be_removed(self):
        server = self.server()
        one, two = Client(server), Client(server)
        one.run({"addCategory": {"name": "Work"}})
        one.run({"save": {}})
        work = re.search(r'<li data-id="([^"]*)"', one.run({"refresh": {}}))[1]
        one.run({"deleteCategory": {"id": work}})
        two.run({"add": {"title": "Tea", "dueDate": "2030-06-02T09:00", "category": work}})
        self.assertIn("Saved.", two.run({"save": {}}))
        self.assertIn("“Work” cannot be removed: 1 item uses it.", one.run({"save": {}}))
        one.run({"undo": {}})
        self.assertIn("Saved.", one.run({"complete": {"ids": one.ids(), "isOn": True}}) and one.run({"save": {}}))
        self.assertIn(">Work</option>", Client(server).rows())
