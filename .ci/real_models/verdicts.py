"""Part 'verdicts': what each step does to stored data, compared with PAIRS.tsv."""
import collections, json, os
from . import bundles, models
from .filling import Version
from .tools import Table, run

LEGEND = """
verdict   what 'cdgen diff' says of the step as it was imported:
            automatic  nothing is needed and nothing lost
            loses      something is lost, and the import has confirmed it, since Core Data let go of it too
            rule       a rule is needed, and a mapping model of Xcode's has it, or names the app's own code
            question   something is open: a loss that may be a renaming, or a value that nothing gives
PAIRS     the class in PAIRS.tsv, which knows no loss: plain lightweight (Core Data does it alone), more (it does not),
          not stored, no change; 'not there' for pairs that the table, with another order, has not
reasons   what lies between the two, a word for each change of ours that is not automatic, and for each remark of the
          table that asks for more than we do:
            drops      something is gone. Core Data lets go of it and calls that lightweight; here it is a loss
            renamed?   the same, while something came that it may have become: asked
            value      mandatory, and older objects have no value: both say so
            given      a rule of Xcode's mapping model, or the app's own code, answers
            undecided  an expression of Xcode's mapping model cannot be taken over, and is asked for
            type       another type, and values may not fit or lose digits: both say so
            widened    another type that holds every value of the old one: more for Core Data, automatic here
            unordered  an order that is no longer kept: lightweight for Core Data, a loss here
            pairs      relationships that had objects of their own become inverses: Core Data lets the last one win
            leads      a relationship leads to other objects than before
            many       a mandatory to-many relationship, which may be empty: more in the table, automatic here
            follows    a mandatory relationship whose objects follow from its inverse, or of an entity that is new and
                       has no objects yet: more in the table, automatic here
            moved      what a parent declared, its subentities declare now, unique constraints with it: more in the table,
                       automatic here
            loosened   a unique constraint that is gone: more in the table, automatic here
            unique     a unique constraint that is new
            renamed    told by renaming identifiers: more in the table, automatic here
            NONE       none of these: to be looked at
"""

OURS = {
    "attributeRemoved": "drops", "relationshipRemoved": "drops", "entityRemoved": "drops", "entityUnmapped": "drops",
    "entityBecameAbstract": "drops", "objectsFiltered": "drops", "attributeBecameTransient": "drops",
    "entityLeftConfiguration": "drops", "attributeAdded": "value", "attributeBecameMandatory": "value",
    "relationshipAdded": "value", "relationshipBecameMandatory": "value", "attributeBecameStored": "value",
    "attributeTypeChanged": "type", "codableChanged": "type", "relationshipBecameUnordered": "unordered",
    "inverseChanged": "pairs", "relationshipDestinationChanged": "leads", "relationshipBecameToOne": "leads",
    "uniqueConstraintAdded": "unique", "undecided": "undecided", "ownedObjectsLeft": "drops",
}
# Remarks of the table that ask for more, and which of our words say the same.
MORE = {
    "attribute added: mandatory WITHOUT default": {"value", "given"},
    "attribute optional -> mandatory WITHOUT default": {"value", "given"},
    "relationship added: mandatory": {"value", "given"},
    "attribute type change": {"type", "given"},
    "uniqueness constraint change": {"unique", "given"},
    "POSSIBLE attribute rename without elementID (removed+added, same type, same entity)": {"renamed?", "drops", "given"},
    "POSSIBLE entity rename without elementID (>": {"renamed?", "drops", "given"},
}


def pairs(corpus):
    """PAIRS.tsv: the class and the remarks of a pair of versions."""
    result = {}
    path = os.path.join(corpus, "PAIRS.tsv")
    for line in open(path).read().splitlines()[1:] if os.path.exists(path) else []:
        fields = line.split("\t")
        remarks = {part.split("=")[0].strip() for part in (fields[6] if len(fields) > 6 else "").split(";")} - {""}
        result[fields[1], fields[2], fields[3]] = (fields[4].replace("needs more than a plain add/remove", "more"), remarks)
    return result


def steps(setting, model):
    """All steps from each version to those based on it: 'cdgen diff' goes one way, and versions may branch."""
    compiled = os.path.join(os.path.dirname(model), "model.json")
    done = run(setting.cdgen, "compile", model, "--output", compiled)
    if done.code != 0:
        return {}, [], done
    versions = json.load(open(compiled))["versions"]
    known = {version["number"]: Version(version) for version in versions}
    found = {}

    def add(first, last):
        done = run(setting.cdgen, "diff", model, "--from", first, "--to", last, "--format", "json")
        for step in json.loads(done.output or "[]"):
            found[step["from"], step["to"]] = step

    add(versions[0]["number"], versions[-1]["number"])
    wanted = [(base, version["number"]) for version in versions for base in version.get("basedOn", [])]
    for first, last in wanted:
        if (first, last) not in found:
            add(first, last)
    return known, [found[pair] for pair in wanted if pair in found], done


