"""Part 'histories': made-up models, of which it is known what is right, go the whole way from Xcode to a migrated store."""
import json, os, shutil, time
import xml.etree.ElementTree as ET
import yaml
from . import chains, made
from .comparison import differences
from .made import attribute, constant, entity, function, mapping, path, policy_call, to_many, to_one
from .tools import Table, measured

LEGEND = """
case      what the model is about:
            merge      two entities become one, by a plain mapping of the same name and another one; with objects related
                       to both
            open       expressions of a mapping model that cannot be taken over stay questions; plain ones are taken over
            custom     the same where a policy class makes the objects: the stub has the questions
            losses     no loss is confirmed on the user's behalf, and each is asked once: confirmed, and answered otherwise
            moved      values that an expression moves are no loss; those that an unknown one may move are asked for
            owned      a filter leaves owners behind: Core Data keeps what they own
            empty      a to-many relationship that is not optional, without a minimum, may be empty
            shared     archives that stand for texts without end
            versions   mapping models of versions that are not there; the order of versions; which one is current
            stores     damaged and foreign stores are named beside a model of Core Data
            orders     files that are no order
checks    how many were made; wrong: how many did not hold, each with what was found in a line of its own
seconds   of the case; most: of its slowest run; memory: in MB, the most of its runs
"""


class Case:
    """A model, what is done with it, and what did not hold."""

    def __init__(self, setting, name):
        self.setting = setting
        self.top = os.path.join(setting.keep, name)
        shutil.rmtree(self.top, ignore_errors=True)
        self.checks, self.wrong, self.slowest, self.memory = 0, [], 0, 0
        self.start("model")

    def start(self, name):
        """Begins again with another model."""
        self.name, self.folder = name, os.path.join(self.top, name)
        self.model = os.path.join(self.folder, "Shop.cdmodel")
        os.makedirs(self.folder)

    def check(self, what, holds, found=""):
        self.checks += 1
        if not holds:
            self.wrong.append(f"{self.name}: {what}" + (f"; found: {found}" if found != "" else ""))

    def equal(self, what, found, wanted):
        self.check(what, found == wanted, f"{found!r}, and not {wanted!r}")

    # MARK: Programs

    def run(self, program, *arguments, code=0, says=()):
        """Runs a program, and checks its exit status and what it says."""
        done = measured(program, *arguments)
        self.slowest, self.memory = max(self.slowest, done.seconds), max(self.memory, done.memory)
        said = f"({done.code}) {done.output} {done.errors}"
        self.check(f"{os.path.basename(program)} {arguments[0]} ends with {code}", done.code == code, " ".join(said.split())[:600])
        for text in [says] if isinstance(says, str) else says:
            self.check(f"{os.path.basename(program)} {arguments[0]} says \"{text}\"", text in said, " ".join(said.split())[:600])
        return done

    def cdgen(self, *arguments, **wanted):
        return self.run(self.setting.cdgen, *arguments, **wanted)

    def cdstore(self, *arguments, **wanted):
        return self.run(self.setting.cdstore, *arguments, **wanted)

    def imports(self, versions, *mappings, more=(), name="Shop", current=None, **wanted):
        """Makes a bundle and mapping models, and imports them."""
        bundle = made.bundle(self.folder, name, versions, current)
        for each in mappings:
            made.mapping_model(self.folder, name, *each)
        return self.cdgen("import", bundle, "--output", self.folder, "--mappings", self.folder, *more, **wanted)

    def refuses(self, *questions):
        """The step stays open: each question is asked once by each command, and the version is not locked."""
        for arguments, code in ((["check"], 0), (["lock", "--all"], 1)):
            done = self.cdgen(*arguments, self.model, code=code)
            for each in questions:
                self.equal(f"cdgen {arguments[0]} asks once: {each}", done.errors.count(each), 1)
        self.check("nothing is locked", not os.path.exists(os.path.join(self.model, "versions.lock")))
        self.cdgen("diff", self.model, code=1, says="not proven")

    def passes(self):
        """Nothing is open, and the versions are locked."""
        self.cdgen("check", self.model, says="no errors, no warnings")
        self.cdgen("diff", self.model)
        self.cdgen("lock", "--all", self.model)

    # MARK: Files

    def text(self, name="1-2.mapping.yaml"):
        file = os.path.join(self.model, name)
        return open(file).read() if os.path.exists(file) else ""

    def rules(self):
        return yaml.load(self.text(), yaml.BaseLoader) or {}

    def write(self, rules, name="1-2.mapping.yaml"):
        made.write(os.path.join(self.model, name), yaml.safe_dump(rules, sort_keys=False, width=10_000))

    # MARK: Stores

    def filled(self, rows, version=1, **wanted):
        """Makes a store of a version with some rows."""
        self.store = os.path.join(self.folder, f"{len(os.listdir(self.folder))}.sqlite")
        self.cdstore("create", self.store, "--model", self.model, "--version", version)
        file = made.write(self.store + ".json", json.dumps(rows))
        return self.cdstore("load", self.store, file, **wanted)

    def migrates(self):
        done = self.cdstore("migrate", self.store, "--model", self.model, "--verify", "--format", "json")
        try:
            self.equal("the migrated store is whole", json.loads(done.output)["findings"], [])
        except (ValueError, KeyError):
            pass

    def rows(self, entity):
        """The rows of an entity by their keys."""
        try:
            return chains.rows(self.setting, self.store, [entity])
        except (RuntimeError, ValueError) as error:
            self.check(f"{entity} can be fetched", False, error)
            return {}

    def values(self, entity, *names):
        return sorted([tuple(row.get(name) for name in names) for row in self.rows(entity).values()], key=str)


