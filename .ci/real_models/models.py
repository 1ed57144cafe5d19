"""Part 'models': each bundle is imported, checked, exported, and compared with what it was."""
import collections, os, re, shutil
import xml.etree.ElementTree as ET
from . import bundles
from .comparison import differences
from .tools import Table, run

LEGEND = """
order     how the order of the versions came about: one version, told by their names, or 'given' in a file
warnings  what could not be taken over as it was
check     ok, or the count of errors of 'cdgen check', each in a line of its own
open      what 'cdgen lock --all' still asks on a copy, each in a line of its own. Nobody but the model's author can
          answer, since Xcode's files do not:
            gone      something is gone, while something came that it may have become: a loss, or a renaming?
            value     a value is wanted that older objects need not have: Core Data ends such a migration with an error
            digits    a conversion that Core Data does not make by itself, and which loses digits or may fail
            equal     values must be unique now, of which older objects may have equal ones
            pairs     two relationships become inverses of each other, and both had objects of their own
            one       several related objects, of which one can stay
            undecided an expression of a mapping model cannot be taken over, and what is inferred may be wrong
            abstract  an entity has become abstract: Core Data lets go of its objects, or did they become others?
            OTHER     none of these: to be looked at
export    identical, or what differs after 'cdgen export'
"""

QUESTIONS = [("gone", r" is gone from version "), ("value", r"(has become|is|: it is) mandatory"),
             ("digits", r" was \w+ and is \w+: "), ("equal", r" must be unique now: "), ("pairs", r"^the inverse of relationship "),
             ("one", r" (has become to-one|is to-one now): "), ("undecided", r" is undecided "), ("abstract", r" has become abstract: ")]


def imported(setting, bundle, rows, scalars="optional", mappings=True):
    """Imports a bundle: the folder of the model, or None; how its order came about; and the run."""
    folder = os.path.join(setting.keep, bundle.key)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    arguments = [setting.cdgen, "import", bundle.path, "--output", folder, "--scalars", scalars, "--accept-losses"]
    files = bundle.files()
    how = "one version"
    if len(files) > 1:
        alone = run(*arguments[:3], "--output", os.path.join(folder, "untold"))
        how = "told by names" if alone.code == 0 else "given"
        entries = bundles.order(bundle, rows)
        if rows or alone.code != 0:
            file = os.path.join(folder, "order.txt")
            with open(file, "w") as out:
                out.write(bundles.text(entries))
            arguments += ["--order", file]
    if mappings:
        # Mapping models lie anywhere in a project.
        arguments += ["--mappings", os.path.join(setting.corpus, bundle.name.split(os.sep)[0])]
    done = run(*arguments)
    model = done.output.split(": ")[0] if done.code == 0 else None
    if model:
        # Xcode's current version may be any; what is looked at here is the way to the last.
        file = os.path.join(model, "model.yaml")
        lines = [line for line in open(file) if not line.startswith("current:")]
        with open(file, "w") as out:
            out.writelines(lines)
    return model, how, done


def compared(bundle, model, folder, setting):
    """What differs between the bundle and what is exported of its model, and how many versions are the same."""
    back = os.path.join(folder, "Back.xcdatamodeld")
    done = run(setting.cdgen, "export", model, "--output", back)
    if done.code != 0:
        return [f"EXPORT FAILED ({done.code}): {done.tail()}"], 0
    written = bundles.Bundle(folder, back).files()
    lost, same = [], 0
    for name, file in bundle.files().items():
        if name not in written:
            lost.append(f"version {name} is gone")
            continue
        found = differences(ET.parse(file).getroot(), ET.parse(written[name]).getroot())
        lost += [f"{name}: {text}" for text in found[:5]]
        same += 0 if found else 1
    return lost, same


def questions(setting, model, folder):
    """What 'cdgen lock --all' asks, with the class of each."""
    copy = os.path.join(folder, "locked", os.path.basename(model))
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(model, copy)
    done = run(setting.cdgen, "lock", "--all", copy)
    found = []
    for line in done.errors.splitlines():
        place, mark, text = line.partition(": error: ")
        if not mark or text.startswith("nothing was locked"):
            continue
        kind = next((name for name, pattern in QUESTIONS if re.search(pattern, text)), "OTHER")
        found.append((kind, place.split(".cdmodel/")[-1] + ": " + text))
    if done.code != 0 and not found:
        found.append(("OTHER", f"({done.code}) {done.tail()}"))
    return found


def main(setting):
    table = Table("models", ["bundle", "versions", "import", "order", "warnings", "check", "open", "export"], LEGEND)
    known = bundles.table(setting.corpus)
    counts, classes = collections.Counter(), collections.Counter()
    for bundle in bundles.find(setting.corpus, setting.names):
        files = bundle.files()
        model, how, done = imported(setting, bundle, known.get(bundle.name, []))
        if not files:
            refused = [why for why, text in (("binary", "binary form"), ("empty", "there is no version in it"))
                       if done.code == 1 and text in done.errors]
            counts["failed"] += not refused
            table.add(bundle.name, 0, f"refused: {refused[0]}" if refused else f"NOT REFUSED ({done.code}): {done.tail()}")
            continue
        counts["bundles"] += 1
        counts["versions"] += len(files)
        if model is None:
            counts["failed"] += 1
            table.add(bundle.name, len(files), f"FAILED ({done.code}): {done.tail()}", how)
            continue
        check = run(setting.cdgen, "check", model)
        mistakes = [line for line in check.errors.splitlines() + check.output.splitlines() if ": error: " in line]
        isGood = check.code == 0 and not mistakes
        asked = questions(setting, model, os.path.dirname(model)) if isGood else []
        lost, same = compared(bundle, model, os.path.dirname(model), setting)
        counts["identical"] += same
        counts["passed"] += isGood
        counts["asking"] += bool(asked)
        counts["failed"] += bool(lost) or not isGood
        table.add(bundle.name, len(files), "ok", how, done.errors.count(": warning: "),
                  "ok" if isGood else f"{len(mistakes)} errors ({check.code})", len(asked), "DIFFERS" if lost else "identical")
        for line in mistakes:
            table.add("", "", "", "", "", line.split(".cdmodel/")[-1])
        for kind, text in asked:
            classes[kind] += 1
            table.add("", "", "", "", "", "", f"{kind}: {text}")
        for text in lost:
            table.add("", "", "", "", "", "", "", "LOST " + text)
    table.sums.append(f"{counts['identical']} of {counts['versions']} versions identical after export")
    table.sums.append(f"{counts['passed']} of {counts['bundles']} bundles pass 'cdgen check'; {counts['asking']} ask something "
                      f"before they can be locked: " + ", ".join(f"{count} {kind}" for kind, count in classes.most_common()))
    return table, not counts["failed"] and not classes["OTHER"]
