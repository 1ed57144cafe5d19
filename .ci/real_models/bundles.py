"""Finds the models of a folder of real projects, and in which order their versions follow each other."""
import collections, itertools, os, re
import xml.etree.ElementTree as ET


class Bundle:
    """An .xcdatamodeld, or an .xcdatamodel that stands alone."""

    def __init__(self, corpus, path):
        self.path = path
        self.name = os.path.relpath(path, corpus)
        self.stem = os.path.basename(path).rsplit(".", 1)[0]
        self.key = re.sub(r"[^A-Za-z0-9.]+", "_", self.name)

    def files(self):
        """The files of the versions in XML by the versions' names."""
        if self.path.endswith(".xcdatamodel"):
            file = os.path.join(self.path, "contents")
            return {self.stem: file} if os.path.exists(file) else {}
        return {name[:-12]: os.path.join(self.path, name, "contents") for name in sorted(os.listdir(self.path))
                if name.endswith(".xcdatamodel") and os.path.exists(os.path.join(self.path, name, "contents"))}


def find(corpus, names):
    """The bundles of a folder whose paths contain one of some names; all where there are none."""
    for folder, folders, _ in os.walk(corpus):
        folders.sort()
        for name in folders:
            within = folder.endswith(".xcdatamodeld")
            if name.endswith(".xcdatamodeld") or (name.endswith(".xcdatamodel") and not within):
                bundle = Bundle(corpus, os.path.join(folder, name))
                if not names or any(each in bundle.name for each in names):
                    yield bundle


def number(name):
    """What a name ends in, as numbers, for names that differ in it."""
    digits = re.search(r"(\d+(?:\.\d+)*)$", name)
    return [int(part) for part in digits.group(1).split(".")] if digits else []


def table(corpus):
    """ORDER.tsv: repo, bundle, position, version and the day on which it was first there."""
    result = collections.defaultdict(list)
    path = os.path.join(corpus, "ORDER.tsv")
    for line in open(path).read().splitlines()[1:] if os.path.exists(path) else []:
        fields = line.split("\t")
        result[fields[1]].append((fields[4] if len(fields) > 4 else "", int(fields[2]), fields[3]))
    return result


def parts(file):
    """Entities and properties of a version, with their types."""
    result = set()
    for entity in ET.parse(file).getroot().iter("entity"):
        result.add((entity.get("name"),))
        for child in entity:
            if child.tag in ("attribute", "relationship"):
                kind = child.get("attributeType") or child.get("destinationEntity")
                result.add((entity.get("name"), child.get("name"), kind))
    return result


def sorted_by_day(rows):
    """The names of versions in the table's order; of those that came on one day, in the order of their numbers."""
    result = []
    for _, run in itertools.groupby(sorted(rows, key=lambda row: row[1]), key=lambda row: row[0]):
        run = list(run)
        if all(number(row[2]) for row in run):
            run.sort(key=lambda row: (number(row[2]), row[1]))
        result += [row[2] for row in run]
    return result


def order(bundle, rows):
    """The versions, oldest first, each with those it is based on where that is not just the one before.

    One that lacks what the one before it has and one soon after it has again is its sibling, if it is closer to what
    that one is based on.
    """
    files = bundle.files()
    names = [name for name in sorted_by_day(rows) if name in files]
    names += sorted(set(files) - set(names))
    held = {name: parts(files[name]) for name in names}
    plain = {name: names[at - 1:at] if at else [] for at, name in enumerate(names)}
    bases = dict(plain)
    for before, name, *later in zip(names[1:], names[2:], names[3:], names[4:] + [None], names[5:] + [None] * 2):
        lacking, origin = held[before] - held[name], bases[before][0]
        back = [each for each in later if each and len(lacking & held[each]) > len(lacking) / 2]
        if len(lacking) > 2 and back and len(held[origin] - held[name]) * 2 < len(lacking):
            bases[name] = [origin]
            bases[back[0]] = sorted({*bases[back[0]], before}, key=names.index)
    return [(name, None if bases[name] == plain[name] else bases[name]) for name in names]


def text(entries):
    """The text of a file for --order."""
    return "".join(name + (" <- " + ", ".join(bases) if bases else "") + "\n" for name, bases in entries)
