"""Part 'chains': stores of first versions, filled, go through all steps to the last version, and are whole."""
import collections, json, os, re, shutil
from . import bundles, models
from .answers import Answers
from .filling import Objects, Version
from .tools import Table, run

LEGEND = """
objects   that were made for the first version: of each entity some, with a value for each attribute, and related
stopped   what ends the migration as the import left it, with its step; 'no' where nothing does
answers   what was then answered, as an author might by hand, a count each:
            loss    confirmed by 'cdgen diff --accept'
            value   a rule for an attribute; side of a pair: a rule for a relationship; equal ones: 'onDuplicate'
            object to lead to  a second mapping, which makes objects that a new relationship must lead to
            decided what is inferred in place of a mapping model's expression that cannot be taken over
            no code what is inferred in place of the app's own code, which does not run here
verified  ok: 'cdstore migrate --verify' has brought the store to the last version and found it whole; with a count of
          objects that have fewer related ones than a newer version wants, which no migration can give them
living    entities of the first version that are still there in the last, under whatever name
counts    ok: of each of them there are as many objects as before, with the same identifiers; else those that differ.
          Entities whose objects a filter or a mapping with several sources chooses from are left out, and counted
values    that came through unchanged by every rule, compared; and how many of them differ
seconds   of the migration
The rows at the end are the stores of STORES.tsv, from their version to the last, with the same answers.
"""
PER_ENTITY = 3


class Chain:
    """What becomes of entities, attributes and relationships over several steps, by the plan."""

    def __init__(self, version, steps):
        self.entities = {name: name for name in version.entities if not version.entities[name].get("abstract")}
        self.names = {entity: {each["name"]: each["name"] for each in version.attributes(entity) + version.relationships(entity)}
                      for entity in self.entities}
        self.unclear = set()
        for step in steps:
            self.follow(step)

    def follow(self, step):
        mappings = collections.defaultdict(list)
        for each in step["entityMappings"]:
            if each.get("from") and each.get("to"):
                mappings[each["from"]].append(each)
        filtered = {each["to"] for all in mappings.values() for each in all if "where" in each}
        for entity, now in list(self.entities.items()):
            found = [each for each in mappings.get(now, []) if each["to"] not in filtered and each["kind"] != "custom"]
            # Of several it is the one by name, where further ones make something else beside it.
            found = [each for each in found if each["to"] == now] or found
            if len(found) != 1:
                if mappings.get(now):
                    self.unclear.add(entity)
                del self.entities[entity]
                continue
            self.entities[entity] = found[0]["to"]
            new = {}
            for rule in found[0].get("attributes", []) + found[0].get("relationships", []):
                if rule.get("value"):
                    new.setdefault(rule["value"], rule["name"])
            self.names[entity] = {old: new[name] for old, name in self.names[entity].items() if name in new}


def rows(setting, store, entities):
    """All objects of some entities, each by its entity and key, as JSON has them."""
    text = "".join(json.dumps({"entity": entity, "rows": True}) + "\n" for entity in entities)
    done = run(setting.cdstore, "fetch", store, "--batch", text=text)
    found = {}
    for entity, line in zip(entities, done.output.splitlines()):
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{entity}: {answer['error']}")
        for row in answer["rows"]:
            found[key(row["@id"])] = row
    return found


def key(uri):
    """The entity and number of an identifier."""
    parts = re.search(r"/([^/]+)/p(\d+)$", uri)
    return (parts.group(1), parts.group(2)) if parts else (uri, "")


def followed(value, chain):
    """A value with identifiers as they are after the chain; None where it leads to what is gone."""
    if isinstance(value, list):
        return sorted(filter(None, (followed(each, chain) for each in value)))
    if isinstance(value, str) and re.search(r"^cdgen://.*/p\d+$", value):
        entity, number = key(value)
        return f"{chain.entities[entity]}/p{number}" if entity in chain.entities else None
    return value


