import CDModel
import CDPropertyList
import CDSchema
import Foundation
import Testing

@testable import CDXcode

@Suite("Mapping models of Xcode")
struct MappingTests {
  /// An archive of `$source.shelf.title`, made with the format's rules for archives and property lists.
  static let path =
    "YnBsaXN0MDDUAQIDBAUGNDdZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKsBwgTGR4hIiMoKzAzVSRudWxs1QkKCwwNDg8QERJWJGNsYXNzW05TQXJndW1lbnRzXxAQTlNFeHByZXNzaW9uVHlwZVlOU09wZXJhbmReTlNTZWxlY3Rvck5hbWWAAoAHEASAA4AG0hQVFhdYJGNsYXNzZXNaJGNsYXNzbmFtZaIXGF8QE05TS2V5UGF0aEV4cHJlc3Npb25YTlNPYmplY3TTCQsaGxwdWk5TVmFyaWFibGWABBACgAXSFBUfIKIgGF8QFE5TVmFyaWFibGVFeHByZXNzaW9uVnNvdXJjZV8QEHZhbHVlRm9yS2V5UGF0aDrSCSQlJlpOUy5vYmplY3RzgAihJ4AJ0hQVKSqiKhheTlNNdXRhYmxlQXJyYXnTCQssLS4vWU5TS2V5UGF0aIAKEAqAC9IUFTEyojIYXxAcTlNLZXlQYXRoU3BlY2lmaWVyRXhwcmVzc2lvbltzaGVsZi50aXRsZdE1NlRyb290gAESAAGGoAAIABEAGwAkACkAMgBEAFEAVwBiAGkAdQCIAJIAoQCjAKUApwCpAKsAsAC5AMQAxwDdAOYA7QD4APoA/AD+AQMBBgEdASQBNwE8AUcBSQFLAU0BUgFVAWQBawF1AXcBeQF7AYABgwGiAa4BsQG2AbgAAAAAAAACAQAAAAAAAAA4AAAAAAAAAAAAAAAAAAABvQ=="
  /// An archive of the constant 7.
  static let seven =
    "YnBsaXN0MDDUAQIDBAUGFhlZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKkBwgPFVUkbnVsbNMJCgsMDQ5WJGNsYXNzXxAPTlNDb25zdGFudFZhbHVlXxAQTlNFeHByZXNzaW9uVHlwZYACgAMQANIQERITWCRjbGFzc2VzWiRjbGFzc25hbWWiExRfEBlOU0NvbnN0YW50VmFsdWVFeHByZXNzaW9uWE5TT2JqZWN0EAfRFxhUcm9vdIABEgABhqAIERskKTJESU9WXW+ChIaIjZahpMDJy87T1QAAAAAAAAEBAAAAAAAAABoAAAAAAAAAAAAAAAAAAADa"
  /// An archive of a function whose operand and argument are itself.
  static let circle =
    "YnBsaXN0MDDUAQIDBAUGICNZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKmBwgRFxgdVSRudWxs1AkKCwwNDg8QViRjbGFzc1tOU0FyZ3VtZW50c1lOU09wZXJhbmReTlNTZWxlY3Rvck5hbWWAAoAEgAGAA9ISExQVWCRjbGFzc2VzWiRjbGFzc25hbWWiFRZfEBROU0Z1bmN0aW9uRXhwcmVzc2lvblhOU09iamVjdFJmOtIJGRobWk5TLm9iamVjdHOABaEcgAHSEhMeH6IfFldOU0FycmF50SEiVHJvb3SAARIAAYagAAgAEQAbACQAKQAyAEQASwBRAFoAYQBtAHcAhgCIAIoAjACOAJMAnACnAKoAwQDKAM0A0gDdAN8A4QDjAOgA6wDzAPYA+wD9AAAAAAAAAgEAAAAAAAAAJAAAAAAAAAAAAAAAAAAAAQI="

