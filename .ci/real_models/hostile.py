"""Part 'hostile': damaged and made-up files, of each of which there must be an error or a result, soon and in little room."""
import glob, os, random, shutil, signal
from . import bundles
from .tools import Table, measured

LEGEND = """
files     what was read: real files with damage, the same on each run, or files that were made up
runs      how many
refused   ended with an error of the program's own, which says what is wrong; taken: read all the same
crashed   ended by a signal; hung: took more than a minute; large: wanted more than 2 GB. All are to be 0
slowest   of the runs, in seconds; memory: the most that one took, in MB
"""
LIMIT = 2 << 30


class Kind:
    """Runs of one kind, counted."""

    def __init__(self, setting, name):
        self.setting, self.name = setting, name
        self.runs = self.refused = self.taken = 0
        self.bad = []
        self.slowest = self.memory = 0

    def run(self, what, *arguments):
        done = measured(*arguments, memory=4 * LIMIT)
        self.runs += 1
        self.slowest = max(self.slowest, done.seconds)
        self.memory = max(self.memory, done.memory)
        if done.code is None:
            self.bad.append(f"HUNG: {what}")
        elif done.crashed:
            self.bad.append(f"CRASHED by {signal.Signals(-done.code).name}: {what}: {done.errors[:200]}")
        elif done.memory << 20 > LIMIT:
            self.bad.append(f"LARGE: {what}: {done.memory} MB")
        elif done.code == 0:
            self.taken += 1
        elif "rror" in done.errors:
            self.refused += 1
        else:
            self.bad.append(f"NO REASON ({done.code}): {what}: {done.errors[:200]}")

    def add(self, table):
        table.add(self.name, self.runs, self.refused, self.taken, len(self.bad), f"{self.slowest:.1f}", self.memory)
        for each in self.bad[:10]:
            table.add("  " + " ".join(each.split()))
        return not self.bad


def flipped(data, random):
    """Some bytes, or runs of bytes, are others, gone, or there twice."""
    result = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 4, 16])):
        place = random.randrange(len(result))
        kind = random.randrange(4)
        if kind == 0:
            result[place] = random.randrange(256)
        elif kind == 1:
            result[place] ^= 1 << random.randrange(8)
        elif kind == 2:
            del result[place:place + random.choice([1, 8, 200])]
        else:
            result[place:place] = result[place:place + random.choice([1, 8, 200])]
        if not result:
            result = bytearray(b" ")
    return b"".join([result])


class Place:
    """A folder in which a bundle or a store is made for each run."""

    def __init__(self, setting):
        self.folder = os.path.join(setting.keep, "work")
        self.output = os.path.join(setting.keep, "output")

    def fresh(self):
        for folder in (self.folder, self.output):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)

    def bundle(self, contents, current=None):
        self.fresh()
        version = os.path.join(self.folder, "Model.xcdatamodeld", "Model.xcdatamodel")
        os.makedirs(version)
        with open(os.path.join(version, "contents"), "wb") as out:
            out.write(contents)
        if current is not None:
            with open(os.path.join(self.folder, "Model.xcdatamodeld", ".xccurrentversion"), "wb") as out:
                out.write(current)
        return os.path.join(self.folder, "Model.xcdatamodeld")


HEAD = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def entity(body):
    return HEAD + b'<model><entity name="E">' + body + b"</entity></model>"


def string(name, more=b""):
    return b'<attribute name="%s" optional="YES" attributeType="String"%s/>' % (name, more)


def request(predicate):
    """A model with a fetch request."""
    fetch = b'<fetchRequest name="f" entity="E" predicateString="%s"/>' % predicate
    return HEAD + b'<model><entity name="E">' + string(b"n") + b"</entity>" + fetch + b"</model>"


def cased(number):
    """A name that differs from others in case alone."""
    return bytes(65 + bit if number >> bit & 1 else 97 + bit for bit in range(12))