# MARK: Cases

def merge(case):
    text = [attribute("text"), attribute("likes", "Integer 32", "0")]
    versions = {"Shop": [entity("Comment", *text), entity("ReaderComment", *text)], "Shop 2": [entity("Comment", *text)]}
    both = [mapping("Comment", "Comment"), mapping("ReaderComment", "Comment")]
    rules = [{"from": "Comment"}, {"from": "ReaderComment"}]
    rows = {"Comment": [{"@id": "1", "text": "one", "likes": 1}, {"@id": "2", "text": "two", "likes": 2}],
            "ReaderComment": [{"@id": "3", "text": "three", "likes": 3}]}

    def migrates():
        case.filled(rows)
        before = case.rows("Comment")
        case.migrates()
        after = case.rows("Comment")
        case.equal("objects", len(after), 3)
        pair = lambda row: (row["text"], row["likes"])
        case.equal("objects that keep their identifiers", {key: pair(row) for key, row in after.items() if key in before},
                   {key: pair(row) for key, row in before.items()})
        case.equal("values", sorted(map(pair, after.values())), [("one", 1), ("three", 3), ("two", 2)])

    for name, mappings, wanted in (("plain first", both, rules), ("plain last", both[::-1], rules[::-1])):
        case.start(name)
        case.imports(versions, ("Shop", "Shop 2", *mappings))
        case.equal("rules", case.rules().get("entities"), {"Comment": wanted})
        case.passes()
        migrates()

    # Both have authors, who have both as two relationships, of which one stays.
    case.start("related")
    author = lambda inverse: to_one("author", "Author", inverse)
    comments = lambda name, inverse: entity(name, *text, author(inverse))
    person = lambda *more: entity("Author", attribute("name"), to_many("comments", "Comment", "author"), *more)
    case.imports({"Shop": [comments("Comment", "comments"), comments("ReaderComment", "readerComments"),
                           person(to_many("readerComments", "ReaderComment", "author"))],
                  "Shop 2": [comments("Comment", "comments"), person()]},
                 ("Shop", "Shop 2", *both, mapping("Author", "Author")))
    case.equal("rules", case.rules().get("entities"), {"Comment": rules})
    case.refuses("the inverse of relationship 'author' of 'Comment' was 'readerComments' and is 'comments'")
    case.write({"entities": {"Comment": [{**each, "relationships": {"author": "author"}} for each in rules]}})
    case.passes()
    rows = {"Author": [{"@id": "ann", "name": "Ann"}, {"@id": "bob", "name": "Bob"}],
            "Comment": [{**row, "author": "ann"} for row in rows["Comment"]],
            "ReaderComment": [{**row, "author": "bob"} for row in rows["ReaderComment"]]}
    migrates()
    names = {row["@id"]: row["name"] for row in case.rows("Author").values()}
    case.equal("authors", sorted((row["text"], names.get(row["author"])) for row in case.rows("Comment").values()),
               [("one", "Ann"), ("three", "Bob"), ("two", "Ann")])


