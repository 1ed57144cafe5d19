import CDMapping
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

  /// An archive of 24 calls, each of which has the next one as its operand and as its argument.
  static let shared =
    "YnBsaXN0MDDUAQIDBAUG9fhZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKvEDYHCBEWGyAlKi80OT5DSE1SV1xhZmtwdXp/hImNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5efo7/JVJG51bGzUCQoLDA0ODxBWJGNsYXNzW05TQXJndW1lbnRzWU5TT3BlcmFuZF5OU1NlbGVjdG9yTmFtZYAzgBmAAoAy1AkKCwwSExQVgDOAGoADgDLUCQoLDBcYGRqAM4AbgASAMtQJCgsMHB0eH4AzgByABYAy1AkKCwwhIiMkgDOAHYAGgDLUCQoLDCYnKCmAM4AegAeAMtQJCgsMKywtLoAzgB+ACIAy1AkKCwwwMTIzgDOAIIAJgDLUCQoLDDU2NziAM4AhgAqAMtQJCgsMOjs8PYAzgCKAC4Ay1AkKCww/QEFCgDOAI4AMgDLUCQoLDERFRkeAM4AkgA2AMtQJCgsMSUpLTIAzgCWADoAy1AkKCwxOT1BRgDOAJoAPgDLUCQoLDFNUVVaAM4AngBCAMtQJCgsMWFlaW4AzgCiAEYAy1AkKCwxdXl9ggDOAKYASgDLUCQoLDGJjZGWAM4AqgBOAMtQJCgsMZ2hpaoAzgCuAFIAy1AkKCwxsbW5vgDOALIAVgDLUCQoLDHFyc3SAM4AtgBaAMtQJCgsMdnd4eYAzgC6AF4Ay1AkKCwx7fH1+gDOAL4AYgDLUCQoLDICBgoOAM4AwgDGAMtIJhYaHWk5TLm9iamVjdHOANKGIgALSCYWKi4A0oYyAA9IJhY6PgDShkIAE0gmFkpOANKGUgAXSCYWWl4A0oZiABtIJhZqbgDShnIAH0gmFnp+ANKGggAjSCYWio4A0oaSACdIJhaangDShqIAK0gmFqquANKGsgAvSCYWur4A0obCADNIJhbKzgDShtIAN0gmFtreANKG4gA7SCYW6u4A0obyAD9IJhb6/gDShwIAQ0gmFwsOANKHEgBHSCYXGx4A0ociAEtIJhcrLgDShzIAT0gmFzs+ANKHQgBTSCYXS04A0odSAFdIJhdbXgDSh2IAW0gmF2tuANKHcgBfSCYXe34A0oeCAGNIJheLjgDSh5IAx0QnmgDVRZtLp6uvsWCRjbGFzc2VzWiRjbGFzc25hbWWj7O3uXxAUTlNGdW5jdGlvbkV4cHJlc3Npb25cTlNFeHByZXNzaW9uWE5TT2JqZWN00unq8PGi8e5XTlNBcnJhedLp6vP0o/Tt7l8QEE5TU2VsZkV4cHJlc3Npb27R9vdUcm9vdIABEgABhqAACAARABsAJAApADIARAB9AIMAjACTAJ8AqQC4ALoAvAC+AMAAyQDLAM0AzwDRANoA3ADeAOAA4gDrAO0A7wDxAPMA/AD+AQABAgEEAQ0BDwERARMBFQEeASABIgEkASYBLwExATMBNQE3AUABQgFEAUYBSAFRAVMBVQFXAVkBYgFkAWYBaAFqAXMBdQF3AXkBewGEAYYBiAGKAYwBlQGXAZkBmwGdAaYBqAGqAawBrgG3AbkBuwG9Ab8ByAHKAcwBzgHQAdkB2wHdAd8B4QHqAewB7gHwAfIB+wH9Af8CAQIDAgwCDgIQAhICFAIdAh8CIQIjAiUCLgIwAjICNAI2Aj8CQQJDAkUCRwJMAlcCWQJbAl0CYgJkAmYCaAJtAm8CcQJzAngCegJ8An4CgwKFAocCiQKOApACkgKUApkCmwKdAp8CpAKmAqgCqgKvArECswK1AroCvAK+AsACxQLHAskCywLQAtIC1ALWAtsC3QLfAuEC5gLoAuoC7ALxAvMC9QL3AvwC/gMAAwIDBwMJAwsDDQMSAxQDFgMYAx0DHwMhAyMDKAMqAywDLgMzAzUDNwM5Az4DQANCA0QDSQNLA00DTwNUA1YDWANaA10DXwNhA2YDbwN6A34DlQOiA6sDsAOzA7sDwAPEA9cD2gPfA+EAAAAAAAACAQAAAAAAAAD5AAAAAAAAAAAAAAAAAAAD5g=="
  /// An archive of `now()`.
  static let now =
    "YnBsaXN0MDDUAQIDBAUGKy5ZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKpBwgTGBkgIycoVSRudWxs1QkKCwwNDg8QERJWJGNsYXNzW05TQXJndW1lbnRzXxAQTlNFeHByZXNzaW9uVHlwZVlOU09wZXJhbmReTlNTZWxlY3Rvck5hbWWABIAGEASAAoAD0wkUCxUWF18QGE5TQ29uc3RhbnRWYWx1ZUNsYXNzTmFtZYAFgAcQAFNub3fSGhscHVgkY2xhc3Nlc1okY2xhc3NuYW1lox0eH18QFE5TRnVuY3Rpb25FeHByZXNzaW9uXE5TRXhwcmVzc2lvblhOU09iamVjdNIaGyEioyIeH18QGU5TQ29uc3RhbnRWYWx1ZUV4cHJlc3Npb27SCSQlJlpOUy5vYmplY3RzgAigXxAVX05TUHJlZGljYXRlVXRpbGl0aWVz0hobKSqiKh9XTlNBcnJhedEsLVRyb290gAESAAGGoAAIABEAGwAkACkAMgBEAE4AVABfAGYAcgCFAI8AngCgAKIApACmAKgArwDKAMwAzgDQANQA2QDiAO0A8QEIARUBHgEjAScBQwFIAVMBVQFWAW4BcwF2AX4BgQGGAYgAAAAAAAACAQAAAAAAAAAvAAAAAAAAAAAAAAAAAAABjQ=="
  /// An archive of the constant 1.
  static let one =
    "YnBsaXN0MDDUAQIDBAUGFxpZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKkBwgPEFUkbnVsbNMJCgsMDQ5WJGNsYXNzXxAPTlNDb25zdGFudFZhbHVlXxAQTlNFeHByZXNzaW9uVHlwZYADgAIQABAB0hESExRYJGNsYXNzZXNaJGNsYXNzbmFtZaMUFRZfEBlOU0NvbnN0YW50VmFsdWVFeHByZXNzaW9uXE5TRXhwcmVzc2lvblhOU09iamVjdNEYGVRyb290gAESAAGGoAgRGyQpMkRJT1Zdb4KEhoiKj5ijp8PQ2dzh4wAAAAAAAAEBAAAAAAAAABsAAAAAAAAAAAAAAAAAAADo"
  /// An archive of a call of the policy's own: `FUNCTION($entityPolicy, "flag:", $source)`.
  static let policyCall =
    "YnBsaXN0MDDUAQIDBAUGMDNZJGFyY2hpdmVyWCRvYmplY3RzVCR0b3BYJHZlcnNpb25fEA9OU0tleWVkQXJjaGl2ZXKrBwgTGB8gIygrLC9VJG51bGzVCQoLDA0ODxARElYkY2xhc3NbTlNBcmd1bWVudHNfEBBOU0V4cHJlc3Npb25UeXBlWU5TT3BlcmFuZF5OU1NlbGVjdG9yTmFtZYAFgAYQBIACgATTCQsUFRYXWk5TVmFyaWFibGWAAxACgAjSGRobHFgkY2xhc3Nlc1okY2xhc3NuYW1loxwdHl8QFE5TVmFyaWFibGVFeHByZXNzaW9uXE5TRXhwcmVzc2lvblhOU09iamVjdFVmbGFnOtIZGiEioyIdHl8QFE5TRnVuY3Rpb25FeHByZXNzaW9u0gkkJSZaTlMub2JqZWN0c4AHoSeACdIZGikqoioeV05TQXJyYXlcZW50aXR5UG9saWN50wkLFC0WLoADgApWc291cmNl0TEyVHJvb3SAARIAAYagAAgAEQAbACQAKQAyAEQAUABWAGEAaAB0AIcAkQCgAKIApACmAKgAqgCxALwAvgDAAMIAxwDQANsA3wD2AQMBDAESARcBGwEyATcBQgFEAUYBSAFNAVABWAFlAWwBbgFwAXcBegF/AYEAAAAAAAACAQAAAAAAAAA0AAAAAAAAAAAAAAAAAAABhg=="

  @Test func archivedExpressionsAreRead() {
    #expect(ArchivedExpression.text(base64: Self.path) == "$source.shelf.title")
    #expect(ArchivedExpression.text(base64: Self.seven) == "7")
    #expect(ArchivedExpression.text(base64: Self.circle) == nil)
    #expect(ArchivedExpression.text(base64: "no archive") == nil)
    #expect(ArchivedExpression.text(base64: Self.now) == "now()")
    #expect(
      ArchivedExpression.text(base64: Self.policyCall) == #"FUNCTION($entityPolicy, "flag:", $source)"#)
  }

  /// The text would have millions of calls.
  @Test(.timeLimit(.minutes(20))) func objectsThatAreSharedAreNotReadWithoutEnd() {
    #expect(ArchivedExpression.text(base64: Self.shared) == nil)
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

  /// Version 1 has two entities of comments, which version 2 has in one.
  private func merged(_ extra: [String: String] = [:], versions: (String, String) = ("Shop", "Shop 2"))
    -> XcodeImport
  {
    let text = #"<attribute name="text" optional="YES" attributeType="String"/>"#
    let old = #"<entity name="Comment">\#(text)</entity><entity name="ReaderComment">\#(text)</entity>"#
    let new = #"<entity name="Comment">\#(text)</entity>"#
    let bundle = XcodeBundle(
      name: "Shop", path: "Shop.xcdatamodeld",
      versions: [
        .init(name: "Shop", path: "1", contents: Array("<model>\(old)</model>".utf8)),
        .init(name: "Shop 2", path: "2", contents: Array("<model>\(new)</model>".utf8)),
      ])
    let file =
      "<database>"
      + Self.object(
        "XDDEVMAPPINGMODEL", "m",
        [
          "sourcemodelpath": "App/Shop.xcdatamodeld/\(versions.0).xcdatamodel",
          "destinationmodelpath": "App/Shop.xcdatamodeld/\(versions.1).xcdatamodel",
        ], ["entitymappings": "e1 e2"])
      + Self.object(
        "XDDEVENTITYMAPPING", "e1",
        ["sourcename": "Comment", "destinationname": "Comment", "mappingnumber": "1"])
      + Self.object(
        "XDDEVENTITYMAPPING", "e2",
        ["sourcename": "ReaderComment", "destinationname": "Comment", "mappingnumber": "2"]
          .merging(extra) { $1 }) + "</database>"
    return XcodeImporter(
      bundle, mappings: [XcodeMappingFile(path: "x.xml", contents: Array(file.utf8))]
    ).run(id: UUID())
  }

  @Test func twoMappingsIntoOneEntityAreBothTaken() throws {
    let result = merged()
    let rules = try #require(result.model?.mappings.first)
    #expect(
      rules.entities == [
        EntityRule(destination: "Comment", source: "Comment"),
        EntityRule(destination: "Comment", source: "ReaderComment"),
      ])
    #expect(rules.drops == [])
    let model = try #require(result.model)
    let step = MigrationStep(from: model.versions[0], to: model.versions[1], rules: rules)
    #expect(step.isProven && step.losses.isEmpty)
  }

  /// Without its filter a mapping takes more objects than Core Data took.
  @Test func aFilterThatCannotBeTakenOverIsDecidedByAPerson() throws {
    let result = merged(["sourcefilterpredicatestring": "FUNCTION(self, &quot;isOld&quot;) == YES"])
    let model = try #require(result.model)
    let rules = try #require(model.mappings.first)
    #expect(rules.entities.map { $0.undecided.map(\.name) } == [[], ["where"]])
    let step = MigrationStep(from: model.versions[0], to: model.versions[1], rules: rules)
    #expect(!step.isProven)
    #expect(try #require(result.files["1-2.mapping.yaml"]).contains("undecided: { where: "))
  }

  /// Core Data maps entity by entity: objects whose owner a filter leaves behind go on without it.
  @Test(arguments: [true, false], [nil, "App.ArtistPolicy"])
  func whatAFilteredEntityOwnsIsKept(isOptional: Bool, policy: String?) throws {
    let flag = isOptional ? #" optional="YES""# : ""
    let text =
      #"<entity name="Artist"><attribute name="isGone" attributeType="Boolean" defaultValueString="NO"/><relationship name="albums" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Album" inverseName="artist" inverseEntity="Album"/></entity><entity name="Album"><relationship name="artist"\#(flag) maxCount="1" destinationEntity="Artist" inverseName="albums" inverseEntity="Artist"/></entity>"#
    let result = mapped(
      text, text, entity: "Artist", parts: [], policy: policy, filter: "isGone == NO")
    let model = try #require(result.model)
    let rule = try #require(model.mappings.first?.entities.first)
    // Where the app's own code decides, there is nothing to choose.
    #expect(rule.filter != nil && rule.owned == (policy == nil ? .keep : .drop))
    let step = MigrationStep(from: model.versions[0], to: model.versions[1], rules: model.mappings[0])
    #expect(!step.losses.contains { if case .ownedObjectsLeft = $0.kind { true } else { false } })
    guard policy == nil else { return }
    #expect(step.isProven == isOptional)
    let loaded = ModelLoader.load(name: "Shop", files: result.files.mapValues { Array($0.utf8) })
    #expect(loaded.unprovenModel == model && !loaded.hasErrors, "\(loaded.diagnostics)")
    // Core Data ends the migration of an album without the artist that it must have.
    #expect(
      try #require(result.files["1-2.mapping.yaml"]).contains("write 'owned: drop' for 'Artist'")
        == !isOptional)
  }

  @Test func aMappingModelOfAVersionThatIsNotThereIsNamed() throws {
    let result = merged(versions: ("Shop", "Shop 3"))
    #expect(
      result.diagnostics.filter { $0.location.path == "x.xml" }.map(\.message) == [
        "the mapping model is for 'Shop' to 'Shop 3', and 'Shop 3' is not a version that is imported; it is left out"
      ])
  }

  /// What is inferred instead of an expression that cannot be imported is not what was meant.
  @Test(arguments: [nil, "App.BookPolicy"])
  func anExpressionThatCannotBeTakenOverKeepsTheStepOpen(policy: String?) throws {
    let flag = #"<attribute name="isRead" attributeType="Boolean" defaultValueString="NO"/>"#
    let result = mapped(
      Self.book(flag), Self.book(flag), parts: [("isRead", Self.policyCall)], policy: policy)
    let model = try #require(result.model)
    let rule = try #require(model.mappings.first?.entities.first)
    #expect(rule.undecided.map(\.name) == ["isRead"])
    #expect(rule.undecided.first?.note.contains(#"FUNCTION($entityPolicy, "flag:", $source)"#) == true)
    let loaded = ModelLoader.load(name: "Shop", files: result.files.mapValues { Array($0.utf8) })
    #expect(loaded.unprovenModel == model)
    let found = loaded.diagnostics.filter { $0.location.path == "1-2.mapping.yaml" }
    #expect(found.count == 1 && found[0].message.contains("is undecided"), "\(loaded.diagnostics)")
    let step = MigrationStep(from: model.versions[0], to: model.versions[1], rules: model.mappings[0])
    #expect(!step.isProven)
    #expect(MappingFile.Confirmations(of: step).isEmpty)
  }

  @Test func constantsOfBooleansAndTheTimeAreTakenOver() throws {
    let result = mapped(
      Self.book(""),
      Self.book(
        #"<attribute name="isRead" attributeType="Boolean" defaultValueString="NO"/><attribute name="made" optional="YES" attributeType="Date"/>"#
      ), parts: [("isRead", Self.one), ("made", Self.now)])
    let rule = try #require(result.model?.mappings.first?.entities.first)
    #expect(rule.attributes.map { "\($0.name): \($0.value)" } == ["isRead: YES", "made: now()"])
    #expect(rule.undecided == [])
    #expect(result.diagnostics.filter { $0.location.path == "x.xml" } == [])
  }

  /// The versions of a model of one entity, and a mapping model of its attributes.
  private func mapped(
    _ old: String, _ new: String, to version: String = "Shop 2", entity: String = "Book",
    parts: [(name: String, archive: String)], policy: String? = nil, filter: String? = nil
  ) -> XcodeImport {
    let bundle = XcodeBundle(
      name: "Shop", path: "Shop.xcdatamodeld",
      versions: [
        .init(name: "Shop", path: "1", contents: Array("<model>\(old)</model>".utf8)),
        .init(name: version, path: "2", contents: Array("<model>\(new)</model>".utf8)),
      ])
    let names = parts.indices.map { "a\($0)" }.joined(separator: " ")
    var attributes = ["sourcename": entity, "destinationname": entity, "mappingnumber": "1"]
    attributes["migrationpolicyclassname"] = policy
    attributes["sourcefilterpredicatestring"] = filter
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
    #expect(text.contains("# Not imported: of 'BookToBook', the value 'shelf.title' of attribute 'place'"))
    #expect(text.contains("- attribute 'place' of 'Book' is new") == (policy == nil))
    #expect(result.diagnostics.contains { $0.message.contains("may be nil, but a value is needed") })
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
    let rule = try #require(result.model?.mappings.first?.entities.first)
    #expect(rule.attributes == [] && rule.undecided.map(\.name) == ["day"])
    let messages = result.diagnostics.filter { $0.location.path == "x.xml" }.map(\.message)
    #expect(messages.count == 3)
    #expect(messages.contains { $0.contains("there is no attribute 'nobody' of 'Book' in version 2") })
  }

  /// The import has renamed what the mapping model calls by its name in Xcode.
  @Test func aMappingOfARenamedPropertyIsTaken() throws {
    let result = mapped(
      Self.book(""),
      Self.book(
        #"<attribute name="_size" optional="YES" attributeType="Integer 32"/><attribute name="_rank" optional="YES" attributeType="Integer 32"/>"#
      ), parts: [("_size", Self.seven), ("_rank", Self.policyCall)])
    let rule = try #require(result.model?.mappings.first?.entities.first)
    #expect(rule.attributes.map { "\($0.name): \($0.value)" } == ["size: 7"])
    #expect(rule.undecided.map(\.name) == ["rank"])
    let loaded = ModelLoader.load(name: "Shop", files: result.files.mapValues { Array($0.utf8) })
    #expect(loaded.unprovenModel == result.model, "\(loaded.diagnostics)")
  }

  @Test func aPathOfRenamedPropertiesIsTaken() throws {
    var archive = try #require(Data(base64Encoded: Self.path))
    let range = try #require(archive.range(of: Data("shelf.title".utf8)))
    archive.replaceSubrange(range, with: Data("_helf._itle".utf8))
    func version(_ attributes: String) -> String {
      #"<entity name="_Book">\#(attributes)<relationship name="_helf" optional="YES" maxCount="1" destinationEntity="Shelf"/></entity><entity name="Shelf"><attribute name="_itle" optional="YES" attributeType="String"/></entity>"#
    }
    let result = mapped(
      version(""), version(#"<attribute name="_place" optional="YES" attributeType="String"/>"#),
      entity: "_Book", parts: [("_place", archive.base64EncodedString())])
    let rule = try #require(result.model?.mappings.first?.entities.first)
    #expect(rule.destination == "Book" && rule.source == nil && rule.name == nil)
    #expect(rule.attributes.map { "\($0.name): \($0.value)" } == ["place: helf.itle"])
    #expect(result.diagnostics.filter { $0.location.path == "x.xml" } == [])
  }

  /// More than a path of names: a filter and an expression have the names of the version, as fetch requests have.
  @Test func aFilterAndAnExpressionOfRenamedPropertiesAreTaken() throws {
    var archive = try #require(Data(base64Encoded: Self.path))
    let range = try #require(archive.range(of: Data("shelf.title".utf8)))
    archive.replaceSubrange(range, with: Data("_pad.@count".utf8))
    func version(_ attributes: String) -> String {
      #"<entity name="Book">\#(attributes)<attribute name="_size" optional="YES" attributeType="Integer 32"/><relationship name="_pad" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Page" inverseName="book" inverseEntity="Page"/></entity><entity name="Page"><relationship name="book" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Book" inverseName="_pad" inverseEntity="Book"/></entity>"#
    }
    let result = mapped(
      version(""), version(#"<attribute name="pages" optional="YES" attributeType="Integer 64"/>"#),
      parts: [("pages", archive.base64EncodedString())], filter: "_size &gt; 3")
    let rule = try #require(result.model?.mappings.first?.entities.first)
    #expect(rule.filter == (try FetchPredicate(format: "size > 3")))
    #expect(rule.attributes.map { "\($0.name): \($0.value)" } == ["pages: pad.@count"])
    #expect(rule.undecided == [])
    #expect(result.diagnostics.filter { $0.location.path == "x.xml" } == [])
  }

  /// Xcode writes an expression for each attribute, and most of them only copy the value.
  @Test func aCopyOfARenamedPropertyNeedsNoRule() throws {
    var archive = try #require(Data(base64Encoded: Self.path))
    let range = try #require(archive.range(of: Data("shelf.title".utf8)))
    archive.replaceSubrange(range, with: Data("_helf_title".utf8))
    let book = Self.book(#"<attribute name="_helf_title" optional="YES" attributeType="String"/>"#)
    let result = mapped(book, book, parts: [("_helf_title", archive.base64EncodedString())])
    #expect(result.model?.mappings.first?.entities == [])
    #expect(result.diagnostics.filter { $0.location.path == "x.xml" } == [])
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