  @Test func archivedExpressionsAreRead() {
    #expect(ArchivedExpression.text(base64: Self.path) == "$source.shelf.title")
    #expect(ArchivedExpression.text(base64: Self.seven) == "7")
    #expect(ArchivedExpression.text(base64: Self.circle) == nil)
    #expect(ArchivedExpression.text(base64: "no archive") == nil)
  }

  @Test func everyTruncationAndChangeOfAnArchiveIsReadOrRefused() throws {
    let bytes = [UInt8](try #require(Data(base64Encoded: Self.path)))
    for place in bytes.indices {
      #expect(BinaryPropertyList.read(Array(bytes[..<place])) == nil)
      for value in [UInt8(0), 0x7F, 0xFF, bytes[place] ^ 0x10] {
        var changed = bytes
        changed[place] = value
        _ = ArchivedExpression.text(base64: Data(changed).base64EncodedString())
      }
    }
  }

  private static func object(
    _ type: String, _ id: String, _ attributes: [String: String], _ related: [String: String] = [:]
  )
    -> String
  {
    let values = attributes.map { #"<attribute name="\#($0.key)" type="string">\#($0.value)</attribute>"# }
      .joined()
    let links = related.map { #"<relationship name="\#($0.key)" idrefs="\#($0.value)"></relationship>"# }
      .joined()
    return #"<object type="\#(type)" id="\#(id)">\#(values)\#(links)</object>"#
  }

  static let mapping =
    #"<?xml version="1.0" standalone="no"?><!DOCTYPE database SYSTEM "file:///x.dtd"><database>"#
    + object(
      "XDDEVMAPPINGMODEL", "m",
      [
        "sourcemodelpath": "App/Shop.xcdatamodeld/Shop.xcdatamodel",
        "destinationmodelpath": "App/Shop.xcdatamodeld/Shop 2.xcdatamodel",
      ],
      ["entitymappings": "e1 e2 e3"])
    + object(
      "XDDEVENTITYMAPPING", "e1",
      [
        "sourcename": "Book", "destinationname": "Volume", "mappingnumber": "1",
        "sourcefilterpredicatestring": "size &gt; 3",
      ],
      ["attributemappings": "a1 a2 a3", "relationshipmappings": "r1"])
    + object(
      "XDDEVENTITYMAPPING", "e2",
      [
        "sourcename": "Shelf", "destinationname": "Shelf", "mappingnumber": "2",
        "migrationpolicyclassname": "App.ShelfPolicy",
      ])
    + object(
      "XDDEVENTITYMAPPING", "e3", ["sourcename": "Ghost", "destinationname": "Shelf", "mappingnumber": "3"])
    + object("XDDEVATTRIBUTEMAPPING", "a1", ["name": "place", "valueexpressiondata": path])
    + object("XDDEVATTRIBUTEMAPPING", "a2", ["name": "size", "valueexpressiondata": seven])
    + object("XDDEVATTRIBUTEMAPPING", "a3", ["name": "other", "valueexpressiondata": circle])
    + object(
      "XDDEVRELATIONSHIPMAPPING", "r1",
      ["name": "home", "sourcekeypath": "$source.shelf", "sourcemappingname": "ShelfToShelf"])
    + "</database>"

  @Test func aMappingModelBecomesAMappingFile() throws {
    func entity(
      _ name: String, _ attributes: [(String, String)], _ relationship: String, to other: String, many: Bool,
      _ inverse: String
    ) -> String {
      #"<entity name="\#(name)">"#
        + attributes.map { #"<attribute name="\#($0.0)" optional="YES" attributeType="\#($0.1)"/>"# }.joined()
        + #"<relationship name="\#(relationship)" optional="YES" \#(many ? "toMany=\"YES\"" : "maxCount=\"1\"") deletionRule="Nullify" destinationEntity="\#(other)" inverseName="\#(inverse)" inverseEntity="\#(other)"/></entity>"#
    }
    func contents(_ body: String) -> [UInt8] { Array("<model>\(body)</model>".utf8) }
    let old =
      entity(
        "Book", [("title", "String"), ("size", "Integer 32")], "shelf", to: "Shelf", many: false, "books")
      + entity("Shelf", [("title", "String")], "books", to: "Book", many: true, "shelf")
    let new =
      entity(
        "Volume", [("title", "String"), ("size", "Integer 32"), ("place", "String"), ("other", "String")],
        "home", to: "Shelf", many: false, "volumes")
      + entity("Shelf", [("title", "String")], "volumes", to: "Volume", many: true, "home")
    let bundle = XcodeBundle(
      name: "Shop", path: "Shop.xcdatamodeld",
      versions: [
        .init(name: "Shop", path: "1", contents: contents(old)),
        .init(name: "Shop 2", path: "2", contents: contents(new)),
      ])
    let result = XcodeImporter(
      bundle, mappings: [XcodeMappingFile(path: "x.xml", contents: Array(Self.mapping.utf8))]
    ).run(id: UUID())
    let rules = try #require(result.model?.mappings.first)
    let volume = try #require(rules.entities.first { $0.destination == "Volume" })
    #expect(volume.source == "Book")
    #expect(volume.filter == (try FetchPredicate(format: "size > 3")))
    #expect(volume.attributes.map { "\($0.name): \($0.value)" } == ["place: shelf.title", "size: 7"])
    #expect(volume.relationships.map { "\($0.name): \($0.value)" } == ["home: shelf"])
    #expect(rules.entities.first { $0.destination == "Shelf" }?.isCustom == true)
    let text = try #require(result.files["1-2.mapping.yaml"])
    #expect(text.contains("# Shelf: Core Data's policy class was App.ShelfPolicy."))
    let messages = result.diagnostics.filter { $0.location.path == "x.xml" }.map(\.message)
    #expect(messages.contains { $0.contains("attribute 'other' cannot be read") })
    #expect(messages.contains { $0.contains("no entity 'Ghost'") })
    let loaded = ModelLoader.load(name: "Shop", files: result.files.mapValues { Array($0.utf8) })
    #expect(loaded.unprovenModel == result.model, "\(loaded.diagnostics)")
  }

  /// The versions of a model of one entity, and a mapping model of its attributes.
  private func mapped(
    _ old: String, _ new: String, to version: String = "Shop 2", parts: [(name: String, archive: String)],
    policy: String? = nil
  ) -> XcodeImport {
    let bundle = XcodeBundle(
      name: "Shop", path: "Shop.xcdatamodeld",
      versions: [
        .init(name: "Shop", path: "1", contents: Array("<model>\(old)</model>".utf8)),
        .init(name: version, path: "2", contents: Array("<model>\(new)</model>".utf8)),
      ])
    let names = parts.indices.map { "a\($0)" }.joined(separator: " ")
    var attributes = ["sourcename": "Book", "destinationname": "Book", "mappingnumber": "1"]
    attributes["migrationpolicyclassname"] = policy
    let file =
      "<database>"
      + Self.object(
        "XDDEVMAPPINGMODEL", "m",
        ["sourcemodelpath": "Shop.xcdatamodel", "destinationmodelpath": "\(version).xcdatamodel"],
        ["entitymappings": "e"])
      + Self.object("XDDEVENTITYMAPPING", "e", attributes, ["attributemappings": names])
      + parts.enumerated().map {
        Self.object(
          "XDDEVATTRIBUTEMAPPING", "a\($0.offset)",
          ["name": $0.element.name, "valueexpressiondata": $0.element.archive])
      }.joined() + "</database>"
    return XcodeImporter(
      bundle, mappings: [XcodeMappingFile(path: "x.xml", contents: Array(file.utf8))]
    ).run(id: UUID())
  }

  private static let shelf =
    #"<entity name="Shelf"><attribute name="title" optional="YES" attributeType="String"/></entity>"#
  private static func book(_ attributes: String) -> String {
    #"<entity name="Book">\#(attributes)<relationship name="shelf" optional="YES" maxCount="1" destinationEntity="Shelf"/></entity>"#
      + shelf
  }

  /// Core Data would end the migration of an object without a shelf. Here that is known before.
  @Test(arguments: [nil, "App.BookPolicy"])
  func aValueThatMayBeNilForAMandatoryAttributeIsAskedFor(policy: String?) throws {
    let result = mapped(
      Self.book(""),
      Self.book(
        #"<attribute name="place" attributeType="String"/><attribute name="count" attributeType="Integer 16"/>"#
      ),
      parts: [("place", Self.path), ("count", Self.seven)], policy: policy)
    let loaded = ModelLoader.load(name: "Shop", files: result.files.mapValues { Array($0.utf8) })
    #expect(!loaded.hasErrors, "\(loaded.diagnostics)")
    #expect(result.model?.mappings.first?.entities.first?.attributes.map(\.name) == ["count"])
    let text = try #require(result.files["1-2.mapping.yaml"])
    #expect(text.contains("# Not taken over: of 'BookToBook', the value 'shelf.title' of attribute 'place'"))
    #expect(text.contains("- attribute 'place' of 'Book' is new") == (policy == nil))
    #expect(result.diagnostics.contains { $0.message.contains("may be nil, where a value is wanted") })
  }

  @Test func valuesOfAnotherTypeOrForWhatIsNotStoredAreLeftOut() throws {
    let result = mapped(
      Self.book(""),
      Self.book(
        #"<attribute name="day" optional="YES" attributeType="Binary"/><attribute name="gone" optional="YES" transient="YES" attributeType="String"/>"#
      ),
      parts: [("day", Self.seven), ("gone", Self.path), ("nobody", Self.path)])
    let loaded = ModelLoader.load(name: "Shop", files: result.files.mapValues { Array($0.utf8) })
    #expect(!loaded.hasErrors, "\(loaded.diagnostics)")
    #expect(result.model?.mappings.first?.entities ?? [] == [])
    #expect(result.diagnostics.count { $0.location.path == "x.xml" } == 2)
  }

  /// Links that lead back give no more paths to look at, and a mapping model that two paths lead to is one.
  @Test(.timeLimit(.minutes(10))) func linksThatLeadBackAreNotFollowed() throws {
    let files = FileManager.default
    let top = files.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    defer { try? files.removeItem(at: top) }
    func make(_ path: String) throws {
      try files.createDirectory(at: top.appending(path: path), withIntermediateDirectories: true)
      guard path.hasSuffix(".xcmappingmodel") else { return }
      try Data("<database/>".utf8).write(to: top.appending(path: path + "/xcmapping.xml"))
    }
    func link(_ path: String, _ target: String) throws {
      try files.createSymbolicLink(
        atPath: top.appending(path: path).path(percentEncoded: false), withDestinationPath: target)
    }
    for path in ["app/a", "app/b", "app/M.xcmappingmodel", "N.xcmappingmodel", "shared/S.xcmappingmodel"] {
      try make(path)
    }
    for name in ["a", "b"] {
      for number in 0..<4 { try link("app/\(name)/up\(number)", "..") }
      try link("app/\(name)/out", "../..")
      try link("app/\(name)/shared", "../../shared")
    }
    try link("app/Again.xcmappingmodel", "M.xcmappingmodel")
    try link("link", "app")
    for root in ["app", "link"] {
      let path = top.appending(path: root).path(percentEncoded: false)
      let found = try XcodeMappingFile.files(under: path).map { $0.path.dropFirst(path.count) }
      #expect(
        found == ["/Again.xcmappingmodel/xcmapping.xml", "/a/shared/S.xcmappingmodel/xcmapping.xml"],
        "\(root)")
    }
  }
}