def books(policy=None):
    """A mapping model with two expressions that can be taken over, and two that cannot."""
    old = [attribute("title"), attribute("pages", "Integer 32")]
    new = [attribute("isRead", "Boolean", "NO", optional=False), attribute("isLent", "Boolean", "YES", optional=False),
           attribute("added", "Date"), attribute("mark"), attribute("size", "Integer 32")]
    values = {"isRead": constant(1), "isLent": constant(0), "added": function("now"), "mark": policy_call("markFor:", "title"),
              "size": function("sizeOf:")}
    return ({"Shop": [entity("Book", *old)], "Shop 2": [entity("Book", *old, *new)]},
            ("Shop", "Shop 2", mapping("Book", "Book", values, policy)))


UNDECIDED = ["the value of attribute 'mark' of 'Book' is undecided", "the value of attribute 'size' of 'Book' is undecided"]
POLICY_CALL = "'FUNCTION($entityPolicy, \"markFor:\", $source.title)' for attribute 'mark' cannot be imported"
TAKEN = {"added": "now()", "isLent": "NO", "isRead": "YES"}


def open_(case):
    case.imports(*books(), says=[POLICY_CALL, "for attribute 'size' cannot be read"])
    rule = case.rules()["entities"]["Book"]
    case.equal("expressions that are taken over", rule.get("attributes"), TAKEN)
    case.equal("parts that are undecided", sorted(rule.get("undecided", {})), ["mark", "size"])
    case.check("the file has Xcode's expression", POLICY_CALL in " ".join(rule.get("undecided", {}).get("mark", "").split()))
    case.refuses(*UNDECIDED)
    case.filled({"Book": [{"@id": "1", "title": "Emma", "pages": 500}, {"@id": "2"}]})
    case.cdstore("migrate", case.store, "--model", case.model, code=1, says="undecided")
    # To confirm losses is no answer.
    case.cdgen("diff", case.model, "--accept", code=1)
    case.refuses(*UNDECIDED)
    # One is answered with a rule, and the other one stands as inferred.
    rules = case.rules()
    rules["entities"]["Book"]["attributes"]["mark"] = "title ?? 'none'"
    del rules["entities"]["Book"]["undecided"]["mark"]
    case.write(rules)
    case.refuses(UNDECIDED[1])
    del rules["entities"]["Book"]["undecided"]
    case.write(rules)
    case.passes()
    start = time.time()
    case.migrates()
    case.equal("values", case.values("Book", "title", "pages", "mark", "size", "isRead", "isLent"),
               [("Emma", 500, "Emma", None, True, False), (None, None, "none", None, True, False)])
    days = case.rows("Book").values()
    for row in days:
        day = row["added"].get("$date") if isinstance(row["added"], dict) else None
        case.check("now() is the time of the migration", day and abs(day - start) < 120, row["added"])


def custom(case):
    case.imports(*books("App.BookPolicy"), says=POLICY_CALL)
    rule = case.rules()["entities"]["Book"]
    case.equal("policy", rule.get("policy"), "custom")
    case.equal("parts that are undecided", sorted(rule.get("undecided", {})), ["mark", "size"])
    case.check("the file names the policy class", "App.BookPolicy" in case.text())
    case.refuses(*UNDECIDED)
    stub = os.path.join(case.folder, "Stub.swift")
    case.cdgen("stub", case.model, 1, 2, "--output", stub)
    lines = [line for line in open(stub) if "#error" in line and "//" not in line]
    case.equal("errors of the stub", [line.split("Book.")[1].split()[0] for line in lines], ["mark", "size"])
    case.check("the stub has Xcode's expression", "markFor:" in "".join(lines))
    rules = case.rules()
    del rules["entities"]["Book"]["undecided"]
    case.write(rules)
    case.passes()
    case.cdgen("stub", case.model, 1, 2, "--output", stub + ".again")
    case.equal("errors of a stub after the answer", open(stub + ".again").read().count("    #error"), 0)


