"""Sends requests to the server. `test` sets LENDING_SERVER and starts a PostgreSQL server."""
import concurrent.futures, contextlib, json, os, sqlite3, subprocess, tempfile, time, unittest, urllib.error, urllib.request


class Server:
    """The program, on a port of its own."""

    def __init__(self, **environment):
        self.process = subprocess.Popen(
            [os.environ["LENDING_SERVER"]], env={**os.environ, "PORT": "0", **environment}, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def request(self, method, path, body=None, **headers):
        """The status and the reply."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address.rstrip("/") + path, data, {"Content-Type": "application/json", **headers}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                text = reply.read()
                return reply.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def end(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Requests:
    """What both sorts of stores must do."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.servers = []
        self.addCleanup(lambda: [server.end() for server in self.servers])

    def start(self):
        server = Server(**self.environment())
        self.servers.append(server)
        return server

    def test_books_and_loans(self):
        server = self.start()
        self.assertEqual(server.request("GET", "/books"), (200, []))
        status, book = server.request("POST", "/books", {"isbn": "1", "title": "Wälden", "copies": 2})
        self.assertEqual(status, 201)
        self.assertEqual(book, {"isbn": "1", "title": "Wälden", "copies": 2, "lent": 0, "readers": []})
        self.assertEqual(server.request("GET", "/books?title=W%C3%A4L"), (200, [book]))
        self.assertEqual(server.request("GET", "/books?title=x"), (200, []))
        self.assertEqual(server.request("POST", "/books/1/loans", {"reader": "Grace"})[0], 201)
        self.assertEqual(server.request("GET", "/books/1")[1]["readers"], ["Grace"])
        # Nobody deletes a book that is lent.
        self.assertEqual(server.request("DELETE", "/books/1")[0], 422)
        self.assertEqual(server.request("DELETE", "/books/1/loans/Grace")[0], 204)
        self.assertEqual(server.request("DELETE", "/books/1/loans/Grace")[0], 404)
        self.assertEqual(server.request("DELETE", "/books/1")[0], 204)
        self.assertEqual(server.request("GET", "/books/1")[0], 404)

    def test_mistakes_are_replies(self):
        server = self.start()
        self.assertEqual(server.request("POST", "/books", {"isbn": "", "title": "x"})[0], 422)
        self.assertEqual(server.request("POST", "/books", {"isbn": "1", "title": "x" * 300})[0], 422)
        self.assertEqual(server.request("POST", "/books", {"isbn": "1"})[0], 400)
        self.assertEqual(server.request("POST", "/books", {"isbn": "1", "title": "x"})[0], 201)
        self.assertEqual(server.request("POST", "/books", {"isbn": "1", "title": "y"})[0], 409)
        self.assertEqual(server.request("POST", "/books/2/loans", {"reader": "Grace"})[0], 404)
        self.assertEqual(len(server.request("GET", "/books")[1]), 1)

    def test_pages_of_other_sites_are_refused(self):
        server = self.start()
        book = {"isbn": "1", "title": "Walden"}
        self.assertEqual(server.request("POST", "/books", book)[0], 201)
        # A site whose name has the address of this computer, and a form of another site.
        self.assertEqual(server.request("GET", "/books", Host="attacker.example:80")[0], 421)
        for origin in ("http://attacker.example", "null"):
            self.assertEqual(server.request("POST", "/books", {**book, "isbn": "2"}, Origin=origin)[0], 403)
            self.assertEqual(server.request("DELETE", "/books/1", Origin=origin)[0], 403)
        status, books = server.request("GET", "/books", Host="localhost:1")
        self.assertEqual((status, [found["isbn"] for found in books]), (200, ["1"]))

    def test_the_last_copy_is_lent_once(self):
        self.lend(self.start())

    def lend(self, *servers):
        servers[0].request("POST", "/books", {"isbn": "1", "title": "Walden", "copies": 5})
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            statuses = list(pool.map(
                lambda number: servers[number % len(servers)].request(
                    "POST", "/books/1/loans", {"reader": f"reader {number}"})[0], range(30)))
        self.assertEqual((statuses.count(201), statuses.count(409)), (5, 25), statuses)
        book = servers[-1].request("GET", "/books/1")[1]
        self.assertEqual((book["lent"], len(book["readers"])), (5, 5))

    def test_what_was_acknowledged_stays(self):
        server = self.start()
        server.request("POST", "/books", {"isbn": "1", "title": "Walden", "copies": 100})
        for number in range(10):
            self.assertEqual(server.request("POST", "/books/1/loans", {"reader": str(number)})[0], 201)
        self.servers.remove(server)
        server.end(kill=True)
        self.assertEqual(self.start().request("GET", "/books/1")[1]["lent"], 10)


class FileRequests(Requests, unittest.TestCase):
    def environment(self):
        return {"STORE": ""} | {"FILE": os.path.join(self.folder.name, "Lending.cdstore")}

    def test_a_store_that_cannot_be_read_is_an_error(self):
        server = self.start()
        server.request("POST", "/books", {"isbn": "1", "title": "Walden"})
        server.request("POST", "/books/1/loans", {"reader": "Grace"})
        with contextlib.closing(sqlite3.connect(self.environment()["FILE"])) as database:
            database.execute('DROP TABLE "Loan"')
            database.commit()
        # The book can be read, but not its loans.
        for method, path in (("GET", "/books"), ("GET", "/books/1"), ("DELETE", "/books/1/loans/Grace")):
            status, text = server.request(method, path)
            self.assertEqual(status, 500, text)
            self.assertIn("cannot be read", text)
            self.assertNotIn("Loan", text)


class ServerRequests(Requests, unittest.TestCase):
    number = 0

    def setUp(self):
        ServerRequests.number += 1
        super().setUp()

    def environment(self):
        return {"STORE": f"{os.environ['CDGEN_POSTGRES_URL']}?schema=lending_{ServerRequests.number}"}

    def test_two_programs_lend_the_last_copy_once(self):
        self.lend(self.start(), self.start())

    def test_a_server_that_crashes_is_waited_for(self):
        server = self.start()
        server.request("POST", "/books", {"isbn": "1", "title": "Walden", "copies": 1000})
        crash = subprocess.Popen(os.environ["CDGEN_POSTGRES_RESTART"].split())
        statuses = []
        number = 0
        while crash.poll() is None or number < 20:
            statuses.append(server.request("POST", "/books/1/loans", {"reader": str(number)})[0])
            number += 1
            time.sleep(0.02)
        self.assertLessEqual(set(statuses), {201, 500, 503}, statuses)
        self.assertEqual(statuses[-1], 201)
        # Each acknowledged loan is there.
        book = server.request("GET", "/books/1")[1]
        self.assertGreaterEqual(book["lent"], statuses.count(201))
        self.assertEqual(book["lent"], len(book["readers"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
