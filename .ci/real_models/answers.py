"""Answers what a step leaves open, as its author might by hand: losses are meant, values are made up."""
import json, os
import yaml
from .tools import run

# An expression for a value of each type.
PLAIN = {"String": "''", "Bool": "NO", "Int16": "0", "Int32": "0", "Int64": "0", "Float": "0.0", "Double": "0.0",
         "Decimal": "CAST(0, 'Decimal')", "Date": "now()", "UUID": "uuid()", "URL": "CAST('https://example.org', 'URL')",
         "Data": "CAST(uuid(), 'Data')"}


class Answers:
    """Mapping files of a model, and what was added to them."""

    def __init__(self, setting, model, versions):
        self.setting, self.model = setting, model
        self.versions = {version.json["number"]: version for version in versions}
        self.given = []

    def steps(self, first, last):
        done = run(self.setting.cdgen, "diff", self.model, "--from", first, "--to", last, "--format", "json")
        return json.loads(done.output or "[]")

    def answer(self, first, last):
        """Answers until nothing is open; what cannot be answered."""
        for _ in range(6):
            run(self.setting.cdgen, "diff", self.model, "--from", first, "--to", last, "--accept")
            left = []
            for step in self.steps(first, last):
                rules = self.read(step)
                for change in step.get("changes", []):
                    if change["resolution"] == "open" and not self.open(change, step, rules):
                        left.append(f"{step['from']}-{step['to']}: {change['message']}")
                    elif change["resolution"] == "custom":
                        self.uncustom(step, rules)
                for each in step.get("entityMappings", []):
                    if each["kind"] == "custom":
                        self.uncustom(step, rules)
                self.write(step, rules)
            resolutions = {change["resolution"] for step in self.steps(first, last) for change in step["changes"]}
            if not resolutions & {"open", "custom"}:
                return []
        return left or ["answers bring up further questions"]

    # MARK: Files

    def path(self, step):
        return os.path.join(self.model, f"{step['from']}-{step['to']}.mapping.yaml")

    def read(self, step):
        path = self.path(step)
        return (yaml.load(open(path), yaml.BaseLoader) or {}) if os.path.exists(path) else {}

    def write(self, step, rules):
        before = self.read(step)
        if json.dumps(rules) != json.dumps(before):
            with open(self.path(step), "w") as out:
                yaml.safe_dump(rules, out, allow_unicode=True, sort_keys=False, width=10_000)

    def rules(self, rules, entity):
        """All mappings for an entity."""
        found = rules.setdefault("entities", {}).setdefault(entity, {})
        return found if isinstance(found, list) else [found]

    # MARK: Answers

    def note(self, kind, step, text):
        self.given.append(f"{kind} ({step['from']}-{step['to']} {text})")

    def uncustom(self, step, rules):
        """The app's own code cannot run here: what is inferred stands in for it."""
        for entity, all in rules.get("entities", {}).items():
            for rule in all if isinstance(all, list) else [all]:
                if rule.pop("policy", None):
                    self.note("no code", step, entity)

    def open(self, change, step, rules):
        """Whether there is an answer to a change."""
        kind, names = change["kind"], change["element"].split("'")
        new = self.versions[step["to"]]
        entity, name = (names[3], names[1]) if len(names) > 4 else (names[1] if len(names) > 1 else "", "")
        if kind == "undecided":
            # What is inferred will do; where it does not, that is the next question.
            found = [rule for rule in self.rules(rules, entity) if (name or "where") in rule.get("undecided", {})]
            for rule in found:
                del rule["undecided"][name or "where"]
                if not rule["undecided"]:
                    del rule["undecided"]
                self.note("decided", step, f"{entity}.{name or 'where'}")
            return bool(found)
        if kind in ("attributeAdded", "attributeBecameMandatory", "attributeTypeChanged", "attributeBecameStored"):
            attribute = next((each for each in new.attributes(entity) if each["name"] == name), None)
            plain = PLAIN.get(attribute["type"]) if attribute and isinstance(attribute["type"], str) else None
            if plain is None:
                return False
            old = attribute.get("renamedFrom", name)
            text = {"attributeBecameMandatory": f"{old} ?? {plain}",
                    "attributeTypeChanged": f"CAST({old}, '{attribute['type']}', {plain})"}.get(kind, plain)
            for rule in self.rules(rules, entity):
                rule.setdefault("attributes", {})[name] = text
            self.note("value", step, f"{entity}.{name}")
            return True
        if kind in ("relationshipAdded", "relationshipBecameMandatory"):
            to = next(each for each in new.relationships(entity) if each["name"] == name)["to"]
            if not any(each["kind"] == "add" and each["to"] == to for each in step["entityMappings"]) and \
                    to not in rules.get("entities", {}):
                return False
            # What is new is made of what needs it: an object of each.
            for each in new.concrete(entity):
                all = rules.setdefault("entities", {}).setdefault(to, [])
                if isinstance(all, dict):
                    all = rules["entities"][to] = [all]
                all.append({"from": each})
                for rule in self.rules(rules, each):
                    rule.setdefault("relationships", {})[name] = "SELF"
                self.note("object to lead to", step, f"{each}.{name}")
            return True
        if kind == "uniqueConstraintAdded":
            key = change["message"].split(" of '")[0]
            rules.setdefault("onDuplicate", {}).setdefault(entity or name, {})[key] = "keepFirst"
            self.note("equal ones", step, change["message"].split(":")[0])
            return True
        if kind == "relationshipBecameToOne" and ", the inverse of " in change["message"]:
            # Only code could choose one of several: nobody stays related.
            each = next(each for each in new.relationships(entity) if each["name"] == name)
            inverse = new.inverse(each)
            if not all(side.get("optional") for side in (each, inverse)):
                return False
            for owner, side in ((entity, each), (each["to"], inverse)):
                for rule in self.rules(rules, owner):
                    rule.setdefault("relationships", {})[side["name"]] = "nil"
            self.note("side of a pair", step, f"{entity}.{name}")
            return True
        if kind == "inverseChanged":
            # One side tells the other.
            each = next(each for each in new.relationships(entity) if each["name"] == name)
            inverse = new.inverse(each)
            if each.get("toMany") and not inverse.get("toMany") or \
                    each.get("toMany") == inverse.get("toMany") and (entity, name) > (each["to"], inverse["name"]):
                return True
            for rule in self.rules(rules, entity):
                rule.setdefault("relationships", {})[name] = name
            self.note("side of a pair", step, f"{entity}.{name}")
            return True
        return False
