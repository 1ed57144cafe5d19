import CDModel
import CDSchema
import CDXcode
import Foundation
import Testing

/// Names that were different in Xcode, and become one here or in Swift unless something is done.
@Suite("Names that clash") struct NameClashTests {
  /// The version, which loads without a mistake.
  private func imported(_ body: String) throws -> (version: ModelVersion, messages: [String]) {
    let result = ImportTests.run([("Shop", body)])
    let loaded = ImportTests.load(result)
    #expect(!loaded.hasErrors, "\(loaded.diagnostics.filter { $0.severity == .error })")
    #expect(loaded.unprovenModel == result.model)
    return (try #require(result.model?.versions.first), result.diagnostics.map(\.message))
  }

  private static func attributes(_ names: String...) -> String {
    names.map { #"<attribute name="\#($0)" optional="YES" attributeType="String"/>"# }.joined()
  }

  /// The same name to Swift, but not to a store.
  @Test func namesAreComposed() throws {
    let (version, messages) = try imported(
      "<entity name=\"Cafe\u{301}\">\(Self.attributes("nai\u{308}ve"))</entity>")
    let entity = try #require(version.entities.first)
    #expect(Array(entity.name.utf8) == Array("Caf\u{E9}".utf8))
    #expect(entity.attributes.map { Array($0.name.utf8) } == [Array("na\u{EF}ve".utf8)])
    #expect(!messages.contains { $0.contains("cannot be a name") })
  }

  @Test func whoCanKeepANameHasItAndTheOtherIsNumbered() throws {
    let body =
      #"<entity name="Doc" representedClassName="Doc">\#(Self.attributes("_id", "id", "__id"))</entity>"#
      + #"<entity name="_Doc" representedClassName="Doc2"/>"#
    let (version, messages) = try imported(body)
    #expect(version.entities.map(\.name) == ["Doc", "Doc_"])
    #expect(version.entities[0].attributes.map(\.name) == ["id_", "id", "id_2"])
    #expect(version.entities[0].attributes.map { $0.info["xcode.name"] } == ["_id", nil, "__id"])
    #expect(
      messages.contains("attribute 'id_' of 'Doc': '_id' cannot be a name in cdgen, so it is called 'id_'"))
    let exported = ImportTests.exported(ImportTests.run([("Shop", body)]))
    for name in ["id", "_id", "__id"] { #expect(exported.contains(#"<attribute name="\#(name)""#)) }
  }

  @Test func aLineOfInheritanceHasANameOnceAndSiblingsShareIt() throws {
    let (version, _) = try imported(
      """
      <entity name="Child" parentEntity="Root">\(Self.attributes("_id", "_note"))</entity>
      <entity name="Root">\(Self.attributes("id"))</entity>
      <entity name="Other" parentEntity="Root">\(Self.attributes("note", "_id"))</entity>
      <entity name="Grandchild" parentEntity="Child">\(Self.attributes("note"))</entity>
      <entity name="Alone" parentEntity="Root">\(Self.attributes("_word"))</entity>
      <entity name="Lonely" parentEntity="Root">\(Self.attributes("word"))</entity>
      """)
    #expect(
      version.entities.map { $0.attributes.map(\.name) } == [
        ["id_", "note_"], ["id"], ["note", "id_"], ["note"], ["word"], ["word"],
      ])
  }

  @Test func aRelationshipFindsAnInverseThatIsInheritedUnderAnotherName() throws {
    let (version, _) = try imported(
      """
      <entity name="Item"><relationship name="_owner" optional="YES" maxCount="1" destinationEntity="Person" inverseName="items" inverseEntity="Person"/></entity>
      <entity name="Book" parentEntity="Item"/>
      <entity name="Person"><relationship name="items" optional="YES" toMany="YES" destinationEntity="Item" inverseName="_owner" inverseEntity="Book"/></entity>
      """)
    #expect(version.entities.map { $0.relationships.map(\.inverse) } == [["items"], [], ["owner"]])
  }

  @Test func fieldsOfCompositesKeepApart() throws {
    let (version, messages) = try imported(
      """
      <entity name="A"/>
      <composite name="Box">\(Self.attributes("_id", "id", "self", "boxSelf", "ID", "id"))</composite>
      """)
    #expect(version.composites[0].fields.map(\.name) == ["id_2", "id", "self", "boxSelf", "ID_"])
    #expect(version.composites[0].fields.map(\.swiftName) == ["id_2", "id", "boxSelf_", "boxSelf", "ID_"])
    #expect(
      messages.contains { $0.hasPrefix("field 'id' of 'Box': another field of the composite has the name") })
  }