def compared(before, after, chain):
    """Counts that differ, and how many values were compared and differ."""
    old, new = collections.Counter(entity for entity, _ in before), collections.Counter(entity for entity, _ in after)
    targets = collections.Counter(chain.entities.values())
    wrong = [f"{entity}: {old[entity]} -> {new[now]}" for entity, now in chain.entities.items()
             if targets[now] == 1 and old[entity] != new[now]]
    same, different = 0, []
    plain = Chain.__new__(Chain)
    for (entity, number), row in before.items():
        now = chain.entities.get(entity)
        if now is None or targets[now] > 1:
            continue
        other = after.get((now, number))
        if other is None:
            different.append(f"{entity}/p{number} is gone")
            continue
        plain.entities = {name: name for name, _ in after}
        for name, value in row.items():
            target = chain.names[entity].get(name)
            if name == "@id" or target is None or target not in other:
                continue
            wanted = followed(value, chain)
            if wanted is None and value is not None:
                continue
            found = followed(other[target], plain)
            # What led to one object may lead to several now.
            if wanted == found or isinstance(found, list) and found == ([] if wanted is None else [wanted]):
                same += 1
            else:
                different.append(f"{entity}/p{number}.{name}: {str(value)[:60]} -> {str(other[target])[:60]}")
    return wrong, same, different


def line(model):
    """The versions from the first to the last that a store takes: each on the highest one that it is based on."""
    compiled = os.path.join(os.path.dirname(model), "model.json")
    return [Version(each) for each in json.load(open(compiled))["versions"]]


def stop(setting, store, model):
    """What ends a migration, in words; None for nothing."""
    copy = store + ".copy"
    for end in ("", "-wal"):
        if os.path.exists(store + end):
            shutil.copyfile(store + end, copy + end)
    done = run(setting.cdstore, "migrate", copy, "--model", model)
    if done.code == 0:
        return None
    text = done.tail(4000)
    return f"({done.code}) " + text[max(text.find("cannot be migrated"), 0):][:400]


def confirmed(steps):
    return sum(change["resolution"] == "confirmed" for step in steps for change in step["changes"])


def prove(setting, bundle, model, counts, answered):
    folder = os.path.dirname(model)
    done = run(setting.cdgen, "compile", model, "--output", os.path.join(folder, "model.json"))
    if done.code != 0:
        return False, ["", f"NOT COMPILED ({done.code}): {done.tail()}"]
    versions = line(model)
    first, last = versions[0].json["number"], versions[-1].json["number"]
    filled = Objects(versions[0], PER_ENTITY)
    file, store = os.path.join(folder, "rows.json"), os.path.join(folder, "store.sqlite")
    with open(file, "w") as out:
        json.dump(filled.json(), out)
    made = run(setting.cdstore, "create", store, "--model", model, "--version", first)
    if made.code == 0:
        made = run(setting.cdstore, "load", store, file)
    if made.code != 0:
        return False, [len(filled.rows), f"NOT FILLED ({made.code}): {made.tail()}"]
    stopped = stop(setting, store, model)
    answers = Answers(setting, model, versions)
    losses = confirmed(answers.steps(first, last))
    if stopped:
        left = answers.answer(first, last)
        if left:
            return False, [len(filled.rows), stopped, f"NO ANSWER: {'; '.join(left)[:400]}"]
    steps = answers.steps(first, last)
    given = collections.Counter(text.split(" (")[0] for text in answers.given)
    given["loss"] = max(confirmed(steps) - losses, 0)
    shown = ", ".join(f"{count} {name}" for name, count in given.items() if count) or "none"
    answered[bundle.name] = (model, versions, answers)
    return travel(setting, model, store, (versions[0], versions[-1]), steps, [len(filled.rows), stopped or "no", shown], counts)


