"""Requests that are forged or impossible."""

import subprocess
import urllib.request

from application import ApplicationTest, Client, TeamTest


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

    def raw(self, client, body):
        request = urllib.request.Request(
            client.base + "/do", data=body, method="POST",
            headers={"Content-Type": "application/json", "X-Token": client.token})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_huge_requests(self):
        server = self.server()
        client = Client(server)
        self.assertIn("Use at most 120 characters.", client.add("x" * 5_000_000))
        client.add("Tea")
        item = client.ids()[0]
        client.run({"set": {"id": item, "field": "notes", "value": "é\n" * 2_000_000}})
        self.assertIn("Use at most 2000 characters.", client.rows())
        self.assertIn("Not saved.", client.run({"save": {}}))
        client.run({"set": {"id": item, "field": "notes", "value": "short"}})
        self.assertEqual(self.raw(client, b'"' + b"x" * (33 << 20) + b'"'), 413)
        self.assertEqual(self.raw(client, b"[" * 1_000_000), 400)
        self.assertEqual(self.raw(client, b'{"load":{"document":' * 100_000), 400)
        self.assertEqual(self.raw(client, b"\xff\xfe{}"), 400)
        self.assertEqual(self.raw(client, b'{"add":{"title":"\\ud800","dueDate":"2030-06-02T09:00"}}') // 100, 4)
        self.assertIn("Imported 100000 items.", client.run({"load": {"document": {"categories": [], "items": [
            {"title": str(number), "dueDate": "2030-06-02T09:00:00Z"} for number in range(100_000)]}}}))
        client.run({"undo": {}})
        self.assertIn("Saved.", client.run({"save": {}}))
        self.assertEqual([item["title"] for item in client.export()["items"]], ["Tea"])

    def test_strange_texts(self):
        """Whatever a text contains, it is stored as it is, or refused in words."""
        client = Client(self.server())
        texts = [
            "\u202eright to left", "e\u0301", "👩‍👩‍👧", "\ufffe", "a\u0001b", "'; DROP TABLE \"ToDo\"; --", "%s\\n$1",
            "</textarea>",
        ]
        for text in texts:
            client.add(text)
        self.assertIn("Saved.", client.run({"save": {}}))
        self.assertEqual(sorted(item["title"] for item in client.export()["items"]), sorted(texts))
        answer = client.add("nothing\u0000more") + client.run({"save": {}})
        self.assertTrue("Saved." in answer or "cannot be saved because of" in answer, answer[-400:])
        self.assertNotIn("Error(", answer)

    def test_files_outside_the_resources_are_not_served(self):
        server = self.server()
        for path in ("/static/..%2f..%2fPackage.swift", "/static/%2e%2e%2fapp.js", "/static/main.swift"):
            self.assertEqual(server.get(path)[0], 404)
        policy = urllib.request.urlopen(server.url + "/state").headers["Content-Security-Policy"]
        self.assertIn("script-src 'self'", policy)


class TeamSecurityTests(TeamTest, SecurityTests):
    """The same requests on a list that has a server."""

    def server(self, name=None, *arguments, **options):
        return super().server(self.url, *arguments, **options)
