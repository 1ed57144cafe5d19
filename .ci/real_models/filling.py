"""Makes objects for a version of a model: some of each entity, with values within the rules, and related."""
import base64


class Version:
    """A version of a model as 'cdgen compile' writes it."""

    def __init__(self, json):
        self.json = json
        self.label = json.get("label", str(json["number"]))
        self.entities = {entity["name"]: entity for entity in json.get("entities", [])}
        self.composites = {composite["name"]: composite for composite in json.get("composites", [])}

    def lineage(self, name):
        while name:
            yield self.entities[name]
            name = self.entities[name].get("parent")

    def root(self, name):
        return list(self.lineage(name))[-1]["name"]

    def attributes(self, name):
        return [each for entity in self.lineage(name) for each in entity.get("attributes", [])
                if not each.get("transient") and not each.get("derived")]

    def relationships(self, name):
        return [each for entity in self.lineage(name) for each in entity.get("relationships", [])]

    def unique(self, name):
        return {key for entity in self.lineage(name) for keys in entity.get("unique", []) for key in keys}

    def concrete(self, name):
        """An entity and those below it that have objects of their own."""
        return [each for each in self.entities if not self.entities[each].get("abstract")
                and any(entity["name"] == name for entity in self.lineage(each))]

    def inverse(self, relationship):
        name = relationship.get("inverse")
        return next((each for each in self.relationships(relationship["to"]) if each["name"] == name), None)


def value(version, attribute, number):
    """The JSON of a value for an attribute, another one for each number; None where none is to be made up."""
    kind = attribute["type"]
    if isinstance(kind, dict):
        if "composite" in kind:
            fields = version.composites[kind["composite"]]["fields"]
            return {field["name"]: value(version, field, number) for field in fields}
        text = kind.get("codable", "")
        return {} if ":" in text else [] if text[:1] == "[" or text.startswith("Set<") else {"n": number}
    if attribute.get("pattern"):
        return None
    least, most = attribute.get("min"), attribute.get("max")
    unwrap = lambda bound: float(next(iter(bound.values()))) if isinstance(bound, dict) else float(bound)

    def within(wanted):
        if most is not None:
            wanted = min(wanted, unwrap(most))
        return max(wanted, unwrap(least)) if least is not None else wanted

    if kind == "String":
        text = f"text {number} é"
        text += "x" * (attribute.get("minLength", 0) - len(text))
        return text[:attribute["maxLength"]] if "maxLength" in attribute else text
    if kind == "Bool":
        return number % 2 == 1
    if kind in ("Int16", "Int32", "Int64"):
        return int(within(number))
    if kind in ("Double", "Float"):
        return {"$double": within(number + 0.5)}
    if kind == "Decimal":
        return {"$decimal": str(within(number + 0.25))}
    if kind == "Date":
        return {"$date": 978307200 + within(number * 1000 + 0.5)}
    if kind == "Data":
        return {"$data": base64.b64encode(b"data %d" % number).decode()}
    if kind == "UUID":
        return {"$uuid": f"00000000-0000-4000-8000-{number:012d}"}
    return f"https://example.org/{number}"


class Objects:
    """Objects of a version, and who is related to whom on both sides."""

    def __init__(self, version, count):
        self.version, self.number = version, 0
        self.rows, self.related = {}, {}
        for name, entity in version.entities.items():
            if not entity.get("abstract"):
                for _ in range(count):
                    self.make(name)
        # Mandatory ones first, so that they find objects that are free.
        every = [(key, each) for key in list(self.rows) for each in version.relationships(key[0])]
        for key, each in sorted(every, key=lambda pair: (pair[1].get("optional", False), pair[1].get("toMany", False))):
            self.relate(key, each)

    def make(self, name):
        self.number += 1
        key = (name, f"{name}-{self.number}")
        row = {"@id": key[1]}
        for attribute in self.version.attributes(name):
            made = value(self.version, attribute, self.number)
            if made is not None:
                row[attribute["name"]] = made
        self.rows[key] = row
        return key

    def partners(self, key, name):
        return self.related.setdefault((key, name), [])

    def relate(self, key, relationship):
        name, inverse = relationship["name"], self.version.inverse(relationship)
        least, isMany = relationship.get("minCount", 0), relationship.get("toMany")
        wanted = max(least, 2 if isMany and relationship.get("optional") else 1)
        mine = self.partners(key, name)
        candidates = [each for each in list(self.rows) if each[0] in self.version.concrete(relationship["to"])]
        start = list(self.rows).index(key) % max(len(candidates), 1)
        for other in candidates[start:] + candidates[:start]:
            if len(mine) >= wanted or not self.link(key, relationship, inverse, other):
                continue
        needed = max(least, 0 if isMany or relationship.get("optional") else 1)
        concrete = self.version.concrete(relationship["to"])
        while len(mine) < needed and concrete and self.number < 20_000:
            other = self.make(concrete[0])
            if not self.link(key, relationship, inverse, other):
                break
            for each in self.version.relationships(other[0]):
                if not each.get("optional") and (other, each["name"]) not in self.related:
                    self.relate(other, each)

    def link(self, key, relationship, inverse, other):
        """Whether two objects could be related."""
        mine = self.partners(key, relationship["name"])
        if other in mine:
            return False
        if inverse is not None:
            if inverse["name"] not in [each["name"] for each in self.version.relationships(other[0])]:
                return False
            if not any(entity["name"] == inverse["to"] for entity in self.version.lineage(key[0])):
                return False
            theirs = self.partners(other, inverse["name"])
            if key in theirs or (theirs and not inverse.get("toMany")):
                return False
            if len(theirs) >= inverse.get("maxCount", 1 << 31):
                return False
            theirs.append(key)
        mine.append(other)
        return True

    def json(self):
        """What 'cdstore load' reads."""
        result = {}
        for key, row in self.rows.items():
            for each in self.version.relationships(key[0]):
                others = [other[1] for other in self.related.get((key, each["name"]), [])]
                inverse = self.version.inverse(each)
                # One side says it: the one that is to-one, or else both alike.
                if each.get("toMany"):
                    if inverse is None or inverse.get("toMany"):
                        row[each["name"]] = others
                elif others:
                    row[each["name"]] = others[0]
            result.setdefault(key[0], []).append(row)
        return result
