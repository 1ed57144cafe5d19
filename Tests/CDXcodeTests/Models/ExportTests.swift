import CDModel
import CDSchema
import Foundation
import Testing

@testable import CDXcode

@Suite("Export to Xcode")
struct ExportTests {
  /// A model with everything that comes out again as it came in, though the schema language cannot say most of it.
  static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="1" systemVersion="2" minimumToolsVersion="Xcode 7.0" userDefinedModelVersionIdentifier="v9" usedWithCloudKit="YES">
        <entity name="Base" isAbstract="YES" syncable="YES"><attribute name="key" attributeType="String" syncable="YES"/></entity>
        <entity name="A" representedClassName=".Thing" parentEntity="Base" versionHashModifier="3" syncable="YES" codeGenerationType="none">
            <attribute name="n" optional="YES" attributeType="Integer 32" minValueString="1" maxValueString="9" defaultValueString="NO" usesScalarValueType="NO" indexed="YES" syncable="YES"/>
            <attribute name="when" attributeType="Date" minDateTimeInterval="0" defaultDateTimeInterval="-978285600" usesScalarValueType="NO" syncable="YES"/>
            <attribute name="code" optional="YES" attributeType="String" regularExpressionString="[A-Z]+" elementID="oldCode" spotlightIndexingEnabled="YES" syncable="YES"><userInfo><entry key="a:b" value="{x}"/></userInfo></attribute>
            <attribute name="paint" optional="YES" attributeType="Transformable" valueTransformerName="Paint" customClassName="UIColor" allowsExternalBinaryDataStorage="YES" syncable="YES"/>
            <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="bs.@count" usesScalarValueType="YES" syncable="YES"/>
            <attribute name="odd" optional="YES" attributeType="Double" derived="YES" derivationExpression="now()" usesScalarValueType="YES" syncable="YES"/>
            <attribute name="place" optional="YES" attributeType="Composite" composite="Place" syncable="YES"/>
            <relationship name="bs" optional="YES" toMany="YES" minCount="1" maxCount="4" deletionRule="Cascade" ordered="YES" destinationEntity="B" inverseName="a" inverseEntity="B" syncable="YES"/>
            <relationship name="lost" optional="YES" maxCount="1" deletionRule="No Action" destinationEntity="Nowhere" syncable="YES"/>
            <fetchedProperty name="like" optional="YES"><fetchRequest name="fetchedPropertyFetchRequest" entity="A" predicateString="code = $FETCH_SOURCE.code &amp;&amp; n &gt; 2" fetchLimit="3" resultType="1"/></fetchedProperty>
            <fetchedProperty name="wrong" optional="YES"><fetchRequest name="fetchedPropertyFetchRequest" entity="A" predicateString="nothing == 1"/></fetchedProperty>
            <fetchIndex name="byTwo"><fetchIndexElement property="n" type="Binary" order="descending"/><fetchIndexElement property="code" type="Binary" order="ascending"/></fetchIndex>
            <fetchIndex name="byText"><fetchIndexElement expression="length:(code)" expressionType="String" type="Binary" order="ascending"/></fetchIndex>
            <compoundIndexes><compoundIndex><index value="when"/><index value="code"/></compoundIndex></compoundIndexes>
            <uniquenessConstraints><uniquenessConstraint><constraint value="n"/><constraint value="code"/></uniquenessConstraint><uniquenessConstraint><constraint value="gone"/></uniquenessConstraint></uniquenessConstraints>
            <newThing level="2"><inner>text</inner></newThing>
        </entity>
        <entity name="B" representedClassName="B" syncable="YES">
            <relationship name="a" minCount="1" maxCount="1" deletionRule="Nullify" destinationEntity="A" inverseName="bs" inverseEntity="A" syncable="YES"/>
            <relationship name="half" optional="YES" maxCount="1" deletionRule="Deny" destinationEntity="A" inverseName="bs" inverseEntity="A" syncable="YES"/>
        </entity>
        <composite name="Place"><attribute name="x" attributeType="Double" defaultValueString="0.0" usesScalarValueType="YES"/><attribute name="deep" attributeType="Composite" composite="Place"/></composite>
        <configuration name="Cloud" usedWithCloudKit="YES"><memberEntity name="A"/><memberEntity name="Nobody"/></configuration>
        <fetchRequest name="top ten" entity="A" predicateString="n &gt; $LEAST" fetchLimit="10" includeSubentities="NO"/>
        <fetchRequest name="bad" entity="A" predicateString="(((" />
        <elements><element name="A" positionX="1" positionY="2" width="3" height="4"/></elements>
    </model>
    """

  private static func imported() -> XcodeImport {
    let version = XcodeBundle.Version(name: "M", path: "M/contents", contents: Array(contents.utf8))
    return XcodeImporter(XcodeBundle(name: "M", path: "M.xcdatamodeld", versions: [version])).run(id: UUID())
  }

  /// An element in a form that does not tell the order of attributes and children, nor spellings of one value.
  private static func canonical(_ element: MarkupElement) -> String {
    let names = Set(element.attributes.map(\.name)).filter {
      !AttributeMeaning.areEqual(element[$0], nil, $0, of: element)
    }
    let attributes = names.sorted().map { name in
      var value = element[name] ?? ""
      if name == "predicateString", let predicate = try? FetchPredicate(format: value) {
        value = predicate.canonicalText
      }
      return "\(name)=\(value)"
    }
    // Lists of one kind may come in several pieces.
    var pieces: [String: [String]] = [:]
    var children: [String] = []
    for child in element.children where child.name != "elements" {
      if ["uniquenessConstraints", "compoundIndexes", "userInfo"].contains(child.name) {
        pieces[child.name, default: []] += child.children.map(canonical)
      } else {
        children.append(canonical(child))
      }
    }
    children += pieces.map { "\($0.key)(\($0.value.sorted()))" }
    return "<\(element.name) \(attributes) \(children.sorted()) \(element.text.filter { !$0.isWhitespace })>"
  }

  @Test func whatWasImportedComesOutAsItWas() throws {
    let result = Self.imported()
    let files = result.files.mapValues { Array($0.utf8) }
    let loaded = ModelLoader.load(name: "M", files: files)
    let model = try #require(loaded.model, "\(loaded.diagnostics)")
    #expect(model == result.model)
    let text = try #require(XcodeExporter(model).files["M.xcdatamodel/contents"])
    let before = try MarkupReader.read(Array(Self.contents.utf8))
    let after = try MarkupReader.read(Array(text.utf8))
    #expect(Self.canonical(after) == Self.canonical(before))
  }

  @Test func whatTheLanguageHasNoWordsForIsAWarning() {
    let messages = Self.imported().diagnostics.map(\.message)
    for subject in [
      "attribute 'n' of 'A'", "attribute 'paint' of 'A'", "attribute 'odd' of 'A'",
      "relationship 'lost' of 'A'",
      "relationship 'half' of 'B'", "fetched property 'wrong' of 'A'", "index 'byText' of 'A'",
      "unique constraint over 'gone' of 'A'", "element 'newThing'", "field 'deep' of 'Place'",
      "configuration 'Cloud'",
      "fetch request 'bad'", "attribute 'code' of 'A': 'spotlightIndexingEnabled'",
      "the model: 'usedWithCloudKit'",
    ] { #expect(messages.contains { $0.hasPrefix(subject) }, "\(subject)") }
  }

  @Test func aModelOfOurOwnIsXcodes() throws {
    let yaml = """
      enums: { Level: { type: Int16, cases: { low: 0, high: 1 } } }
      composites: { Size: { width: Double, seal: { type: Data, default: AQI= } } }
      entities:
        Book:
          attributes:
            title: String
            price: { type: Decimal?, min: 0, default: 9.99 }
            level: { type: Level, default: high }
            id: { type: UUID, default: uuid() }
            cover: { type: Data, default: AQI= }
            size: { type: Size, default: { width: 2.5 } }
          relationships: { shelf: { to: Shelf?, inverse: books } }
          indexes: [[title, -price]]
        Shelf: { relationships: { books: { to: [Book], inverse: shelf, onDelete: cascade, count: ...9 } } }
      """
    let files = [
      "model.yaml": "id: \(UUID().uuidString)\n", "1.yaml": yaml,
      "2.yaml": yaml.replacingOccurrences(of: "  Shelf: {", with: "  Case: { renamedFrom: Shelf,")
        .replacingOccurrences(
          of: "Shelf?", with: "Case?"),
      "1-2.mapping.yaml": "entities: { Book: { attributes: { title: uppercase(title) } } }\n",
    ].mapValues { Array($0.utf8) }
    let loaded = ModelLoader.load(name: "Library", files: files)
    let exporter = XcodeExporter(try #require(loaded.unprovenModel, "\(loaded.diagnostics)"))
    #expect(
      exporter.losses == [
        "enums are written as their raw types", "field 'seal' of 'Size': its default is left out",
        "attribute 'id' of 'Book': a default of uuid() is left out",
        "attribute 'cover' of 'Book': its default is left out",
        "attribute 'size' of 'Book': its default is left out",
        "the rules of 1-2.mapping.yaml are left out; Xcode needs a mapping model for them",
      ])
    #expect(
      exporter.files.keys.sorted() == [
        ".xccurrentversion", "Library 2.xcdatamodel/contents", "Library.xcdatamodel/contents",
      ])
    #expect(
      try CurrentVersionFile.name(in: Array((exporter.files[".xccurrentversion"] ?? "").utf8)) == "Library 2")
    let root = try MarkupReader.read(Array((exporter.files["Library 2.xcdatamodel/contents"] ?? "").utf8))
    let book = try #require(root.children("entity").first { $0["name"] == "Book" })
    #expect(
      book.children("attribute").map { $0["attributeType"] } == [
        "String", "Decimal", "Integer 16", "UUID", "Binary", "Composite",
      ])
    #expect(
      book.children("attribute").map { $0["defaultValueString"] } == [nil, "9.99", "1", nil, nil, nil])
    #expect(root.children("entity").first { $0["name"] == "Case" }?["elementID"] == "Shelf")
  }

  /// The root of a version of a model of our own, as it is exported.
  private static func root(of versions: [String], _ number: Int = 1) throws -> MarkupElement {
    let exporter = XcodeExporter(try model(of: versions))
    let name = number == 1 ? "Library" : "Library \(number)"
    return try MarkupReader.read(Array((exporter.files["\(name).xcdatamodel/contents"] ?? "").utf8))
  }

  /// A model of our own with the texts of its versions, the oldest first.
  private static func model(of versions: [String]) throws -> ManagedObjectModel {
    var files = ["model.yaml": Array("id: \(UUID().uuidString)\n".utf8)]
    for (place, text) in versions.enumerated() { files["\(place + 1).yaml"] = Array(text.utf8) }
    let loaded = ModelLoader.load(name: "Library", files: files)
    return try #require(loaded.unprovenModel, "\(loaded.diagnostics)")
  }

  /// The bundle that a model of our own is exported as.
  private static func bundle(of exporter: XcodeExporter) -> XcodeBundle {
    let files = exporter.files
    let names = exporter.model.versions.map { $0.number == 1 ? "Library" : "Library \($0.number)" }
    return XcodeBundle(
      name: "Library", path: "Library.xcdatamodeld",
      versions: names.map { name in
        let text = files["\(name).xcdatamodel/contents"] ?? ""
        return XcodeBundle.Version(name: name, path: "\(name)/contents", contents: Array(text.utf8))
      })
  }

  @Test func expressionsHaveTheRawValuesOfEnumerations() throws {
    let root = try Self.root(of: [
      """
      enums:
        Mood: { type: String, cases: { good: g, bad: b } }
        Level: { type: Int16, cases: { low: 0, high: 1 } }
      entities:
        Book:
          attributes:
            mood: Mood
            level: Level
            rank: { type: Int64, derived: "TERNARY(level == 'high', 7, 8)" }
          fetches: { happy: { where: "mood == 'good' && level IN {'low', 'high'}" } }
          fetched: { alike: { entity: Book, where: "mood == $FETCH_SOURCE.mood && level == 'high'" } }
      """
    ])
    let book = try #require(root.children("entity").first)
    let request = try #require(book.children("fetchedProperty").first?.children("fetchRequest").first)
    #expect(request["predicateString"] == "mood == $FETCH_SOURCE.mood AND level == 1")
    let template = try #require(root.children("fetchRequest").first)
    #expect(template["predicateString"] == #"mood == "g" AND level IN {0, 1}"#)
    let rank = try #require(book.children("attribute").last)
    #expect(rank["derivationExpression"] == "TERNARY(level == 1, 7, 8)")
  }

  /// Core Data compares identifiers, so two elements of a version must not have the same one.
  @Test func aNewElementHasNotTheIdentifierOfARenamedOne() throws {
    let names = "entities: { Book: { attributes: { title: String, name: String? } }, New: {}, Old: {} }"
    let model = try Self.model(of: [
      "entities: { Book: { attributes: { name: String } }, Old: {} }",
      "entities: { Book: { attributes: { title: { type: String, renamedFrom: name } } }, "
        + "New: { renamedFrom: Old } }",
      names, names,
    ])
    let bundle = Self.bundle(of: XcodeExporter(model))
    for version in bundle.versions.suffix(2) {
      let entities = try MarkupReader.read(version.contents).children("entity")
      let properties = try #require(entities.first).children("attribute")
      #expect(properties.map { $0["elementID"] } == ["name", "name 3"])
      #expect(entities.map { $0["elementID"] } == [nil, "Old", "Old 3"])
    }
    let result = XcodeImporter(bundle).run(id: UUID())
    #expect(!result.diagnostics.contains { $0.message.contains("identifier") }, "\(result.diagnostics)")
    let version = try #require(result.model?.versions[2])
    #expect(version.entities.map(\.renamedFrom) == [nil, nil, nil])
    #expect(version.entities[0].attributes.map(\.renamedFrom) == [nil, nil])
  }

  /// The removed attribute lends its values to no new one either.
  @Test func aNewElementHasNotTheIdentifierOfARemovedOne() throws {
    let root = try Self.root(
      of: [
        "entities: { Book: { attributes: { name: String } } }",
        "entities: { Book: { attributes: { title: { type: String, renamedFrom: name } } } }",
        "entities: { Book: { attributes: { name: String? } } }",
      ], 3)
    #expect(root.children("entity").first?.children("attribute").first?["elementID"] == "name 3")
  }

  /// Core Data knows the old element by its name in Xcode's model, which the import had to change.
  @Test func aRenamedElementHasTheNameThatXcodeGaveIt() throws {
    let kept = "info: { xcode.name: _id }"
    let root = try Self.root(
      of: [
        """
        entities:
          Doc: { attributes: { id: { type: String?, \(kept) }, title: String? }, info: { xcode.name: _Doc } }
        """,
        """
        entities:
          Paper: { renamedFrom: Doc, attributes: { serial: { type: String?, renamedFrom: id }, title: String? } }
        """,
      ], 2)
    let entity = try #require(root.children("entity").first)
    #expect(entity["elementID"] == "_Doc")
    #expect(entity.children("attribute").map { $0["elementID"] } == ["_id", nil])
  }

  /// A copy of a version has the names in Xcode's model too. A renamed element no longer has them.
  @Test func aRenamedElementHasItsNewNameInXcode() throws {
    func text(_ entity: String, _ attribute: String, isRename: Bool = false) -> String {
      func old(_ name: String) -> String { isRename ? "renamedFrom: \(name), " : "" }
      return """
        entities:
          \(entity):
            \(isRename ? "renamedFrom: Doc" : "abstract: false")
            attributes:
              \(attribute): { type: String?, \(old("id"))info: { xcode.name: _id } }
              title: String?
            unique: [[\(attribute)]]
            info: { xcode.name: _Doc }
        configurations: { Local: [\(entity)] }
        """
    }
    let model = try Self.model(of: [
      text("Doc", "id"), text("Paper", "serial", isRename: true), text("Paper", "serial"),
    ])
    let exporter = XcodeExporter(model)
    let bundle = Self.bundle(of: exporter)
    let roots = try bundle.versions.map { try MarkupReader.read($0.contents) }
    let entities = roots.compactMap { $0.children("entity").first }
    #expect(entities.map { $0["name"] } == ["_Doc", "Paper", "Paper"])
    #expect(entities.map { $0["elementID"] } == [nil, "_Doc", "_Doc"])
    let attributes = entities.map { $0.children("attribute") }
    #expect(attributes.map { $0.first?["name"] } == ["_id", "serial", "serial"])
    #expect(attributes.map { $0.first?["elementID"] } == [nil, "_id", "_id"])
    #expect(
      exporter.losses == [
        "entity 'Paper': 'xcode.name' is out of date and left out",
        "attribute 'serial' of 'Paper': 'xcode.name' is out of date and left out",
      ])
    let versions = try #require(XcodeImporter(bundle).run(id: UUID()).model).versions
    #expect(versions.map { $0.entities[0].name } == ["Doc", "Paper", "Paper"])
    #expect(versions.map { $0.entities[0].renamedFrom } == [nil, "Doc", nil])
    #expect(versions.map { $0.entities[0].attributes[0].renamedFrom } == [nil, "id", nil])
    #expect(versions.map { $0.entities[0].uniquenessConstraints } == [[["id"]], [["serial"]], [["serial"]]])
    #expect(versions.map { $0.configurations[0].entities } == [["Doc"], ["Paper"], ["Paper"]])
  }

  /// Xcode knows the elements only by its own names, which differ from those of the import here.
  @Test func allNamesOfElementsAreThoseOfXcode() throws {
    let body = """
      <entity name="_Task" representedClassName="Job">
        <attribute name="_id" optional="YES" attributeType="String"/>
        <attribute name="_note" optional="YES" attributeType="String"/>
        <attribute name="title" optional="YES" attributeType="String"/>
        <attribute name="_place" optional="YES" attributeType="Composite" composite="Task"/>
        <relationship name="_next" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="_Task" inverseName="_last" inverseEntity="_Task"/>
        <relationship name="_last" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="_Task" inverseName="_next" inverseEntity="_Task"/>
        <fetchedProperty name="alike" optional="YES"><fetchRequest name="fetchedPropertyFetchRequest" entity="_Task" predicateString="title == $FETCH_SOURCE.title"/></fetchedProperty>
        <fetchIndex name="byKey"><fetchIndexElement property="_id" type="Binary" order="ascending"/></fetchIndex>
        <compoundIndexes><compoundIndex><index value="_note"/><index value="_id"/></compoundIndex></compoundIndexes>
        <uniquenessConstraints><uniquenessConstraint><constraint value="_id"/></uniquenessConstraint></uniquenessConstraints>
      </entity>
      <entity name="Step" representedClassName="Step" parentEntity="_Task">
        <fetchIndex name="byNote"><fetchIndexElement property="_note" type="Binary" order="descending"/></fetchIndex>
      </entity>
      <composite name="Task"><attribute name="_x" optional="YES" attributeType="String"/></composite>
      <configuration name="Local"><memberEntity name="_Task"/><memberEntity name="Step"/></configuration>
      <fetchRequest name="titled" entity="_Task" predicateString="title == $TITLE"/>
      """
    let result = ImportTests.run([("Shop", body)])
    let version = try #require(result.model?.versions.first)
    #expect(version.entities.map(\.name) == ["Task", "Step"])
    // The names under `info` are enough to write those of other elements.
    let ends = version.entities[0].relationships
    #expect(ends.map(\.info) == [["xcode.name": "_next"], ["xcode.name": "_last"]])
    let text = ImportTests.exported(result)
    let source = try #require(ImportTests.bundle([("Shop", body)]).versions.first)
    let before = try MarkupReader.read(source.contents)
    let after = try MarkupReader.read(Array(text.utf8))
    #expect(Self.canonical(after) == Self.canonical(before))
    let exported = XcodeBundle(
      name: "Shop", path: "Shop", versions: [.init(name: "Shop", path: "Shop", contents: Array(text.utf8))])
    #expect(XcodeImporter(exported).run(id: UUID()).model?.versions == [version])
  }

  @Test func theKeyPathsOfExpressionsHaveTheNamesOfXcode() throws {
    let body = """
      <entity name="_Task" representedClassName="Job">
        <attribute name="_id" optional="YES" attributeType="String"/>
        <attribute name="_place" optional="YES" attributeType="Composite" composite="Place"/>
        <attribute name="number" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="_parts.@count"/>
        <relationship name="_parts" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="_Task" inverseName="_whole" inverseEntity="_Task"/>
        <relationship name="_whole" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="_Task" inverseName="_parts" inverseEntity="_Task"/>
        <fetchedProperty name="_alike" optional="YES"><fetchRequest name="fetchedPropertyFetchRequest" entity="_Task" predicateString="_whole._id == $FETCH_SOURCE._id"/></fetchedProperty>
      </entity>
      <composite name="Place"><attribute name="_x" optional="YES" attributeType="String"/></composite>
      <fetchRequest name="found" entity="_Task" predicateString="_place._x == $X AND SUBQUERY(_parts, $p, $p._id != _id).@count &gt; 0"/>
      """
    let result = ImportTests.run([("Shop", body)])
    let version = try #require(result.model?.versions.first)
    let entity = try #require(version.entities.first)
    let derivation = try ValueExpression(format: "parts.@count")
    #expect(entity.attributes.map(\.derivation) == [nil, nil, derivation])
    #expect(entity.attributes[2].info["xcode.derivationExpression"] == nil)
    let alike = try FetchPredicate(format: "whole.id == $FETCH_SOURCE.id")
    #expect(entity.fetchedProperties.map(\.predicate) == [alike])
    #expect(entity.fetchedProperties.map(\.info) == [["xcode.name": "_alike"]])
    let found = try FetchPredicate(format: "place.x == $X AND SUBQUERY(parts, $p, $p.id != id).@count > 0")
    #expect(entity.fetchTemplates.map(\.predicate) == [found])
    #expect(entity.info["xcode.fetch.found.predicateString"] == nil)

    let text = ImportTests.exported(result)
    let source = try #require(ImportTests.bundle([("Shop", body)]).versions.first)
    let before = try MarkupReader.read(source.contents)
    let after = try MarkupReader.read(Array(text.utf8))
    #expect(Self.canonical(after) == Self.canonical(before))
    let exported = XcodeBundle(
      name: "Shop", path: "Shop", versions: [.init(name: "Shop", path: "Shop", contents: Array(text.utf8))])
    #expect(XcodeImporter(exported).run(id: UUID()).model?.versions == [version])
  }

  /// An index over a field, which only a model of our own can have.
  @Test func theKeyPathOfAFieldHasTheNamesOfXcode() throws {
    let root = try Self.root(of: [
      """
      composites: { Place: { x: Double? } }
      info: { xcode.composite.Place.x.name: _x }
      entities:
        Doc:
          attributes: { place: { type: Place, info: { xcode.name: _place } } }
          indexes: [[place.x]]
      """
    ])
    let index = try #require(root.children("entity").first?.children("fetchIndex").first)
    #expect(index.children.map { $0["property"] } == ["_place._x"])
  }

  /// Entries of an older import, or of the version that was copied.
  @Test func theOtherEndOfARelationshipIsTheDeclaredOne() throws {
    let root = try Self.root(of: [
      """
      entities:
        Person:
          relationships:
            tasks:
              to: [Job]
              inverse: owner
              info: { xcode.destinationEntity: _Task, xcode.inverseName: _holder, xcode.inverseEntity: _Task }
            boss:
              to: Person?
              inverse: none
              info: { xcode.inverseName: staff, xcode.inverseEntity: Person }
            staff:
              to: [Person]
              inverse: none
              info: { xcode.inverseName: boss, xcode.inverseEntity: Person }
        Job:
          relationships:
            owner:
              to: Person?
              inverse: tasks
              info: { xcode.inverseName: tasks, xcode.inverseEntity: Person }
          fetched: { like: { entity: Job, info: { xcode.fetchRequest.entity: _Task } } }
      """
    ])
    let entities = root.children("entity")
    let relationships = entities.flatMap { $0.children("relationship") }
    #expect(relationships.map { $0["destinationEntity"] } == ["Job", "Person", "Person", "Person"])
    #expect(relationships.map { $0["inverseName"] } == ["owner", nil, nil, "tasks"])
    #expect(relationships.map { $0["inverseEntity"] } == ["Job", nil, nil, "Person"])
    let like = try #require(entities.last?.children("fetchedProperty").first)
    #expect(like.children("fetchRequest").map { $0["entity"] } == ["Job"])
  }

  @Test func namesOfOtherElementsAreKeptAsLongAsTheyFit() throws {
    let result = ImportTests.run([
      (
        "Shop",
        """
        <entity name="Item"><relationship name="owner" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person" inverseName="items" inverseEntity="Person"/></entity>
        <entity name="Book" parentEntity="Item"/>
        <entity name="Person">
          <relationship name="items" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Item" inverseName="owner" inverseEntity="Book"/>
          <relationship name="half" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Item" inverseName="owner" inverseEntity="Item"/>
        </entity>
        <entity name="Loose" parentEntity="Nobody"/>
        """
      )
    ])
    var model = try #require(result.model)
    func entities() throws -> [MarkupElement] {
      let text = try #require(XcodeExporter(model).files["Shop.xcdatamodel/contents"])
      return try MarkupReader.read(Array(text.utf8)).children("entity")
    }
    let before = try entities()
    let ends = before[2].children("relationship").map { [$0["inverseName"], $0["inverseEntity"]] }
    #expect(ends == [["owner", "Book"], ["owner", "Item"]])
    #expect(before[3]["parentEntity"] == "Nobody")
    #expect(XcodeExporter(model).losses == [])
    model.versions[0].entities[2].relationships[1].destination = "Person"
    model.versions[0].entities[3].parent = "Item"
    let after = try entities()
    let newEnds = after[2].children("relationship").map { [$0["inverseName"], $0["inverseEntity"]] }
    #expect(newEnds == [["owner", "Book"], [nil, nil]])
    #expect(after[3]["parentEntity"] == "Item")
    #expect(
      XcodeExporter(model).losses == [
        "relationship 'half' of 'Person': 'xcode.inverseEntity' is out of date and left out",
        "relationship 'half' of 'Person': 'xcode.inverseName' is out of date and left out",
        "entity 'Loose': 'xcode.parentEntity' is out of date and left out",
      ])
  }

  /// The attributes of one entity `E`, as they are exported after an import.
  private static func exported(_ attributes: String, _ entity: String = "") throws -> MarkupElement {
    let text = ImportTests.exported(
      ImportTests.run([
        ("Shop", #"<entity name="E" representedClassName="E">\#(attributes)</entity>\#(entity)"#)
      ]))
    return try MarkupReader.read(Array(text.utf8))
  }

  /// A field has no `info` of its own, so that the version keeps the element.
  @Test func theUserInfoOfAFieldIsKept() throws {
    let root = try Self.exported(
      "",
      """
      <composite name="Box"><attribute name="w" optional="YES" attributeType="Double">
      <userInfo><entry key="unit" value="cm"/></userInfo></attribute></composite>
      """)
    let field = try #require(root.children("composite").first?.children("attribute").first)
    let entry = try #require(field.children("userInfo").first?.children("entry").first)
    #expect(entry["key"] == "unit")
    #expect(entry["value"] == "cm")
  }

  @Test func whatWasKeptDoesNotOverruleALaterDeclaration() throws {
    let result = ImportTests.run([
      (
        "Shop",
        """
        <entity name="E" representedClassName="E">
        <attribute name="changed" optional="YES" attributeType="Integer 32" defaultValueString="NO"/>
        <attribute name="dropped" optional="YES" attributeType="Integer 32" defaultValueString="NO"/>
        <attribute name="kept" optional="YES" attributeType="Integer 32" defaultValueString="NO"/>
        <attribute name="typed" optional="YES" attributeType="Undefined"/>
        <attribute name="paint" optional="YES" attributeType="Transformable" valueTransformerName="Paint"/>
        </entity>
        """
      )
    ])
    var model = try #require(result.model)
    #expect(XcodeExporter(model).losses == [])
    model.versions[0].entities[0].attributes[0].defaultValue = .value(.int(5))
    model.versions[0].entities[0].attributes[1].defaultValue = nil
    model.versions[0].entities[0].attributes[3].type = .string
    model.versions[0].entities[0].attributes[4].isOptional = false
    let exporter = XcodeExporter(model)
    let text = try #require(exporter.files["Shop.xcdatamodel/contents"])
    let root = try MarkupReader.read(Array(text.utf8))
    let attributes = try #require(root.children("entity").first).children("attribute")
    #expect(attributes.map { $0["defaultValueString"] } == ["5", nil, "NO", nil, nil])
    #expect(attributes[3]["attributeType"] == "String")
    #expect(attributes[4]["attributeType"] == "Transformable" && attributes[4]["optional"] == nil)
    #expect(
      exporter.losses == [
        "attribute 'changed' of 'E': 'xcode.defaultValueString' is out of date and left out",
        "attribute 'dropped' of 'E': 'xcode.defaultValueString' is out of date and left out",
        "attribute 'typed' of 'E': 'xcode.attributeType' is out of date and left out",
      ])
  }

  @Test func aStyleGivesNothingToWhoHadNothing() throws {
    let root = try Self.exported(
      """
      <attribute name="a" optional="YES" attributeType="Transformable" valueTransformerName="ColorTransformer"/>
      <attribute name="c" optional="YES" attributeType="Transformable"/>
      <attribute name="z" optional="YES" attributeType="Transformable" valueTransformerName="ColorTransformer" customClassName="UIColor"/>
      <attribute name="u" optional="YES" attributeType="URI" usesScalarValueType="NO"/>
      <attribute name="v" optional="YES" attributeType="URI"/>
      <attribute name="w" optional="YES" attributeType="URI" usesScalarValueType="NO"/>
      """,
      """
      <composite name="Box"><attribute name="t" optional="YES" attributeType="Transformable"/>
      <attribute name="y" optional="YES" attributeType="Transformable" valueTransformerName="ColorTransformer"/></composite>
      """)
    let attributes = try #require(root.children("entity").first).children("attribute")
    let box = try #require(root.children("composite").first).children("attribute")
    #expect(
      (attributes + box).map { $0["valueTransformerName"] } == [
        "ColorTransformer", nil, "ColorTransformer", nil, nil, nil, nil, "ColorTransformer",
      ])
    #expect(attributes.map { $0["usesScalarValueType"] } == [nil, nil, nil, "NO", nil, "NO"])
  }

  @Test func aListOfWhichAPartWasKeptIsOneListAgain() throws {
    let body = """
      <attribute name="x" optional="YES" attributeType="String"><userInfo><entry key="k" value="v"/><entry key="" value="w"/></userInfo></attribute>
      <compoundIndexes><compoundIndex><index value="x"/></compoundIndex><compoundIndex><index value="gone"/></compoundIndex></compoundIndexes>
      <uniquenessConstraints><uniquenessConstraint><constraint value="x"/></uniquenessConstraint><uniquenessConstraint><constraint value="gone"/></uniquenessConstraint></uniquenessConstraints>
      <userInfo><entry key="a" value="1"/><entry key="xcode.b" value="2"/><entry key="c"/></userInfo>
      """
    let entity = try #require(try Self.exported(body).children("entity").first)
    #expect(
      entity.children.map(\.name) == ["attribute", "compoundIndexes", "uniquenessConstraints", "userInfo"])
    #expect(entity.children.map(\.children.count) == [1, 2, 2, 3])
    #expect(entity.children[0].children[0].children.map { $0["value"] } == ["v", "w"])
    let before = try MarkupReader.read(Array("<entity name='E'>\(body)</entity>".utf8))
    #expect(Self.canonical(entity).contains("gone"))
    for (one, other) in zip(entity.children.dropFirst(), before.children.dropFirst()) {
      #expect(Self.canonical(one) == Self.canonical(other))
    }
  }
}