def made():
    """Made-up files for 'contents' by what they are."""
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
    yield "billion laughs", HEAD + b'<!DOCTYPE model [<!ENTITY l0 "lol">' + laughs + b"]><model>&l9;</model>"
    yield "external entity", HEAD + b'<!DOCTYPE model [<!ENTITY x SYSTEM "file:///dev/zero">]><model a="&x;">&x;</model>'
    yield "external type", HEAD + b'<!DOCTYPE model SYSTEM "http://127.0.0.1:9/x.dtd"><model/>'
    yield "parameter entity", HEAD + b'<!DOCTYPE model [<!ENTITY % x SYSTEM "file:///dev/zero"> %x;]><model/>'
    long = b'<!DOCTYPE model [<!ENTITY a "' + b"a" * 100_000 + b'">]>'
    yield "a long entity many times", HEAD + long + b"<model>" + b"&a;" * 100_000 + b"</model>"
    yield "references", HEAD + b"<model>" + b"&amp;" * 2_000_000 + b"</model>"
    yield "100 MB of text", HEAD + b"<model>" + b"a" * 100_000_000 + b"</model>"
    yield "100 MB of elements", HEAD + b"<model>" + b"<a/>" * 25_000_000 + b"</model>"
    yield "30 MB of a name", HEAD + b"<model><entity name='" + b"a" * 30_000_000 + b"'/></model>"
    yield "30 MB of elements", HEAD + b"<model>" + b"<e/>" * 7_500_000 + b"</model>"
    yield "100,000 levels", HEAD + b"<model>" + b"<a>" * 100_000
    yield "100,000 levels, closed", HEAD + b"<a>" * 100_000 + b"</a>" * 100_000
    yield "100,000 attributes", HEAD + b"<model " + b" ".join(b'a%d="1"' % n for n in range(100_000)) + b"/>"
    yield "10,000 entities", HEAD + b"<model>" + b"".join(b'<entity name="E%d"/>' % n for n in range(10_000)) + b"</model>"
    line = (b'<entity name="E%d" parentEntity="E%d">' % (n, n - 1) + string(b"a%d" % n) + b"</entity>" for n in range(4000))
    yield "4,000 entities in a line", HEAD + b"<model>" + b"".join(line) + b"</model>"
    yield "4,000 properties", entity(b"".join(string(b"a%d" % n) for n in range(4000)))
    yield "4,000 inverses", entity(b"".join(
        b'<relationship name="a%d" optional="YES" maxCount="1" destinationEntity="E" inverseName="a%d" '
        b'inverseEntity="E"/>' % (n, n + 1) for n in range(4000)))
    yield "names that clash", entity(b"".join(string(cased(n)) for n in range(4000)))
    yield "a deep predicate", request(b"(" * 200_000)
    yield "a wide predicate", request(b" OR ".join([b"n == 'x'"] * 100_000))
    slow = b' regularExpressionString="(a+)+$" defaultValueString="' + b"a" * 40 + b'!"'
    yield "a slow pattern", entity(string(b"n", slow))
    yield "derivations in a circle", entity(b"".join(
        string(one, b' derived="YES" derivationExpression="%s"' % other) for one, other in ((b"n", b"m"), (b"m", b"n"))))
    yield "zeros", b"\0" * 1_000_000
    yield "UTF-16", (HEAD + b"<model/>").decode().encode("utf-16")
    yield "nothing", b""


def models(setting):
    """The contents of the newest versions, the largest first."""
    found = []
    for bundle in bundles.find(setting.corpus, setting.names):
        found += bundle.files().values()
    return sorted(found, key=os.path.getsize, reverse=True)


