"""Makes small models of Xcode's, mapping models and stores of Core Data, for cases of the project's own.

Shares no code with cdgen. The form of each file is that of real ones.
"""
import base64, os, plistlib, sqlite3
from xml.sax.saxutils import escape, quoteattr

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MODEL = ('<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22758" '
         'systemVersion="23F79" minimumToolsVersion="Automatic" sourceLanguage="Swift" '
         'userDefinedModelVersionIdentifier="">\n')


# MARK: Models

def tag(kind, children="", /, **attributes):
    """An element; an attribute without a value is left out."""
    text = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items() if value is not None)
    return f"<{kind}{text}>{children}</{kind}>\n" if children else f"<{kind}{text}/>\n"


def attribute(name, kind="String", default=None, optional=True):
    scalar = None if kind in ("String", "Date") else "YES"
    return tag("attribute", name=name, optional="YES" if optional else None, attributeType=kind, defaultValueString=default,
               usesScalarValueType=scalar)


def to_one(name, entity, inverse, rule="Nullify", optional=True):
    return tag("relationship", name=name, optional="YES" if optional else None, maxCount="1", deletionRule=rule,
               destinationEntity=entity, inverseName=inverse, inverseEntity=entity)


def to_many(name, entity, inverse, rule="Nullify", optional=True):
    return tag("relationship", name=name, optional="YES" if optional else None, toMany="YES", deletionRule=rule,
               destinationEntity=entity, inverseName=inverse, inverseEntity=entity)


def entity(name, *properties, parent=None, abstract=False):
    return tag("entity", "\n" + "".join(properties), name=name, representedClassName=name,
               isAbstract="YES" if abstract else None, parentEntity=parent, syncable="YES")


def write(path, contents):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(contents if isinstance(contents, bytes) else contents.encode())
    return path


def bundle(folder, name, versions, current=None):
    """An .xcdatamodeld with versions: names, each with the text of its entities."""
    path = os.path.join(folder, name + ".xcdatamodeld")
    for version, entities in versions.items():
        write(os.path.join(path, version + ".xcdatamodel", "contents"), HEAD + MODEL + "".join(entities) + "</model>\n")
    if current is not None:
        write(os.path.join(path, ".xccurrentversion"), current)
    return path


# MARK: Mapping models

def base(path, name, *objects):
    element = lambda type, id, values, links: tag(
        "object", "".join(tag("attribute", escape(value), name=key, type="string") for key, value in values.items() if value)
        + "".join(tag("relationship", name=key, idrefs=" ".join(ids)) for key, ids in links.items()), type=type, id=id)
    text = "".join(element(*each) for each in objects)
    return write(os.path.join(path, name + ".xcmappingmodel", "xcmapping.xml"),
                 '<?xml version="1.0" standalone="yes"?>\n'
                 '<!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">\n\n'
                 f"<database>\n{text}</database>\n")


def mapping(source, destination, attributes=None, policy=None, filter=None):
    """An entity mapping; each of its attributes has an archive."""
    return source, destination, attributes or {}, policy, filter


def mapping_model(folder, model, source, destination, *mappings):
    """An .xcmappingmodel from one version of a model to another."""
    path = f"App/{model}.xcdatamodeld/"
    objects = [("XDDEVMAPPINGMODEL", "m", {"sourcemodelpath": f"{path}{source}.xcdatamodel",
                                           "destinationmodelpath": f"{path}{destination}.xcdatamodel"},
                {"entitymappings": [f"e{number}" for number in range(len(mappings))]})]
    for number, (old, new, attributes, policy, filter) in enumerate(mappings):
        values = {"sourcename": old, "destinationname": new, "name": f"{old}To{new}", "mappingnumber": str(number + 1),
                  "migrationpolicyclassname": policy, "sourcefilterpredicatestring": filter}
        names = {name: f"a{number}-{place}" for place, name in enumerate(attributes)}
        objects.append(("XDDEVENTITYMAPPING", f"e{number}", values, {"attributemappings": list(names.values())}))
        for name, id in names.items():
            objects.append(("XDDEVATTRIBUTEMAPPING", id, {"name": name, "valueexpressiondata": attributes[name]}, {}))
    return base(folder, f"{source}To{destination}", *objects)


# MARK: Archives of expressions