def losses(case):
    old = [entity("Account", attribute("name")), entity("Song", attribute("title"), attribute("note")), entity("Mood", attribute("name"))]
    new = [entity("Account", attribute("name"), abstract=True), entity("Bank", parent="Account"), entity("Song", attribute("songTitle"))]
    rows = {"Account": [{"@id": "1", "name": "Giro"}], "Song": [{"@id": "2", "title": "Yes", "note": "loud"}], "Mood": [{"@id": "3"}]}
    questions = ["entity 'Account' has become abstract", "attribute 'title' of 'Song' is gone from version 2"]
    plain = ["attribute 'note' of 'Song' is gone from version 2"]
    # An entity that vanishes beside a new one may be a renaming.
    vanished = ["entity 'Mood' is gone from version 2"]

    def begin(name, *more):
        case.start(name)
        case.imports({"Shop": old, "Shop 2": new}, more=more)
        return case.rules()

    rules = begin("confirmed")
    case.equal("nothing is confirmed by the import", rules, {})
    asked = questions + plain + vanished
    for each in asked:
        case.equal(f"the file asks once: {each}", case.text().count("- " + each), 1)
    for remedy in ("write 'from: Account'", "write 'renamedFrom: title' for 'songTitle'", "--from 1 --to 2 --accept"):
        case.check(f"the file says: {remedy}", remedy in case.text())
    case.refuses(*asked)
    case.cdgen("diff", case.model, "--from", 1, "--to", 2, "--accept")
    rules = case.rules()
    case.equal("entities that are dropped", sorted(rules.get("drop", [])), ["Account", "Mood"])
    case.equal("attributes that are dropped", sorted(rules["entities"]["Song"]["drop"]), ["note", "title"])
    case.passes()
    case.filled(rows)
    case.migrates()
    case.equal("songs", case.values("Song", "songTitle"), [(None,)])
    case.equal("accounts", case.values("Account", "name"), [])

    rules = begin("answered", "--accept-losses")
    case.equal("the import confirms what is plainly gone", rules, {"entities": {"Song": {"drop": ["note"]}}})
    for each in questions + vanished:
        case.equal(f"the file asks once: {each}", case.text().count("- " + each), 1)
    case.refuses(*questions, *vanished)
    version = yaml.load(case.text("2.yaml"), yaml.BaseLoader)
    version["entities"]["Song"]["attributes"]["songTitle"] = {"type": "String?", "renamedFrom": "title"}
    case.write(version, "2.yaml")
    rules["entities"]["Bank"] = {"from": "Account"}
    rules["drop"] = ["Mood"]
    case.write(rules)
    case.passes()
    case.filled(rows)
    case.migrates()
    case.equal("songs", case.values("Song", "songTitle"), [("Yes",)])
    case.equal("accounts", case.values("Bank", "name"), [("Giro",)])