def verdict(step):
    changes = step.get("changes", [])
    if any(change["resolution"] == "open" for change in changes) or any(
            problem["severity"] == "error" for problem in step.get("problems", [])):
        return "question"
    verdicts = {change["verdict"] for change in changes}
    return "rule" if "needsRule" in verdicts else "loses" if "losesData" in verdicts else "automatic"


def word(change):
    """The reason for a change of ours that is not automatic."""
    if change["resolution"] in ("mapped", "custom"):
        return "given"
    own = OURS.get(change["kind"], "NONE")
    return "renamed?" if own == "drops" and change["resolution"] == "open" else own


def mandatory(change, version):
    """The relationship of a change, if it is mandatory in Xcode, which is kept aside where it may be empty all the same."""
    names = change["element"].split("'")
    found = version.relationships(names[3]) if len(names) > 4 and names[3] in version.entities else []
    flag = lambda each: each.get("info", {}).get("xcode.optional", "YES" if each.get("optional") else "NO")
    return next((each for each in found if each["name"] == names[1] and flag(each) in ("NO", "(none)")), None)


def reasons(step, remarks, version):
    changes = step.get("changes", [])
    found = [word(change) for change in changes if change["verdict"] != "automatic"]
    kinds = collections.Counter(change["kind"] for change in changes if change["verdict"] == "automatic")
    added = [mandatory(change, version) for change in changes if change["verdict"] == "automatic" and change["kind"].startswith("relationship")]
    for remark, words in MORE.items():
        if remark not in remarks or words & set(found):
            continue
        if remark == "attribute type change" and kinds["attributeTypeChanged"]:
            found.append("widened")
        elif remark == "uniqueness constraint change" and kinds["uniqueConstraintRemoved"]:
            found.append("loosened")
        elif remark.startswith("POSSIBLE") and (kinds["attributeRenamed"] or kinds["entityRenamed"]):
            found.append("renamed")
        elif remark == "relationship added: mandatory" and any(added):
            found += ["many" if each.get("toMany") else "follows" for each in added if each]
        elif kinds["attributeMoved"] and remark in ("attribute added: mandatory WITHOUT default", "uniqueness constraint change"):
            found.append("moved")
        elif step.get("mapping"):
            found.append("given")
        else:
            found.append("NONE")
    return found


def main(setting):
    table = Table("verdicts", ["bundle", "from", "to", "verdict", "PAIRS", "reasons", "changes"], LEGEND)
    known, others = bundles.table(setting.corpus), pairs(setting.corpus)
    verdicts, words, cross = collections.Counter(), collections.Counter(), collections.Counter()
    seen, lost = set(), 0
    for bundle in bundles.find(setting.corpus, setting.names):
        if len(bundle.files()) < 2:
            continue
        model, _, done = models.imported(setting, bundle, known.get(bundle.name, []))
        versions, all, done = steps(setting, model) if model else ({}, [], done)
        if not all:
            lost += 1
            table.add(bundle.name, "", "", f"NONE ({done.code}): {done.tail()}")
        for step in all:
            pair = (bundle.name, versions[step["from"]].label, versions[step["to"]].label)
            seen.add(pair)
            theirs, remarks = others.get(pair, ("not there", set()))
            own, why = verdict(step), reasons(step, remarks, versions[step["to"]])
            shown = [f"{change['element']} {change['kind']}" for change in step.get("changes", []) if change["verdict"] != "automatic"]
            if theirs in ("no change", "not stored (cosmetic/validation only)") and own != "automatic" and not why:
                why = ["NONE"]
            verdicts[own] += 1
            cross[own, theirs] += 1
            words.update(why)
            counted = " ".join(f"{count} {name}" for name, count in sorted(collections.Counter(why).items()))
            table.add(*pair, own, theirs, counted, "; ".join(shown[:12]) + (" …" if len(shown) > 12 else ""))
    missing = [pair for pair in others if pair not in seen and (not setting.names or any(name in pair[0] for name in setting.names))]
    for pair in missing:
        table.add(*pair, "no step", others[pair][0], "order", "the versions do not follow each other in the order that was given")
    table.sums.append(f"{sum(verdicts.values())} steps: " + ", ".join(f"{count} {name}" for name, count in verdicts.most_common()))
    table.sums += [f"{count} {own} where PAIRS has '{theirs}'" for (own, theirs), count in sorted(cross.items())]
    table.sums.append(f"{len(missing)} pairs of PAIRS.tsv are no steps")
    table.sums.append("reasons: " + ", ".join(f"{count} {name}" for name, count in words.most_common()))
    return table, not lost and not words["NONE"]
