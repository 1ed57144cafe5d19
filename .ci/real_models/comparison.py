"""Compares two of Xcode's models, element by element. Shares no code with cdgen."""
import collections, re

FLAGS = {"optional", "transient", "isAbstract", "toMany", "ordered", "derived", "indexed",
         "allowsExternalBinaryDataStorage"}
EMPTY = {"versionHashModifier", "predicateString", "regularExpressionString"}
MERGED = {"compoundIndexes", "uniquenessConstraints", "userInfo"}


def meaning(element, name, value):
    """A value in a form in which equal meanings are equal."""
    kind = element.get("attributeType")
    if name in FLAGS:
        return "NO" if value in (None, "NO") else value
    if value is None or (name in EMPTY and value == ""):
        return None
    if name in ("defaultValueString", "minValueString", "maxValueString"):
        try:
            if kind in ("Double", "Float", "Decimal"):
                return float(value)
        except ValueError:
            pass
        if kind == "Boolean":
            return {"yes": "1", "true": "1", "no": "0", "false": "0"}.get(value.lower(), value)
    if name.endswith("DateTimeInterval"):
        return float(value)
    if name in ("predicateString", "derivationExpression"):
        # Spelling is free: other words for one operator, blanks, brackets, quotes.
        text = re.sub(r"&&", " AND ", value)
        text = re.sub(r"\|\|", " OR ", text)
        text = re.sub(r"(?<![=!<>])=(?!=)", "==", text)
        text = re.sub(r"\btrue\b", "yes", re.sub(r"\bfalse\b", "no", text, flags=re.I), flags=re.I)
        return re.sub(r"[\s()\"']", "", text).lower().replace("null", "nil")
    return value


def children(element):
    """The elements within one, by what tells them apart."""
    result = collections.defaultdict(list)
    for child in element:
        if child.tag == "elements" and element.tag == "model":
            continue  # places in the editor
        if child.tag in MERGED:
            for part in child:
                key = (child.tag, part.get("key")) if child.tag == "userInfo" else (child.tag, "")
                result[key].append(part)
        else:
            result[(child.tag, child.get("name") or child.get("property") or "")].append(child)
    return result


def differences(before, after, path=""):
    """What differs between two elements, a text each."""
    here = f"{path}/{before.tag}[{before.get('name') or before.get('value') or ''}]"
    if before.tag != after.tag:
        return [f"{here}: is {after.tag}"]
    found = []
    for name in sorted(set(before.attrib) | set(after.attrib)):
        old, new = meaning(before, name, before.get(name)), meaning(after, name, after.get(name))
        if old != new:
            found.append(f"{here}@{name}: {before.get(name)!r} -> {after.get(name)!r}")
    left, right = children(before), children(after)
    for key in sorted(set(left) | set(right), key=str):
        old, new = left.get(key, []), right.get(key, [])
        if len(old) != len(new):
            found.append(f"{here}: {len(old)} of {key}, {len(new)} after")
            continue
        if key[0] in ("uniquenessConstraints", "compoundIndexes"):
            order = lambda e: [c.get("value") or "" for c in e]
            old, new = sorted(old, key=order), sorted(new, key=order)
        for one, other in zip(old, new):
            found += differences(one, other, here)
    return found