  @Test func fetchRequestsAndCompositesOfOneNameAreNumbered() throws {
    let names = ["f", "f_2", "f", "f", "f", "g"]
    let requests = names.map { #"<fetchRequest name="\#($0)" entity="A"/>"# }.joined()
    let composites = ["C+", "C*", "C/"].map {
      #"<composite name="\#($0)">\#(Self.attributes("x"))</composite>"#
    }
    let (version, _) = try imported(
      """
      <entity name="A"/><entity name="B" parentEntity="A"/><entity name="D"/>\(requests)
      <fetchRequest name="g" entity="B"/><fetchRequest name="g" entity="D"/>\(composites.joined())
      """)
    #expect(
      version.entities.map { $0.fetchTemplates.map(\.name) } == [
        ["f", "f_2", "f_", "f_3", "f_4", "g"], ["g_"], ["g"],
      ])
    #expect(version.composites.map(\.name) == ["C_", "C_Value", "C_Value2"])
  }

  @Test func aNameThatIsThereTwiceIsKeptAndSaidInFull() throws {
    let (version, messages) = try imported(
      """
      <entity name="A">\(Self.attributes("x"))<relationship name="x" optional="YES" maxCount="1" destinationEntity="A"/>
        <attribute optional="YES" attributeType="String"/><fetchedProperty/></entity>
      """)
    #expect(version.entities[0].attributes.map(\.name) == ["x"] && version.entities[0].relationships.isEmpty)
    #expect(
      messages.contains {
        $0.hasPrefix("relationship 'x' of 'A': another property of the entity has the name already")
      })
    #expect(messages.contains { $0.hasPrefix("entity 'A': an attribute has no name") })
    #expect(messages.contains { $0.hasPrefix("entity 'A': a fetched property has no name") })
  }

  @Test func aRemarkCountsVersionsAndNotRemarks() throws {
    let twice = #"<entity name="A"><attribute/><attribute/></entity>"#
    func message(_ versions: [(String, String)]) throws -> String {
      let messages = ImportTests.run(versions).diagnostics.map(\.message)
      return try #require(messages.first { $0.contains("has no name") })
    }
    #expect(try !message([("Shop", twice)]).contains("versions"))
    #expect(try message([("Shop", twice), ("Shop 2", twice)]).hasSuffix("(in 2 versions)"))
  }

  // MARK: In Swift

  @Test func aNameInSwiftIsNoOthersInTheLine() throws {
    let (version, _) = try imported(
      """
      <entity name="Reading">\(Self.attributes("value", "readingValue"))</entity>
      <entity name="Base">\(Self.attributes("hash"))</entity>
      <entity name="Leaf" parentEntity="Base">\(Self.attributes("baseHash"))</entity>
      <entity name="Set">\(Self.attributes("value"))</entity>
      <entity name="Sheet"><relationship name="values" optional="YES" toMany="YES" destinationEntity="Sheet"/>\(Self.attributes("addToSheetValues"))</entity>
      """)
    #expect(
      version.entities.map { $0.attributes.map(\.swiftName) } == [
        ["readingValue_", "readingValue"], ["baseHash_"], ["baseHash"], ["setValue_"], ["addToSheetValues"],
      ])
    #expect(version.entities[4].relationships.map(\.swiftName) == ["sheetValues_"])
  }

  @Test func methodsOfRelationshipsTakeNames() throws {
    let items = #"<relationship name="items" optional="YES" toMany="YES" destinationEntity="A"/>"#
    let (version, messages) = try imported(
      """
      <entity name="A">\(items)\(Self.attributes("addToItems", "removeFromItems", "addToThings"))</entity>
      <entity name="B" parentEntity="A">\(Self.attributes("insertIntoItems"))</entity>
      <entity name="C">\(Self.attributes("addToItems"))</entity>
      """)
    #expect(
      version.entities.map { $0.attributes.map(\.swiftName) } == [
        ["aAddToItems", "aRemoveFromItems", "addToThings"], ["bInsertIntoItems"], ["addToItems"],
      ])
    #expect(
      messages.contains(
        "attribute 'addToItems' of 'A': 'addToItems' is the method that changes 'items', so that it is 'aAddToItems' in "
          + "Swift"))
  }

  @Test func everyClassHasANameOfItsOwn() throws {
    func classes(_ pairs: (String, String)...) throws -> [String] {
      try imported(
        pairs.map { #"<entity name="\#($0.0)" representedClassName="\#($0.1)"/>"# }.joined()
          + #"<composite name="DObject">\#(Self.attributes("x"))</composite>"#
      ).version.entities.map(\.swiftName)
    }
    #expect(try classes(("A", "B"), ("B", "B"), ("C", "A")) == ["AObject", "B", "A"])
    #expect(try classes(("A", "X"), ("B", "X")) == ["X", "B"])
    #expect(try classes(("Any", "Any"), ("Task", "Any")) == ["AnyObjectObject", "TaskObject"])
    #expect(try classes(("D", "E"), ("E", "E"), ("F", "D")) == ["DObjectObject", "E", "D"])
  }
}