def moved(case):
    old = [entity("Song", attribute("rating", "Integer 32"), attribute("artist"), attribute("mood"))]
    new = [entity("Song", attribute("stars", "Integer 32"), attribute("key"), attribute("tone"))]
    values = {"stars": path("rating"), "key": policy_call("keyFor:", "artist")}
    asked = ["attribute 'artist' of 'Song' is gone from version 2", "attribute 'mood' of 'Song' is gone from version 2"]
    for name, more in (("asked", ()), ("losses accepted", ("--accept-losses",))):
        case.start(name)
        case.imports({"Shop": old, "Shop 2": new}, ("Shop", "Shop 2", mapping("Song", "Song", values)), more=more)
        rule = case.rules()["entities"]["Song"]
        case.equal("values that move", rule.get("attributes"), {"stars": "rating"})
        case.equal("no loss is confirmed", rule.get("drop"), None)
        case.check("what moves is no question", "'rating'" not in case.text())
        for each in asked:
            case.equal(f"the file asks once: {each}", case.text().count("- " + each), 1)
        case.refuses(*asked, "the value of attribute 'key' of 'Song' is undecided")
    rules = case.rules()
    rules["entities"]["Song"]["attributes"]["key"] = "uppercase:(artist)"
    del rules["entities"]["Song"]["undecided"]
    case.write(rules)
    case.refuses(asked[1])
    case.cdgen("diff", case.model, "--accept")
    case.equal("what is confirmed", case.rules()["entities"]["Song"].get("drop"), ["mood"])
    case.passes()
    case.filled({"Song": [{"@id": "1", "rating": 5, "artist": "abba", "mood": "good"}]})
    case.migrates()
    case.equal("values", case.values("Song", "stars", "key", "tone"), [(5, "ABBA", None)])


def owned(case):
    def versions(optional):
        artist = entity("Artist", attribute("name"), attribute("isGone", "Boolean", "NO", optional=False),
                        to_many("albums", "Album", "artist", "Cascade"))
        album = lambda *more: entity("Album", attribute("title"), to_one("artist", "Artist", "albums", optional=optional), *more)
        return {"Shop": [artist, album()], "Shop 2": [artist, album(attribute("year", "Integer 32"))]}
    model = ("Shop", "Shop 2", mapping("Artist", "Artist", filter="isGone == NO"), mapping("Album", "Album"))
    rows = {"Artist": [{"@id": "1", "name": "Abba", "isGone": True}, {"@id": "2", "name": "Cher", "isGone": False}],
            "Album": [{"@id": "3", "title": "Arrival", "artist": "1"}, {"@id": "4", "title": "Believe", "artist": "2"}]}

    def with_(word):
        rules = case.rules()
        rules["entities"]["Artist"]["owned"] = word
        case.write(rules)
        case.filled(rows)

    case.start("kept")
    case.imports(versions(True), model)
    case.equal("rule", case.rules()["entities"]["Artist"], {"where": "isGone == NO", "owned": "keep"})
    case.passes()
    case.filled(rows)
    case.migrates()
    case.equal("artists", case.values("Artist", "name"), [("Cher",)])
    artist = [row["@id"] for row in case.rows("Artist").values()]
    case.equal("albums", case.values("Album", "title", "artist"), [("Arrival", None), ("Believe", *artist)])
    with_("refuse")
    case.cdstore("migrate", case.store, "--model", case.model, code=1, says="albums")
    case.equal("albums as before", len(case.rows("Album")), 2)

    # Core Data ends the migration of an album without the artist that it must have.
    case.start("asked")
    case.imports(versions(False), model)
    case.check("the file says what can be done", "write 'owned: drop' for 'Artist'" in case.text(), case.text())
    case.refuses("some objects of relationship 'artist' of 'Album' are not migrated")
    with_("drop")
    case.passes()
    case.migrates()
    case.equal("albums", case.values("Album", "title"), [("Believe",)])


def empty(case):
    def versions(least):
        notes = to_many("notes", "Note", "folder", optional=False)
        notes = notes.replace(" toMany=", f' minCount="{least}" toMany=') if least else notes
        folder = lambda *more: entity("Folder", attribute("name"), *more, notes)
        note = entity("Note", attribute("text"), to_one("folder", "Folder", "notes"))
        return {"Shop": [folder(), note], "Shop 2": [folder(attribute("color")), note]}
    rows = {"Folder": [{"@id": "1", "name": "empty"}, {"@id": "2", "name": "full"}], "Note": [{"@id": "3", "folder": "2"}]}
    for name, least in (("no minimum", None), ("minimum", 1)):
        case.start(name)
        case.imports(versions(least))
        case.passes()
        back = os.path.join(case.folder, "Back.xcdatamodeld")
        case.cdgen("export", case.model, "--output", back)
        for version in ("Shop", "Shop 2"):
            before, after = (ET.parse(os.path.join(folder, version + ".xcdatamodel", "contents")).getroot()
                             for folder in (os.path.join(case.folder, "Shop.xcdatamodeld"), back))
            case.equal(f"what differs in version '{version}' after the export", differences(before, after), [])
            flags = [each.get("optional") for each in after.iter("relationship") if each.get("name") == "notes"]
            case.equal("Xcode's flag after the export", flags, [None])
        if least:
            case.filled(rows, code=1, says="notes")
            continue
        for version in (1, 2):
            case.filled(rows, version)
            case.cdstore("verify", case.store, says="is whole")
            case.migrates()
            case.equal("folders", case.values("Folder", "name", "color"), [("empty", None), ("full", None)])
            case.equal("related objects", sorted(len(row["notes"]) for row in case.rows("Folder").values()), [0, 1])