class Archive:
    """A keyed archive of an expression, as Xcode keeps it in a mapping model."""

    def __init__(self):
        self.objects, self.classes = ["$null"], {}

    def add(self, value):
        self.objects.append(value)
        return plistlib.UID(len(self.objects) - 1)

    def kind(self, *names):
        if names not in self.classes:
            self.classes[names] = self.add({"$classname": names[0], "$classes": list(names)})
        return self.classes[names]

    def expression(self, kind, **values):
        return self.add({"$class": self.kind(kind, "NSExpression", "NSObject"), **values})

    def list(self, *values):
        return self.add({"$class": self.kind("NSArray", "NSObject"), "NS.objects": list(values)})

    def constant(self, value):
        return self.expression("NSConstantValueExpression", NSExpressionType=0, NSConstantValue=self.add(value))

    def variable(self, name):
        return self.expression("NSVariableExpression", NSExpressionType=2, NSVariable=self.add(name))

    def path(self, keys):
        """$source.keys"""
        keys = self.expression("NSKeyPathSpecifierExpression", NSExpressionType=10, NSKeyPath=self.add(keys))
        return self.expression("NSKeyPathExpression", NSExpressionType=4, NSOperand=self.variable("source"),
                               NSSelectorName=self.add("valueForKeyPath:"), NSArguments=self.list(keys))

    def call(self, operand, selector, *arguments):
        """FUNCTION(operand, selector, arguments)"""
        return self.expression("NSFunctionExpression", NSExpressionType=4, NSOperand=operand,
                               NSSelectorName=self.add(selector), NSArguments=self.list(*arguments))

    def function(self, selector, *arguments):
        """One of the functions of predicates, such as now()."""
        utilities = self.expression("NSConstantValueExpression", NSExpressionType=0,
                                    NSConstantValueClassName=self.add("_NSPredicateUtilities"))
        return self.call(utilities, selector, *arguments)

    def data(self, root):
        return plistlib.dumps({"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": root},
                               "$objects": self.objects}, fmt=plistlib.FMT_BINARY, sort_keys=False)


def archived(make):
    """The Base64 of an archive, which a function makes in it."""
    archive = Archive()
    return base64.b64encode(archive.data(make(archive))).decode()


def constant(value):
    return archived(lambda archive: archive.constant(value))


def path(keys):
    return archived(lambda archive: archive.path(keys))


def function(selector):
    return archived(lambda archive: archive.function(selector))


def policy_call(selector, keys):
    return archived(lambda archive: archive.call(archive.variable("entityPolicy"), selector, archive.path(keys)))


def doubled(levels):
    """An archive of calls, each of which has the next one as its operand and as its argument."""
    def make(archive):
        inner = archive.variable("source")
        for _ in range(levels):
            inner = archive.call(inner, "f:", inner)
        return inner
    return archived(make)


def doubled_lists(levels):
    """An archive whose property list has lists, each of which has the next one twice."""
    inner = ["x"]
    for _ in range(levels):
        inner = [inner, inner]
    return base64.b64encode(plistlib.dumps({"$top": {"root": plistlib.UID(1)}, "$objects": ["$null", inner]},
                                           fmt=plistlib.FMT_BINARY)).decode()


# MARK: Stores

def current(version):
    """The text of an .xccurrentversion."""
    return plistlib.dumps({"_XCCurrentVersionName": version + ".xcdatamodel"})


def store(path, columns, rows):
    """A store of Core Data with one entity Note: the types of its columns by their names, and rows of values."""
    with open(path, "wb"):
        pass
    database = sqlite3.connect(path)
    names = "".join(f", {name} {kind}" for name, kind in columns.items())
    database.execute(f"CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER{names})")
    database.execute("CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)")
    database.execute("CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)")
    database.execute("INSERT INTO Z_PRIMARYKEY VALUES (1, 'Note', 0, ?)", [len(rows)])
    for number, row in enumerate(rows):
        database.execute(f"INSERT INTO ZNOTE VALUES ({number + 1}, 1, 1{', ?' * len(row)})", row)
    metadata = plistlib.dumps({"NSPersistenceFrameworkVersion": 1333}, fmt=plistlib.FMT_BINARY)
    database.execute("INSERT INTO Z_METADATA VALUES (1, '6F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F55', ?)", [metadata])
    database.commit()
    database.close()
    return path
