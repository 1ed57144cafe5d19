"""Many clients at the same time."""

import json
import os
import random
import re
import threading
import time

from application import ApplicationTest, Client, OUTPUT, TeamTest

SECONDS = float(os.environ.get("TODOAPP_LOAD_SECONDS", "6"))
SHARED = 10


class Worker(threading.Thread):
    """A client that adds items, and appends marks to the notes of items that all clients share.

    Of two clients that append at the same time, one gets the question about the conflict. It takes the saved notes, and
    appends to them. So no accepted mark may be missing in the end.
    """

    def __init__(self, number, server, end):
        super().__init__()
        self.number = number
        self.server = server
        self.end = end
        self.random = random.Random(number)
        self.titles = []
        self.marks = []
        self.conflicts = 0
        self.overtaken = 0
        self.times = {}
        self.failure = None

    def timed(self, kind, body):
        start = time.monotonic()
        result = body()
        self.times.setdefault(kind, []).append(time.monotonic() - start)
        return result

    def run(self):
        try:
            self.client = Client(self.server)
            while time.monotonic() < self.end:
                if self.random.random() < 0.5:
                    self.add()
                else:
                    self.mark()
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"

    def save(self):
        return self.timed("save", lambda: self.client.run({"save": {}}))

    def add(self):
        title = f"client {self.number} item {len(self.titles)}"
        self.timed("add", lambda: self.client.add(title, "2030-06-05T09:00"))
        answer = self.save()
        if "Saved." not in answer:
            raise AssertionError(answer)
        self.titles.append(title)

    def shared(self):
        """The notes of the shared items, which are the first of the list."""
        rows = self.timed("rows", self.client.rows)
        return re.findall(
            r'data-id="([^"]*)"[^>]*>(?:(?!</tr>).)*?data-field="title" value="shared[^"]*"(?:(?!</tr>).)*?<textarea[^>]*>\n([^<]*)<',
            rows, re.DOTALL)

    def mark(self):
        items = self.shared()
        open_items = [(item, notes) for item, notes in items if len(notes) < 1_950]
        if not open_items:
            return self.add()
        item, notes = self.random.choice(open_items)
        mark = f"{self.number}.{len(self.marks)}"
        while True:
            value = f"{notes} {mark}"
            answer = self.timed("edit", lambda: self.client.run(
                {"set": {"id": item, "field": "notes", "value": value, "was": notes}}))
            if "while you were editing it" in answer:
                # Others were faster than the answer of this client.
                self.overtaken += 1
                self.client.run({"undo": {}})
                notes = dict(self.shared())[item]
                continue
            answer = self.save()
            if "Saved." in answer:
                break
            if "Somebody else has changed" not in answer:
                raise AssertionError(answer)
            self.conflicts += 1
            answer = self.client.run({"resolve": {"choices": [{"id": item, "key": "notes", "isMine": False}]}})
            while "Somebody else has changed" in answer:
                answer = self.client.run({"resolve": {"choices": [{"id": item, "key": "notes", "isMine": False}]}})
            notes = dict(self.shared())[item]
            if len(notes) >= 1_950:
                return
        self.marks.append(mark)


class LoadTests(ApplicationTest):
    def load(self, name, servers):
        """Twenty clients for some seconds. Every save that was accepted is in the list afterwards."""
        client = Client(servers[0])
        for number in range(SHARED):
            client.add(f"shared {number}", "2030-06-01T13:00")
        self.assertIn("Saved.", client.run({"save": {}}))
        end = time.monotonic() + SECONDS
        workers = [Worker(number, servers[number % len(servers)], end) for number in range(20)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual([worker.failure for worker in workers if worker.failure], [])
        items = Client(servers[-1]).export()["items"]
        self.assertEqual(
            sorted(item["title"] for item in items if not item["title"].startswith("shared")),
            sorted(title for worker in workers for title in worker.titles))
        marks = [mark for item in items for mark in item.get("notes", "").split()]
        self.assertEqual(sorted(marks), sorted(mark for worker in workers for mark in worker.marks))
        self.assertEqual(len(items), SHARED + sum(len(worker.titles) for worker in workers))
        self.report(name, workers)

    def report(self, name, workers):
        times = {}
        for worker in workers:
            for kind, values in worker.times.items():
                times.setdefault(kind, []).extend(values)
        figures = {}
        for kind, values in sorted(times.items()):
            values.sort()
            at = lambda part: round(1000 * values[min(len(values) - 1, int(part * len(values)))], 1)
            figures[kind] = {
                "count": len(values), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1),
            }
        conflicts = sum(worker.conflicts for worker in workers)
        overtaken = sum(worker.overtaken for worker in workers)
        with open(os.path.join(OUTPUT, f"load-{name}.json"), "w") as file:
            json.dump({"seconds": SECONDS, "conflicts": conflicts, "overtaken": overtaken, "milliseconds": figures}, file, indent=2)
        print(f"\n  {name}: {SECONDS:.0f} s, {figures['save']['count'] / SECONDS:.0f} saves a second, "
              f"{conflicts} conflicts when saving, {overtaken} edits overtaken", flush=True)
        for kind, figure in figures.items():
            print(f"    {kind}: " + ", ".join(f"{key} {value}" for key, value in figure.items()), flush=True)

    def test_twenty_clients_of_a_file(self):
        self.load("file", [self.server()])

    def test_twenty_clients_of_two_processes(self):
        self.load("two-processes", [self.server(), self.server()])


class TeamLoadTests(TeamTest, LoadTests):
    test_twenty_clients_of_a_file = None

    def test_twenty_clients_of_two_processes(self):
        self.load("team", [self.server(self.url), self.server(self.url)])