def shared(case):
    old, new = entity("Book", attribute("title")), entity("Book", attribute("title"), attribute("mark"))
    for name, archive in (("calls", made.doubled(30)), ("lists", made.doubled_lists(30)), ("calls, deep", made.doubled(4000))):
        case.start(name)
        case.imports({"Shop": [old], "Shop 2": [new]}, ("Shop", "Shop 2", mapping("Book", "Book", {"mark": archive})),
                     says="for attribute 'mark' cannot be read")
        case.equal("parts that are undecided", list(case.rules()["entities"]["Book"].get("undecided", {})), ["mark"])
        case.refuses("the value of attribute 'mark' of 'Book' is undecided")
        rules = case.rules()
        del rules["entities"]["Book"]
        case.write(rules)
        case.passes()
    case.check("no run takes more than 10 s", case.slowest < 10, case.slowest)
    case.check("no run takes more than 300 MB", case.memory < 300, case.memory)


def versions(case):
    old, new = [entity("Book", attribute("title"))], [entity("Book", attribute("title"), attribute("mark"))]

    case.start("a version that is not there")
    case.imports({"Shop": old, "Shop 2": new}, ("Shop", "Shop 3", mapping("Book", "Book", {"mark": constant("x")})),
                 says="the mapping model is for 'Shop' to 'Shop 3', and 'Shop 3' is not a version that is imported; it is left out")
    case.equal("rules", case.rules(), {})
    case.passes()

    for name, wanted in (("App2", ["App2", "App2 2", "App2 10"]), ("SampleModel3", ["SampleModel3", "SampleModel3_v2"])):
        case.start(f"order of {name}")
        entities = {version: [entity("Book", attribute("title"), *(attribute(f"a{place}") for place in range(number)))]
                    for number, version in enumerate(wanted)}
        case.imports(dict(sorted(entities.items())), name=name)
        case.model = os.path.join(case.folder, name + ".cdmodel")
        labels = [yaml.safe_load(case.text(f"{number + 1}.yaml"))["label"] for number in range(len(wanted))]
        case.equal("versions in their order", labels, wanted)
        case.passes()
        case.filled({"Book": [{"@id": "1", "title": "Emma"}]})
        case.migrates()
        case.equal("values", case.values("Book", "title", f"a{len(wanted) - 2}"), [("Emma", None)])

    case.start("current version")
    case.imports({"Shop": old, "Shop 2": new}, current=made.current("Shop"))
    case.equal("current version", yaml.safe_load(case.text("model.yaml")).get("current"), 1)
    good = made.current("Shop")
    for name, text in (("cut", good[:len(good) // 2]), ("no list", b"Shop"), ("nothing", b""), ("binary", bytes(range(256)) * 4)):
        case.start(f"current version, {name}")
        done = case.imports({"Shop": old, "Shop 2": new}, current=text, code=1)
        case.check("one error names the file", done.errors.count("\n") == 1 and ".xccurrentversion: error: " in done.errors, done.errors)
        case.check("nothing is made", not os.path.exists(case.model))


def stores(case):
    bundle = made.bundle(case.folder, "Shop", {"Shop": [entity("Note", attribute("text"), attribute("rating", "Integer 16"))]})
    columns = {"ZTEXT": "VARCHAR", "ZRATING": "INTEGER"}
    rows = [["tea " * 2000, number] for number in range(50)]
    file = lambda name: os.path.join(case.folder, name)
    sound = open(made.store(file("sound"), columns, rows), "rb").read()
    case.cdstore("info", file("sound"), "--model", bundle, says="version 1 ('Shop')")
    case.cdstore("convert", file("sound"), file("new.sqlite"), "--model", bundle)
    case.cdstore("verify", file("new.sqlite"), says="is whole")
    case.store = file("new.sqlite")
    case.equal("values", sorted(case.values("Note", "rating", "text")), [(number, text) for text, number in rows])
    made.store(file("other"), {"ZWORDS": "VARCHAR"}, [["tea"]])
    made.store(file("newer"), {"ZTEXT": "VARCHAR"}, [["tea"]])
    page = int.from_bytes(sound[16:18], "big")
    damaged = bytearray(sound)
    for place in range(page * 6, len(sound) - page, page):
        damaged[place:place + 64] = b"\xff" * 64
    for name, contents, words in (
            ("text", b"no store\n", "is not a SQLite database"), ("nothing", b"", "is not a SQLite database"),
            ("cut header", sound[:50], "is damaged: it ends within its header"),
            ("cut", sound[:page * 4 + 100], "damaged"), ("damaged", bytes(damaged), "damaged"),
            ("other", None, "ZNOTE has no column ZRATING"), ("newer", None, "ZNOTE has no column ZRATING"),
            ("gone", None, "there is no store at")):
        case.name = name
        if contents is not None:
            made.write(file(name), contents)
        before = open(file(name), "rb").read() if os.path.exists(file(name)) else None
        for arguments in (["convert", file(name), file(name + ".new")], ["fetch", file(name), "Note"]):
            done = case.cdstore(*arguments, "--model", bundle, code=1, says=[words, file(name)])
            case.check(f"{arguments[0]} prints no rows", done.output == "", done.output[:200])
        case.check("nothing is made", not os.path.exists(file(name + ".new")))
        after = open(file(name), "rb").read() if os.path.exists(file(name)) else None
        case.check("the file is as it was", before == after)


def orders(case):
    versions = {"Old": [entity("Book", attribute("title"))], "New": [entity("Book", attribute("title"), attribute("mark"))]}
    for name, text in (("bytes", bytes(place * 7 % 256 for place in range(4000))), ("zeros", bytes(100)),
                       ("an image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))), ("UTF-16", "Old\nNew\n".encode("utf-16"))):
        case.start(name)
        order = made.write(os.path.join(case.folder, "order"), text)
        done = case.imports(versions, more=["--order", order], code=1)
        case.equal("what is said", done.errors,
                   f"{order}: error: this is not a text; an order names the versions, a line each, the oldest first\n")
        case.check("nothing is made", not os.path.exists(case.model))
    case.start("text")
    case.imports(versions, more=["--order", made.write(os.path.join(case.folder, "order"), "Old\nNew\n")])
    case.equal("label of version 2", yaml.safe_load(case.text("2.yaml"))["label"], "New")
    case.passes()


CASES = {"merge": merge, "open": open_, "custom": custom, "losses": losses, "moved": moved, "owned": owned, "empty": empty,
         "shared": shared, "versions": versions, "stores": stores, "orders": orders}


def main(setting):
    table = Table("histories", ["case", "checks", "wrong", "seconds", "most", "memory"], LEGEND)
    checks = wrong = 0
    for name, prove in CASES.items():
        if setting.names and not any(each in name for each in setting.names):
            continue
        case, start = Case(setting, name), time.monotonic()
        try:
            prove(case)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
            case.check(f"the script goes on: {error!r}", False)
        table.add(name, case.checks, len(case.wrong), f"{time.monotonic() - start:.1f}", f"{case.slowest:.1f}", case.memory)
        for each in case.wrong:
            table.add("", "", "WRONG " + " ".join(each.split()))
        checks, wrong = checks + case.checks, wrong + len(case.wrong)
    table.sums.append(f"{checks - wrong} of {checks} checks hold")
    return table, not wrong
