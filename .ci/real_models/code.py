"""Part 'code': the classes of each bundle's newest version compile, and a store of it is made."""
import json, os, shutil
from . import bundles, models
from .tools import Table, run

LEGEND = """
history   'whole': code with all versions and their migrations; 'newest': of the newest version alone, since 'cdgen
          check' finds mistakes in the whole
files     files that 'cdgen generate --per-entity' makes; lines of all of them
compile   ok, in Swift 6 mode with all warnings as errors, to the point at which all diagnostics are known
main      the same where the main actor is the default isolation
scalars   the same for an import with --scalars default
store     ok: 'cdstore create' makes a store of the newest version and 'cdstore verify' finds it whole
seconds   of one run of the compiler
"""

OPTIONS = ["-swift-version", "6", "-warnings-as-errors", "-wmo", "-parse-as-library", "-emit-sil", "-o", "/dev/null",
           "-package-name", "cases", "-module-name", "Generated", "-D", "DEBUG"]
for feature in ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]:
    OPTIONS += ["-enable-upcoming-feature", feature]


def compiled(setting, folder, *options):
    """A run of the compiler over the files of a folder."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    maps = [option for name in ["CProcessor", "CSQLite"] for option in (
        "-Xcc", f"-fmodule-map-file={os.path.join(root, 'Sources', name, 'module.modulemap')}")]
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".swift")]
    return run("swiftc", *OPTIONS, "-I", setting.modules, *maps, *options, *files)


def newest(setting, bundle, entries, folder, scalars="optional"):
    """A model with the newest version alone."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    arguments = [setting.cdgen, "import", bundle.path, "--output", folder, "--scalars", scalars]
    if len(entries) > 1:
        file = os.path.join(folder, "order.txt")
        with open(file, "w") as out:
            out.write(entries[-1][0] + "\n")
        arguments += ["--order", file]
    done = run(*arguments)
    return (done.output.split(": ")[0] if done.code == 0 else None), done


def generated(setting, model, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return run(setting.cdgen, "generate", model, "--output", folder, "--per-entity")


def outcome(done):
    return "ok" if done.code == 0 else f"FAILED ({done.code}): {done.tail(400)}"


def main(setting):
    table = Table("code", ["bundle", "entities", "history", "files", "lines", "compile", "main", "scalars", "store",
                           "seconds"], LEGEND)
    known = bundles.table(setting.corpus)
    counts = {"bundles": 0, "good": 0, "whole": 0}
    for bundle in bundles.find(setting.corpus, setting.names):
        if not bundle.files():
            continue
        counts["bundles"] += 1
        entries = bundles.order(bundle, known.get(bundle.name, []))
        model, _, done = models.imported(setting, bundle, known.get(bundle.name, []))
        if model is None:
            table.add(bundle.name, "", f"IMPORT FAILED: {done.tail()}")
            continue
        top = os.path.dirname(model)
        folder = os.path.join(top, "Code")
        history = "whole"
        done = generated(setting, model, folder)
        if done.code != 0:
            history = "newest"
            model, done = newest(setting, bundle, entries, os.path.join(top, "newest"))
            done = generated(setting, model, folder) if model else done
        if done.code != 0:
            table.add(bundle.name, "", history, f"NOT GENERATED ({done.code}): {done.tail()}")
            continue
        files = os.listdir(folder)
        lines = sum(sum(1 for _ in open(os.path.join(folder, name))) for name in files)
        plain = compiled(setting, folder)
        actor = compiled(setting, folder, "-default-isolation", "MainActor")
        other, done = newest(setting, bundle, entries, os.path.join(top, "scalars"), "default")
        scalars = generated(setting, other, os.path.join(top, "ScalarCode")) if other else done
        if scalars.code == 0:
            scalars = compiled(setting, os.path.join(top, "ScalarCode"))
        store = os.path.join(top, "new.sqlite")
        made = run(setting.cdstore, "create", store, "--model", model)
        if made.code == 0:
            made = run(setting.cdstore, "verify", store)
        compiledModel = os.path.join(top, "model.json")
        run(setting.cdgen, "compile", model, "--output", compiledModel)
        entities = len(json.load(open(compiledModel))["versions"][-1].get("entities", []))
        results = [outcome(plain), outcome(actor), outcome(scalars), outcome(made)]
        counts["good"] += results == ["ok"] * 4
        counts["whole"] += history == "whole"
        table.add(bundle.name, entities, history, len(files), lines, *results, f"{plain.seconds:.1f}")
    table.sums.append(f"{counts['good']} of {counts['bundles']} bundles compile in all ways and give a store; "
                      f"{counts['whole']} with their whole history")
    return table, counts["good"] == counts["bundles"]