def travel(setting, model, store, versions, steps, cells, counts):
    """Migrates a store to the last version and compares what it holds."""
    concrete = lambda version: [name for name, entity in version.entities.items() if not entity.get("abstract")]
    before = rows(setting, store, concrete(versions[0]))
    done = run(setting.cdstore, "migrate", store, "--model", model, "--verify", "--format", "json")
    try:
        found = json.loads(done.output)["findings"]
    except (ValueError, KeyError):
        found = None
    others = [each for each in found or [] if "fewer or more than allowed" not in each]
    if found is None or others:
        return False, cells + [f"FAILED ({done.code}): " + ("; ".join(others[:4]) or done.tail(500))]
    after = rows(setting, store, concrete(versions[1]))
    chain = Chain(versions[0], steps)
    wrong, same, different = compared(before, after, chain)
    counts["values"] += same
    counts["objects"] += len(before)
    living = f"{len(chain.entities)} of {len(Chain(versions[0], []).entities)}"
    if chain.unclear:
        living += f" ({len(chain.unclear)} left out)"
    return not wrong and not different, cells + [
        f"ok, {len(found)} counts" if found else "ok", living, "; ".join(wrong) or "ok",
        f"{same}, {len(different)} differ" + (": " + "; ".join(different[:4]) if different else ""), f"{done.seconds:.1f}"]


def real(setting, table, counts, answered):
    """The stores of STORES.tsv, converted, and migrated as those that were filled."""
    path = os.path.join(setting.corpus, "STORES.tsv")
    for line in open(path).read().splitlines()[1:] if os.path.exists(path) else []:
        cells = line.split("\t")
        fitting = cells[12].partition(": ")[2].split(" | ")[-1] if len(cells) > 12 else ""
        model, versions, answers = answered.get(os.path.dirname(fitting), (None, None, None))
        if model is None:
            continue
        label = os.path.basename(fitting)
        number = next((each.json["number"] for each in versions if each.label == label), None)
        store = os.path.join(os.path.dirname(model), "real.sqlite")
        for end in ("", "-wal", "-shm"):
            if os.path.exists(store + end):
                os.remove(store + end)
        done = run(setting.cdstore, "convert", os.path.join(setting.corpus, cells[1]), store, "--model", model,
                   "--version", number, "--accept-losses")
        counts["stores"] += 1
        if done.code != 0:
            table.add(cells[1], "", "", f"NOT CONVERTED ({done.code}): {done.tail()}")
            continue
        last = versions[-1].json["number"]
        steps = answers.steps(number, last) if number != last else []
        first = next(each for each in versions if each.json["number"] == number)
        isGood, rest = travel(setting, model, store, (first, versions[-1]), steps, ["", "", ""], counts)
        counts["whole"] += isGood
        table.add(cells[1], f"{number} to {last}", *rest)


def main(setting):
    table = Table("chains", ["bundle", "versions", "objects", "stopped", "answers", "verified", "living", "counts", "values",
                             "seconds"], LEGEND)
    known = bundles.table(setting.corpus)
    counts, answered = collections.Counter(), {}
    for bundle in bundles.find(setting.corpus, setting.names):
        files = bundle.files()
        if len(files) < 2:
            continue
        counts["bundles"] += 1
        model, _, done = models.imported(setting, bundle, known.get(bundle.name, []))
        if model is None:
            table.add(bundle.name, len(files), f"IMPORT FAILED ({done.code}): {done.tail()}")
            continue
        try:
            isGood, cells = prove(setting, bundle, model, counts, answered)
        except (RuntimeError, ValueError, KeyError) as error:
            isGood, cells = False, ["", f"SCRIPT FAILED: {error!r}"]
        counts["good"] += isGood
        counts["plain"] += isGood and cells[1] == "no"
        table.add(bundle.name, len(files), *cells)
    real(setting, table, counts, answered)
    table.sums.append(f"{counts['whole']} of {counts['stores']} real stores, converted, go through and are whole")
    table.sums.append(f"{counts['good']} of {counts['bundles']} chains go through and are whole, {counts['plain']} as imported; "
                      f"{counts['objects']} objects, {counts['values']} values and references compared")
    return table, counts["good"] == counts["bundles"] and counts["whole"] == counts["stores"]
