"""Light and dark, narrow windows, the keyboard, and what assistive technology sees."""

import os
import unittest

from application import ApplicationTest, Client, Keys, eventually


class AppearanceFixture(ApplicationTest):
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


class AppearanceTests(AppearanceFixture):
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
        # The focus stays in the list when a row is deleted.
        browser.add("Bread", "2030-06-03T09:00")
        tab_to("Delete Tea and milk")
        keys(Keys.SPACE)
        browser.until_titles(["Bread"])
        eventually(lambda: focused() == "Delete Bread")

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


@unittest.skipUnless(os.path.exists(os.environ.get("TODOAPP_AXE", "")), "axe-core is not there: see ./test")
class AxeTests(AppearanceFixture):
    """The rules of axe-core, for each state of the page."""

    def violations(self, browser):
        with open(os.environ["TODOAPP_AXE"]) as file:
            browser.script(file.read() + "; window.axe = axe;")
        return browser.driver.execute_async_script("""
            const end = arguments[0];
            axe.run(document, { resultTypes: ["violations"] }).then((result) => end(result.violations.map((v) =>
              `${v.id} (${v.impact}): ${v.help}: ` + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | "))));
            """)

    def check(self, browser, state):
        with self.subTest(state):
            self.assertEqual(self.violations(browser), [])

    def looks(self):
        """A wide window, a dark one, and a phone's."""
        for name, scheme, width in (("light", "light", 1200), ("dark", "dark", 1200), ("narrow", "light", 360)):
            browser = self.second_browser()
            browser.driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            browser.driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500})
            yield name, browser

    def test_the_list(self):
        server = self.server()
        empty = self.server("Empty.sqlite")
        self.fill(server)
        for name, browser in self.looks():
            browser.open(empty)
            self.check(browser, f"{name}: an empty list")
            # What the checks find at all.
            browser.script("document.querySelector('main').append(new Image())")
            with self.assertRaisesRegex(AssertionError, "image-alt"):
                self.assertEqual(self.violations(browser), [])
            browser.open(server)
            eventually(lambda: len(browser.titles()) == 6)
            self.check(browser, f"{name}: the list")
            browser.type(browser.row("Call Grace") + " [data-field=title]", "x" * 130)
            browser.text("td.title .error")
            browser.type("#add [name=title]", "")
            browser.text("#add-errors .error")
            if name == "narrow":
                browser.click("summary")
            browser.click("[aria-label='Remove Home']")
            browser.text("#category-errors .error")
            browser.click("tbody input.pick")
            browser.click("#save")
            browser.message("Not saved.")
            browser.picture(f"mistakes-{name}")
            self.check(browser, f"{name}: mistakes, a selection and an unsaved change")
            width = browser.script("return document.documentElement.scrollWidth")
            self.assertLessEqual(width, 360 if name == "narrow" else 1200)
            browser.click("#revert")
            browser.until_saved()

    def test_dialogs(self):
        server = self.server()
        client = Client(server)
        client.add("Tea", "2030-06-01T13:20")
        client.add("Water", "2030-06-04T12:00")
        client.run({"save": {}})
        for number, (name, browser) in enumerate(self.looks()):
            browser.open(server)
            mine, theirs = f"My water {number}", f"Their water {number}"
            browser.type("tbody tr:last-child [data-field=title]", mine)
            eventually(lambda: browser.find("#save").is_enabled())
            client.run({"set": {"id": client.ids()[1], "field": "title", "value": theirs}})
            self.assertIn("Saved.", client.run({"save": {}}))
            browser.click("#save")
            browser.find("#conflicts fieldset")
            browser.picture(f"conflict-{name}")
            self.check(browser, f"{name}: a conflict")
            browser.click("#conflicts [data-close]")
            eventually(lambda: not browser.find("#conflicts-dialog").is_displayed())
            browser.click("#revert")
            browser.until_saved()
            server.set_clock(f"2030-06-01T{13 + number}:16:00Z")
            browser.find("[data-alert]")
            browser.picture(f"alerts-{name}")
            self.check(browser, f"{name}: an alert")
            client.run({"refresh": {}})
            client.answer(client.ids()[0], "dismiss")
            client.run({"set": {"id": client.ids()[0], "field": "dueDate", "value": f"2030-06-01T{14 + number}:20"}})
            client.run({"save": {}})

    def test_pages_without_a_list(self):
        with open(os.path.join(self.folder, "Foreign.sqlite"), "w") as file:
            file.write("This is not a list.\n" * 100)
        server = self.server("Foreign.sqlite")
        eventually(lambda: server.get("/state")[1] == "failed")
        for name, browser in self.looks():
            browser.driver.get(server.url)
            browser.find("#failed")
            browser.picture(f"foreign-{name}")
            self.check(browser, f"{name}: a list that cannot be opened")
