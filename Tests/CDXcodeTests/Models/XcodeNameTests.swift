import CDModel
import CDXcodeNames
import Foundation
import Testing

/// The names that elements have in Xcode's model, after a version was copied and its elements were renamed.
@Suite struct XcodeNameTests {
  private static func attribute(
    _ name: String, from old: String? = nil, _ info: [String: String] = [:]
  ) -> AttributeDescription {
    AttributeDescription(name: name, type: .string, renamedFrom: old, info: info)
  }

  /// The attributes of a model without former names. Each version has one entity `Doc`, and is based on the one before.
  private static func current(_ versions: [AttributeDescription]...) -> [[AttributeDescription]] {
    let model = ManagedObjectModel(
      name: "Shop", id: UUID(),
      versions: versions.enumerated().map { place, attributes in
        ModelVersion(
          number: place + 1, basedOn: place == 0 ? [] : [place],
          entities: [EntityDescription(name: "Doc", attributes: attributes)])
      }, currentVersionNumber: versions.count)
    return model.withoutFormerXcodeNames().versions.map { $0.entities[0].attributes }
  }

  @Test func aRenameEndsANameInAllLaterVersions() {
    let kept = ["xcode.name": "_id", "xcode.syncable": "NO", "unit": "cm"]
    let found = Self.current(
      [Self.attribute("id", kept)], [Self.attribute("serial", from: "id", kept)],
      [Self.attribute("serial", kept)], [Self.attribute("number", from: "Doc.serial", kept)])
    #expect(found.map { $0[0].info["xcode.name"] } == ["_id", nil, nil, nil])
    #expect(found.allSatisfy { $0[0].info["unit"] == "cm" && $0[0].info["xcode.syncable"] == "NO" })
    #expect(found.map { $0[0].name } == ["id", "serial", "serial", "number"])
  }

  /// The import gives a name to each version by itself, so that it depends on the other names of the version.
  @Test func aNameOfTheImportIsNoRename() {
    let (name, digit) = (["xcode.name": "_id"], ["xcode.name": "line 1"])
    let found = Self.current(
      [Self.attribute("id_", name), Self.attribute("id"), Self.attribute("line_1", digit)],
      [Self.attribute("id", from: "id_", name), Self.attribute("line_2", from: "line_1", digit)],
      [Self.attribute("id_3", from: "id", name)])
    #expect(
      found.map { $0.map { $0.info["xcode.name"] } } == [["_id", nil, "line 1"], ["_id", nil], ["_id"]])
  }

  /// Xcode's own rename brings another name with it.
  @Test func aNameThatWasChangedTooIsKept() {
    let found = Self.current(
      [Self.attribute("id", ["xcode.name": "_id"])],
      [Self.attribute("serial", from: "id", ["xcode.name": "_serial"])],
      [Self.attribute("number", from: "serial", ["xcode.name": "Legacy"])])
    #expect(found.map { $0[0].info["xcode.name"] } == ["_id", "_serial", "Legacy"])
  }

  @Test func aCopyOfAnElementHasItsOwnName() {
    let kept = ["xcode.name": "_id"]
    let found = Self.current(
      [Self.attribute("note", kept), Self.attribute("id", kept)],
      [Self.attribute("id", kept), Self.attribute("serial", kept)])
    #expect(found.map { $0.map { $0.info["xcode.name"] } } == [[nil, "_id"], ["_id", nil]])
  }

  /// `(none)` means that Xcode's file has no identifier, which would hide the rename from Core Data.
  @Test func aRenameEndsAnIdentifier() {
    let kept = ["xcode.elementID": "(none)"]
    let found = Self.current(
      [Self.attribute("id", kept)], [Self.attribute("id", kept)],
      [Self.attribute("serial", from: "id", kept)], [Self.attribute("serial", kept)])
    #expect(found.map { $0[0].info["xcode.elementID"] } == ["(none)", "(none)", nil, nil])
  }

  @Test func entitiesAndAllTheirPropertiesAreCompared() throws {
    let kept = ["xcode.name": "_x"]
    var entity = EntityDescription(
      name: "x", relationships: [RelationshipDescription(name: "x", destination: "x", info: kept)],
      fetchedProperties: [FetchedPropertyDescription(name: "x", entity: "x", info: kept)], info: kept)
    let first = ModelVersion(number: 3, entities: [entity])
    entity.name = "Y"
    entity.renamedFrom = "x"
    entity.relationships[0].name = "Y"
    entity.relationships[0].renamedFrom = "x"
    entity.fetchedProperties[0].name = "Z"
    let second = ModelVersion(number: 5, basedOn: [3], entities: [entity])
    let model = ManagedObjectModel(
      name: "Shop", id: UUID(), versions: [first, second], currentVersionNumber: 5)
    let result = model.withoutFormerXcodeNames()
    #expect(result.versions[0] == first)
    let found = try #require(result.versions[1].entities.first)
    #expect(found.info == [:])
    #expect(found.relationships.map(\.info) == [[:]])
    #expect(found.fetchedProperties.map(\.info) == [[:]])
  }
}
