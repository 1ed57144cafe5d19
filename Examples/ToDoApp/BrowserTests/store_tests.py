"""Lists of older versions, lists that cannot be opened, and documents."""

import json
import os
import re

from application import ApplicationTest, Client, MODEL, eventually


def categories(client):
    """The identifiers of the categories in the panel, by name."""
    found = re.findall(
        r'data-id="([^"]*)" data-index="\d+">.*?data-category="rename" value="([^"]*)"',
        client.run({"refresh": {}}), re.DOTALL)
    return {name: item for item, name in found}


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
            # Values that version 3 does not allow.
            {"@id": "6", "name": "Long: " + "z" * 2100, "dueDate": {"$date": 1906545605}},
            {"@id": "7", "name": "Past", "dueDate": {"$date": 915148800}},
            {"@id": "8", "name": "Future: far", "dueDate": {"$date": 7226582400}},
        ]})
        browser = self.browser.open(self.server(now="2030-05-31T12:00:00Z"))
        browser.until_titles([
            "Past", "Call Grace", "Air the rooms", "answer mail", "Untitled", "y" * 119 + "…", "Long", "Future"])
        value = lambda title, field: browser.find(browser.row(title) + f" [data-field={field}]").get_attribute("value")
        self.assertEqual(value("Call Grace", "notes"), "about the compiler")
        self.assertEqual(value("y" * 119 + "…", "notes"), "y" * 300)
        muted = [browser.text(browser.row(t) + " [data-action=mute]") for t in browser.titles()[1:4]]
        self.assertEqual(muted, ["Alerts", "Muted", "Alerts"])
        self.assertEqual(value("Long", "notes"), "z" * 1999 + "…")
        self.assertEqual(value("Past", "notes"), "Due 1999-01-01 00:00")
        self.assertEqual(value("Past", "dueDate"), "2000-01-01T00:00")
        self.assertEqual(value("Future", "notes"), "Due 2199-01-01 00:00\nfar")
        self.assertEqual(value("Future", "dueDate"), "2100-01-01T00:00")
        browser.picture("migrated")

    def test_categories_with_names_that_version_3_does_not_allow(self):
        """Version 2 has no limits for names. The list is shown as it is, until a person renames the categories."""
        long = "x" * 300
        self.old_store(2, {
            "Category": [{"@id": "e", "name": ""}, {"@id": "l", "name": long}],
            "ToDo": [
                {"@id": "1", "name": "Tea", "dueDate": {"$date": 1906545600}, "category": "e"},
                {"@id": "2", "name": "Milk", "dueDate": {"$date": 1906545601}, "category": "l"},
            ],
        })
        client = Client(self.server(now="2030-05-31T12:00:00Z"))
        panel = categories(client)
        self.assertEqual(set(panel), {"", long})
        for name in ("No name", long):
            self.assertIn(f">{name}</option>", client.rows())
        tea = client.ids()[0]
        client.run({"set": {"id": tea, "field": "title", "value": "Green tea"}})
        self.assertIn("Saved.", client.run({"save": {}}))
        client.run({"categorize": {"ids": [tea], "category": panel[long]}})
        client.run({"moveCategory": {"id": panel[long], "index": 0}})
        self.assertIn("Saved.", client.run({"save": {}}))
        # A name that is not allowed either is refused, and nothing is left to be saved.
        answer = client.run({"renameCategory": {"id": panel[long], "name": "y" * 41}})
        self.assertIn("Use at most 40 characters.", answer)
        self.assertIn('data-edited="false"', answer)
        self.assertIn("Undo Rename “No name”", client.run({"renameCategory": {"id": panel[""], "name": "Kitchen"}}))
        client.run({"renameCategory": {"id": panel[long], "name": "Shop"}})
        self.assertIn("Saved.", client.run({"save": {}}))
        self.assertEqual(list(categories(client)), ["Shop", "Kitchen"])

    def test_an_empty_name_in_the_browser(self):
        self.old_store(2, {
            "Category": [{"@id": "e", "name": ""}],
            "ToDo": [{"@id": "1", "name": "Tea", "dueDate": {"$date": 1906545600}}],
        })
        browser = self.browser.open(self.server(now="2030-05-31T12:00:00Z"))
        menu = browser.row("Tea") + " select"
        browser.script("document.querySelector(arguments[0]).focus()", menu)
        browser.click(menu + " option:nth-child(2)")
        eventually(lambda: browser.find(browser.row("Tea") + " select option:checked").text == "No name")
        browser.save()
        browser.type("#categories input", "Kitchen")
        eventually(lambda: browser.find(browser.row("Tea") + " select option:checked").text == "Kitchen")
        browser.save()


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

    def test_a_category_that_cannot_be_saved_is_named(self):
        client = Client(self.server())
        client.run({"load": {"document": {"categories": ["", "Work" * 11], "items": []}}})
        answer = client.run({"save": {}})
        self.assertIn("a category without a name", answer)
        self.assertIn("“" + "Work" * 10 + "”", answer)
        panel = categories(client)
        for name, new in (("", "Home"), ("Work" * 11, "Work")):
            client.run({"renameCategory": {"id": panel[name], "name": new}})
        self.assertIn("Saved.", client.run({"save": {}}))

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