def main(setting):
    table = Table("hostile", ["files", "runs", "refused", "taken", "crashed, hung or large", "slowest", "memory"], LEGEND)
    place, isGood = Place(setting), True
    chance = random.Random(20)
    runs = int(os.environ.get("CDGEN_RUNS", "1000"))
    imports = lambda bundle, *more: [setting.cdgen, "import", bundle, "--output", place.output, *more]

    kind = Kind(setting, "made-up models")
    for name, contents in made():
        kind.run(name, *imports(place.bundle(contents)))
    isGood &= kind.add(table)

    kind = Kind(setting, "what is no file, or none of the kind")
    for make in ("fifo", "folder", "loop", "device"):
        bundle = place.bundle(b"")
        file = os.path.join(bundle, "Model.xcdatamodel", "contents")
        os.remove(file)
        {"fifo": lambda: os.mkfifo(file), "folder": lambda: os.makedirs(file), "loop": lambda: os.symlink(file, file),
         "device": lambda: os.symlink("/dev/zero", file)}[make]()
        kind.run(make, *imports(bundle))
    isGood &= kind.add(table)

    files = models(setting)
    kind = Kind(setting, "the largest model, cut at each KiB")
    whole = open(files[0], "rb").read() if files else b""
    for length in range(0, len(whole), 1024):
        kind.run(f"{length} bytes", *imports(place.bundle(whole[:length])))
    isGood &= kind.add(table)

    kind = Kind(setting, "models with changed bytes")
    chosen = files[:3] + chance.sample(files, min(len(files), 60))
    for number in range(runs if files else 0):
        file = chance.choice(chosen)
        kind.run(f"{number}: {file}", *imports(place.bundle(flipped(open(file, "rb").read(), chance))))
    isGood &= kind.add(table)

    kind = Kind(setting, "mapping models with changed bytes, and cut")
    mappings = sorted(glob.glob(os.path.join(glob.escape(setting.corpus), "**", "xcmapping.xml"), recursive=True))
    for number in range(runs // 4 if mappings else 0):
        file = chance.choice(mappings)
        bundle = place.bundle(open(files[-1], "rb").read())
        folder = os.path.join(place.folder, "M.xcmappingmodel")
        os.makedirs(folder)
        data = open(file, "rb").read()
        data = flipped(data, chance) if number % 4 else data[:chance.randrange(len(data))]
        with open(os.path.join(folder, "xcmapping.xml"), "wb") as out:
            out.write(data)
        kind.run(f"{number}: {file}", *imports(bundle, "--mappings", place.folder))
    isGood &= kind.add(table)

    kind = Kind(setting, "current versions with changed bytes")
    currents = [os.path.join(folder, ".xccurrentversion") for folder, _, names in sorted(os.walk(setting.corpus))
                if ".xccurrentversion" in names]
    for number in range(runs // 4 if currents else 0):
        data = flipped(open(chance.choice(currents), "rb").read(), chance)
        kind.run(f"{number}", *imports(place.bundle(HEAD + b"<model><entity name='E'/></model>", data)))
    isGood &= kind.add(table)

    isGood &= stores(setting, table, place, chance, runs)
    table.sums.append("all ended in an error or a result" if isGood else "SOME DID NOT END AS THEY SHOULD")
    return table, isGood


def stores(setting, table, place, chance, runs):
    """Stores of Core Data with changed bytes, and cut, converted with the model that STORES.tsv names."""
    path = os.path.join(setting.corpus, "STORES.tsv")
    found = []
    for line in open(path).read().splitlines()[1:] if os.path.exists(path) else []:
        cells = line.split("\t")
        model = cells[12].partition(": ")[2].split(" | ")[0] if len(cells) > 12 else ""
        bundle = os.path.dirname(os.path.join(setting.corpus, model))
        if model and os.path.isdir(bundle):
            found.append((os.path.join(setting.corpus, cells[1]), bundle))
    changed, cut = Kind(setting, "stores with changed bytes"), Kind(setting, "stores that are cut")
    for number in range(runs // 2 if found else 0):
        store, bundle = chance.choice(found)
        data = open(store, "rb").read()
        kind = cut if number % 5 == 0 else changed
        place.fresh()
        copy = os.path.join(place.folder, "store.sqlite")
        with open(copy, "wb") as out:
            if kind is cut:
                out.write(data[:chance.randrange(len(data))])
            else:
                new = bytearray(data)
                # Half of them where the pages say what they are.
                for _ in range(chance.choice([1, 4, 16])):
                    spot = chance.randrange(len(new))
                    new[spot - spot % 4096 + chance.randrange(100) if chance.random() < 0.5 else spot] = chance.randrange(256)
                out.write(new)
        kind.run(f"{number}: {store}", setting.cdstore, "convert", copy, os.path.join(place.output, "new.sqlite"),
                 "--model", bundle, "--accept-losses")
    return changed.add(table) & cut.add(table)
