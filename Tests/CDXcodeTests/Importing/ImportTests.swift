import CDMapping
import CDModel
import CDSchema
import CDXcode
import Foundation
import Testing

@Suite("Import from Xcode")
struct ImportTests {
  private static func head(_ body: String) -> String {
    #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?><model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22222" systemVersion="23A" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="">"#
      + body + "</model>"
  }

  static func bundle(_ versions: [(String, String)], current: String? = nil) -> XcodeBundle {
    XcodeBundle(
      name: "Shop", path: "Shop.xcdatamodeld",
      versions: versions.map {
        XcodeBundle.Version(name: $0.0, path: $0.0 + "/contents", contents: Array(head($0.1).utf8))
      },
      currentName: current)
  }

  static func run(
    _ versions: [(String, String)], order: String? = nil, scalars: XcodeImportOptions.Scalars = .optional,
    confirmsLosses: Bool = false
  )
    -> XcodeImport
  {
    XcodeImporter(
      bundle(versions), order: order, orderPath: "order.txt",
      options: XcodeImportOptions(scalars: scalars, confirmsLosses: confirmsLosses)
    ).run(id: UUID())
  }

  /// The attributes of one entity `A`.
  static func attributes(_ body: String, scalars: XcodeImportOptions.Scalars = .optional) throws -> (
    [String: AttributeDescription], [String]
  ) {
    let result = run(
      [("Shop", "<entity name=\"A\" representedClassName=\"A\" syncable=\"YES\">\(body)</entity>")],
      scalars: scalars)
    let entity = try #require(result.model?.versions[0].entities[0])
    return (
      Dictionary(entity.attributes.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }),
      result.diagnostics.map(\.message)
    )
  }

  @Test func defaultsInOddFormsAreTakenOrLeftWithAWarning() throws {
    let (found, messages) = try Self.attributes(
      """
      <attribute name="i" attributeType="Integer 32" defaultValueString="NO"/>
      <attribute name="j" attributeType="Integer 16" defaultValueString="70000"/>
      <attribute name="b" attributeType="Boolean" defaultValueString="0.0"/>
      <attribute name="c" attributeType="Boolean" defaultValueString="YES"/>
      <attribute name="d" attributeType="Date" defaultDateTimeInterval="86400"/>
      <attribute name="e" attributeType="Date" defaultValueString="NO"/>
      <attribute name="u" attributeType="UUID" defaultValueString="12-34"/>
      <attribute name="w" attributeType="URI" defaultValueString=""/>
      <attribute name="f" attributeType="Float" defaultValueString="0.1"/>
      <attribute name="s" attributeType="String" minValueString="3" defaultValueString="ab"/>
      <attribute name="x" attributeType="Integer 64" defaultValueString="1e400"/>
      """)
    #expect(found["i"]?.defaultValue == .value(.int(0)))
    #expect(found["j"]?.defaultValue == nil)
    #expect(found["b"]?.defaultValue == .value(.bool(false)))
    #expect(found["c"]?.defaultValue == .value(.bool(true)))
    #expect(found["d"]?.defaultValue == .value(.date(Date(timeIntervalSinceReferenceDate: 86_400))))
    for name in ["e", "u", "w", "s", "x"] { #expect(found[name]?.defaultValue == nil, "\(name)") }
    #expect(found["f"]?.defaultValue == .value(.double(Double(Float(0.1)))))
    #expect(found["u"]?.info == ["xcode.defaultValueString": "12-34"])
    for name in ["i", "j", "b", "e", "u", "w", "s", "x"] {
      #expect(messages.contains { $0.hasPrefix("attribute '\(name)' of 'A': its default") }, "\(name)")
    }
    #expect(!messages.contains { $0.hasPrefix("attribute 'c'") || $0.hasPrefix("attribute 'd'") })
  }

  @Test func typesWithoutAnEqualAreData() throws {
    let (found, messages) = try Self.attributes(
      """
      <attribute name="t" optional="YES" attributeType="Transformable" valueTransformerName="Paint"/>
      <attribute name="l" optional="YES" attributeType="Transformable" customClassName=".[String]"/>
      <attribute name="d" optional="YES" attributeType="Transformable" customClassName="[String: Decimal]"/>
      <attribute name="n" optional="YES" transient="YES"/>
      <attribute name="o" attributeType="Spin" strange="1"/>
      """)
    #expect(found["t"]?.type == .data)
    #expect(found["t"]?.info["xcode.valueTransformerName"] == "Paint")
    #expect(found["l"]?.type == .codable(type: "[String]", codec: 1))
    // A store has an archive of the values, which the conversion cannot read.
    #expect(found["d"]?.type == .data)
    #expect(found["n"]?.type == .data && found["n"]?.isTransient == true)
    #expect(found["o"]?.info["xcode.attributeType"] == "Spin")
    for name in ["t", "l", "d", "n", "o"] {
      #expect(messages.contains { $0.hasPrefix("attribute '\(name)' of 'A'") })
    }
    #expect(messages.contains { $0.contains("'strange' has no meaning for cdgen") })
  }

  @Test func scalarsStayOptionalOrGetADefault() throws {
    let body =
      #"<attribute name="n" optional="YES" attributeType="Integer 32" usesScalarValueType="YES"/><attribute name="m" optional="YES" attributeType="Integer 32" usesScalarValueType="NO"/>"#
    let optional = try Self.attributes(body).0
    #expect(optional["n"]?.isOptional == true)
    let plain = try Self.attributes(body, scalars: .default).0
    #expect(plain["n"]?.isOptional == false && plain["n"]?.defaultValue == .value(.int(0)))
    #expect(plain["m"]?.isOptional == true)
  }

  @Test func namesThatCannotStayAreChangedEverywhere() throws {
    let result = Self.run([
      (
        "Shop",
        """
        <entity name="Task" representedClassName="App.Task">
          <attribute name="_id" attributeType="String"/><attribute name="hash" optional="YES" attributeType="String"/>
          <relationship name="_next" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Task" inverseName="_last" inverseEntity="Task"/>
          <relationship name="_last" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Task" inverseName="_next" inverseEntity="Task"/>
          <uniquenessConstraints><uniquenessConstraint><constraint value="_id"/></uniquenessConstraint></uniquenessConstraints>
        </entity>
        """
      )
    ])
    let entity = try #require(result.model?.versions[0].entities[0])
    #expect(entity.swiftName == "TaskObject")
    #expect(entity.attributes.map(\.name) == ["id", "hash"])
    #expect(entity.attributes[1].propertyName == "taskHash")
    #expect(entity.relationships.map(\.inverse) == ["last", "next"])
    #expect(entity.uniquenessConstraints == [["id"]])
    #expect(Self.load(result).hasErrors == false)
    #expect(Self.exported(result).contains(#"inverseName="_last""#))
  }

  static func load(_ result: XcodeImport) -> LoadedModel {
    ModelLoader.load(name: result.model?.name ?? "", files: result.files.mapValues { Array($0.utf8) })
  }

  static func exported(_ result: XcodeImport, _ name: String = "Shop") -> String {
    load(result).unprovenModel.flatMap { XcodeExporter($0).files["\(name).xcdatamodel/contents"] } ?? ""
  }

  // MARK: Histories

  private static func entity(_ name: String, _ attributes: String..., id: String = "") -> String {
    let list = attributes.map { #"<attribute name="\#($0)" optional="YES" attributeType="String"/>"# }
      .joined()
    return #"<entity name="\#(name)"\#(id.isEmpty ? "" : " elementID=\"\(id)\"")>\#(list)</entity>"#
  }

  @Test func renamingIdentifiersAreComparedOnBothSides() throws {
    let result = Self.run([
      ("Shop", Self.entity("Old")), ("Shop 2", Self.entity("New", id: "Old")),
      ("Shop 3", Self.entity("New", id: "Old")),
      ("Shop 4", Self.entity("Newer", id: "Old")),
    ])
    let renames = try #require(result.model).versions.map { $0.entities[0].renamedFrom }
    #expect(renames == [nil, "Old", nil, "New"])
    #expect(!Self.load(result).hasErrors)
    for number in 2...4 { #expect(Self.exported(result, "Shop \(number)").contains(#"elementID="Old""#)) }
  }

  private static let losing = [
    ("Shop", entity("A", "title", "colour") + entity("Gone")),
    ("Shop 2", entity("A", "title", "size")),
    ("Shop 3", entity("A", "titles", "size") + entity("B")),
    ("Shop 4", entity("A", "titles", "size") + entity("C")),
  ]

  /// Nobody but the user can say that a loss is meant.
  @Test func eachLossIsAskedForOncePerStep() throws {
    let result = Self.run(Self.losing)
    let first = try #require(result.files["1-2.mapping.yaml"])
    #expect(
      first.contains("# - attribute 'colour' of 'A' is gone")
        && first.contains("# - entity 'Gone' is gone"))
    #expect(first.contains("'cdgen diff MODEL --from 1 --to 2 --accept'"))
    for name in ["1-2", "2-3", "3-4"] {
      let text = try #require(result.files["\(name).mapping.yaml"])
      #expect(!text.contains("\ndrop:") && !text.contains("\nentities:"))
    }
    let loaded = Self.load(result)
    #expect(!loaded.hasErrors, "\(loaded.diagnostics)")
    #expect(loaded.diagnostics.filter { $0.message.contains("is gone from version") }.count == 4)
  }

  @Test func removalsAreConfirmedOnDemandAndWhatMayBeARenamingIsAsked() throws {
    let result = Self.run(Self.losing, confirmsLosses: true)
    let first = try #require(result.files["1-2.mapping.yaml"])
    #expect(first.contains("drop: [Gone]") && first.contains("A: { drop: [colour] }"))
    let second = try #require(result.files["2-3.mapping.yaml"])
    #expect(
      second.contains("# - attribute 'title' of 'A' is gone") && !second.contains("\nentities:"))
    let third = try #require(result.files["3-4.mapping.yaml"])
    #expect(third.contains("# - entity 'B' is gone") && !third.contains("\ndrop:"))
    let loaded = Self.load(result)
    #expect(!loaded.hasErrors, "\(loaded.diagnostics)")
    #expect(loaded.diagnostics.filter { $0.message.contains("is gone from version") }.count == 2)
  }

  @Test func anEntityThatBecameAbstractIsAskedForInAnyCase() throws {
    let abstract = #"<entity name="A" isAbstract="YES"/>"#
    for confirms in [false, true] {
      let result = Self.run(
        [("Shop", Self.entity("A")), ("Shop 2", abstract + Self.entity("B"))], confirmsLosses: confirms)
      let model = try #require(result.model)
      let step = MigrationStep(from: model.versions[0], to: model.versions[1], rules: model.mappings.first)
      #expect(step.openChanges.map(\.kind) == [.entityBecameAbstract("A")])
    }
  }

  /// Core Data saves an object without any, as long as there is no minimum.
  @Test func aToManyRelationshipWithoutAMinimumMayBeEmpty() throws {
    func relationship(_ more: String) -> String {
      #"<entity name="A"><relationship name="others" toMany="YES" \#(more) deletionRule="Nullify" destinationEntity="A"/></entity>"#
    }
    for (more, isOptional) in [("", true), (#"minCount="0""#, true), (#"minCount="1""#, false)] {
      let result = Self.run([("Shop", relationship(more))])
      let found = try #require(result.model?.versions[0].entities[0].relationships.first)
      #expect(found.isOptional == isOptional, "\(more)")
      // Xcode's own flag comes out again.
      #expect(!Self.exported(result, "Shop").contains("optional="), "\(more)")
      #expect(result.diagnostics == [])
    }
  }

  private static let orders: [(names: [String], expected: [String]?)] = [
    (["Shop 10", "Shop", "Shop 2"], ["Shop", "Shop 2", "Shop 10"]),
    (["Shop_v3", "Shop V 2"], ["Shop V 2", "Shop_v3"]),
    (["App1.10.0", "App1.9", "App"], ["App", "App1.9", "App1.10.0"]),
    (["App2 2", "App2"], ["App2", "App2 2"]),
    (["App2 10", "App2", "App2 3"], ["App2", "App2 3", "App2 10"]),
    (["Sample3_v2", "Sample3"], ["Sample3", "Sample3_v2"]), (["App2", "App2 2", "App3"], nil),
    (["App2", "App2 x"], nil), (["App2", "App2 2", "App2_2"], nil),
    (["New", "Old"], nil), (["Shop 2", "Cart 3"], nil), (["Shop 2", "Shop 02"], nil),
    (["First", "Shop 2", "Shop 3"], nil),
  ]

  @Test(arguments: orders)
  func numbersInNamesTellTheOrderOrAreAskedFor(_ names: [String], _ expected: [String]?) {
    let result = Self.run(names.map { ($0, Self.entity("A")) })
    #expect(result.model?.versions.map(\.label) == expected)
    if expected == nil {
      for name in names { #expect(result.diagnostics.contains { $0.message.contains("\n  \(name)") }) }
    }
  }

  @Test func anOrderCanBranchAndLeaveOut() throws {
    let versions = ["a", "b", "c", "d"].map { ($0, Self.entity("A")) }
    let result = Self.run(versions, order: "# oldest\nc\na\nb <- c\n")
    #expect(result.model?.versions.map(\.basedOn) == [[], [1], [1]])
    #expect(
      result.diagnostics.map(\.message) == ["version 'd' of the bundle is not in the order and is left out"])
    #expect(
      Self.run(versions, order: "x\nb <- a\na\na\n").diagnostics.filter { $0.severity == .error }.count == 3)
  }

  @Test func whatIsNoModelIsRefusedAtItsPlace() {
    let broken = XcodeBundle(
      name: "X", path: "X",
      versions: [.init(name: "X", path: "X/contents", contents: Array("<model>\n <entity".utf8))])
    #expect(XcodeImporter(broken).run(id: UUID()).diagnostics.map(\.location.line) == [2])
    let binary = XcodeBundle(name: "X", path: "X", versions: [], binaryNames: ["X"])
    let result = XcodeImporter(binary).run(id: UUID())
    #expect(result.model == nil && result.diagnostics[0].message.contains("binary form"))
  }

  @Test func oldVersionsInTheBinaryFormAreLeftOut() throws {
    var bundle = Self.bundle(["X 2", "X 3"].map { ($0, Self.entity("A")) }, current: "X 3")
    bundle.binaryNames = ["X"]
    let result = XcodeImporter(bundle).run(id: UUID())
    #expect(result.model?.versions.map(\.label) == ["X 2", "X 3"])
    let warning = try #require(result.diagnostics.first)
    #expect(warning.severity == .warning && warning.message.contains("'X' is in the binary form"))
    bundle.currentName = "X"
    #expect(XcodeImporter(bundle).run(id: UUID()).model == nil)
  }

  @Test func versionsWithoutAModelAreLeftOut() throws {
    var bundle = Self.bundle([("X", Self.entity("A"))], current: "X")
    bundle.emptyNames = ["X 2", "X 3"]
    let result = XcodeImporter(bundle).run(id: UUID())
    #expect(result.model?.versions.map(\.label) == ["X"])
    #expect(result.diagnostics.map(\.severity) == [.warning, .warning])
    #expect(result.diagnostics.allSatisfy { $0.message.contains("has no file 'contents'") })
    let named = XcodeImporter(bundle, order: "X\nX 2\n", orderPath: "order.txt").run(id: UUID())
    #expect(named.model == nil && named.diagnostics.contains { $0.message.contains("'X 2' has no file") })
    bundle.currentName = "X 3"
    #expect(XcodeImporter(bundle).run(id: UUID()).model == nil)
    #expect(XcodeImporter(bundle, order: "X\n").run(id: UUID()).model != nil)
  }

  @Test func anEmptyFolderOfABundleIsReadAsAVersionWithoutAModel() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "X.xcdatamodeld")
    for name in ["X", "X 2"] {
      try FileManager.default.createDirectory(
        at: path.appending(path: "\(name).xcdatamodel"), withIntermediateDirectories: true)
    }
    func bundle() throws -> XcodeBundle { try XcodeBundle(contentsOf: path.path(percentEncoded: false)) }
    #expect(throws: XcodeBundleError.self) { try bundle() }
    try Data("<model/>".utf8).write(to: path.appending(path: "X.xcdatamodel/contents"))
    let found = try bundle()
    #expect(found.versions.map(\.name) == ["X"] && found.emptyNames == ["X 2"])
  }

  /// Core Data goes by identifiers and exchanges values; here names count.
  @Test func namesThatWereExchangedOrGivenAnewAreRemarkedOn() throws {
    func attribute(_ name: String, _ id: String) -> String {
      #"<attribute name="\#(name)" optional="YES" attributeType="String" elementID="\#(id)"/>"#
    }
    let body =
      #"<entity name="A">"# + attribute("x", "y") + attribute("y", "x") + attribute("one", "z")
      + attribute("two", "z") + #"</entity><entity name="B" elementID="C"/><entity name="C" elementID="B"/>"#
    let result = Self.run([
      ("Shop", Self.entity("A", "x", "y", "z") + Self.entity("B") + Self.entity("C")), ("Shop 2", body),
      ("Shop 3", body),
    ])
    #expect(!Self.load(result).hasErrors, "\(Self.load(result).diagnostics)")
    let version = try #require(result.model?.versions[1])
    #expect(version.entities[0].attributes.map(\.renamedFrom) == [nil, nil, "z", nil])
    #expect(version.entities.map(\.renamedFrom) == [nil, nil, nil])
    let messages = result.diagnostics.map(\.message).filter { $0.contains("its renaming identifier says") }
    #expect(messages.count == 5)
    for (name, old, end) in [
      ("attribute 'x' of 'A'", "y", "it keeps the values of 'x'"),
      ("attribute 'y' of 'A'", "x", "it keeps the values of 'y'"),
      ("attribute 'two' of 'A'", "z", "it gets none of the values of 'z'"),
      ("entity 'B'", "C", "it keeps the objects of 'B'"), ("entity 'C'", "B", "it keeps the objects of 'C'"),
    ] {
      #expect(
        messages.contains { $0.hasPrefix(name) && $0.contains("was '\(old)'") && $0.hasSuffix(end) },
        "\(name)")
    }
  }
}
