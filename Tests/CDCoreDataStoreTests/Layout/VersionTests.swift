import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation
import Testing

/// Which version of a model a store is of.
@Suite("Versions of Core Data's stores") struct VersionTests {
  private static let country = "ALTER TABLE ZAUTHOR ADD COLUMN ZCOUNTRY VARCHAR"

  private func error(_ store: ShelfStore, _ model: ManagedObjectModel) -> CoreDataStoreError? {
    #expect(throws: CoreDataStoreError.self) { try CoreDataStore(at: store.url).version(in: model) }
  }

  private func number(_ store: ShelfStore, _ model: ManagedObjectModel) throws -> Int {
    try CoreDataStore(at: store.url).version(in: model).number
  }

  @Test func theColumnsTellTheVersion() throws {
    let model = try ShelfModel.model()
    #expect(try number(ShelfStore(identifiers: []), model) == 1)
    let newer = try ShelfStore(identifiers: [], extra: [Self.country])
    #expect(try number(newer, model) == 2)
    #expect(try CoreDataStore(at: newer.url).managedObjectModel(in: model).currentVersionNumber == 2)
  }

  @Test func whatDiffersIsNamedVersionByVersion() throws {
    let store = try ShelfStore(extra: [
      "ALTER TABLE ZAUTHOR DROP COLUMN ZBIRTH", "ALTER TABLE ZTAG ADD COLUMN ZHUE INTEGER",
      "UPDATE ZTAG SET ZHUE = 1",
    ])
    let found = try error(store, ShelfModel.model())
    guard case .noFittingVersion(_, "Shelf", let differences)? = found else {
      Issue.record("\(String(describing: found))")
      return
    }
    #expect(
      differences == [
        1: ["ZAUTHOR has no column ZBIRTH for 'birth' of 'Author'"],
        2: [
          "ZAUTHOR has no column ZBIRTH for 'birth' of 'Author'",
          "ZAUTHOR has no column ZCOUNTRY for 'country' of 'Author'",
        ],
      ])
    #expect("\(found as Any)".contains("version 2: ZAUTHOR has no column ZBIRTH"))
  }

  @Test(arguments: [
    ("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Writer' WHERE Z_ENT = 1", "the store has no entity 'Author'"),
    (
      "UPDATE Z_PRIMARYKEY SET Z_SUPER = 1 WHERE Z_ENT = 4",
      "'Magazine' inherits from 'Author' in the store, and from 'Item' in the version"
    ),
    ("DROP TABLE ZTAG", "the store has no table ZTAG for 'Tag'"),
    ("DROP TABLE Z_3TAGS", "the store has no table for the pairs of 'tags' of 'Book'"),
    ("ALTER TABLE Z_3TAGS DROP COLUMN Z_FOK_7TAGS", "Z_3TAGS has no column Z_FOK_7TAGS for an order"),
    (
      "ALTER TABLE ZITEM DROP COLUMN Z_FOK_AUTHOR",
      "ZITEM has no column Z_FOK_AUTHOR for the order of 'author' of 'Book'"
    ),
    (
      "ALTER TABLE ZTAG ADD COLUMN ZHUE INTEGER DEFAULT 5",
      "the column ZHUE of ZTAG belongs to nothing in the version"
    ),
    (
      "CREATE TABLE ZHUE (Z_PK INTEGER PRIMARY KEY); INSERT INTO ZHUE VALUES (1)",
      "the table ZHUE belongs to nothing in the version"
    ),
    (
      "ALTER TABLE ZTAG DROP COLUMN ZNAME; ALTER TABLE ZTAG ADD COLUMN ZNAME INTEGER",
      "'name' of 'Tag' has the column ZNAME of ZTAG, which is of type INTEGER"
    ),
  ]) func aStoreThatDiffersIsRefused(sql: String, difference: String) throws {
    let found = try error(ShelfStore(extra: [sql]), ShelfModel.model([ShelfModel.element(1)]))
    guard case .noFittingVersion(_, _, let differences)? = found else {
      Issue.record("\(String(describing: found))")
      return
    }
    #expect(differences[1]?.contains(difference) == true, "\(differences)")
  }

  @Test func versionsWithTheSameTablesAreToldApartByTheirIdentifiers() throws {
    let first = ShelfModel.element(1)
    let second = first.replacing("shelf-1", with: "shelf-2")
      .replacing(#"<attribute name="birth" optional="YES""#, with: #"<attribute name="birth""#)
    let model = try ShelfModel.model([first, second])
    #expect(try number(ShelfStore(identifiers: ["shelf-1"]), model) == 1)
    #expect(try number(ShelfStore(identifiers: ["shelf-2"]), model) == 2)
    let store = try ShelfStore(identifiers: ["other"])
    #expect(
      error(store, model) == .severalFittingVersions(store.url, model: "Shelf", numbers: [1, 2]))
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: model, version: 1)
    #expect(copy.version.number == 1)
  }

  @Test func versionsWithTheSameDataAreOne() throws {
    let first = ShelfModel.element(1)
    let model = try ShelfModel.model([first, first.replacing("shelf-1", with: "shelf-2")])
    #expect(try number(ShelfStore(identifiers: []), model) == 2)
  }

  /// Adds a version that is the first one with changes.
  private func model(
    _ element: String = ShelfModel.element(1), changing change: (inout ModelVersion) throws -> Void
  ) throws -> ManagedObjectModel {
    var model = try ShelfModel.model([element])
    var version = model.versions[0]
    (version.number, version.basedOn) = (2, [1])
    try change(&version)
    model.versions.append(version)
    return model
  }

  @Test func aStepThatChangesRowsOfTheSameDataIsNotLeftOut() throws {
    let store = try ShelfStore(identifiers: [])
    let several = CoreDataStoreError.severalFittingVersions(store.url, model: "Shelf", numbers: [1, 2])
    var mapped = try model { _ in }
    #expect(try number(store, mapped) == 2)
    mapped.mappings = [MappingRules(source: 1, destination: 2)]
    #expect(error(store, mapped) == several)
    let element = ShelfModel.element(1)
      .replacing(
        #"name="middle" optional="YES" attributeType="Integer 32""#,
        with: #"name="middle" optional="YES" attributeType="Integer 64""#)
    let exchanged = try model(element) { version in
      let sample = try #require(version.entities.firstIndex { $0.name == "Sample" })
      for (old, new) in [("middle", "spare"), ("large", "middle"), ("spare", "large")] {
        let place = try #require(version.entities[sample].attributes.firstIndex { $0.name == old })
        version.entities[sample].attributes[place].name = new
        version.entities[sample].attributes[place].renamedFrom = new == "middle" ? "large" : "middle"
      }
    }
    #expect(error(store, exchanged) == several)
  }

  /// The store may have equal values, which the copy could not have.
  @Test func aNewUniqueConstraintIsADifference() throws {
    let store = try ShelfStore(identifiers: [], extra: ["UPDATE ZTAG SET ZNAME = 'red'"])
    let model = try model { version in
      let tag = try #require(version.entities.firstIndex { $0.name == "Tag" })
      version.entities[tag].uniquenessConstraints = [["name"]]
    }
    #expect(
      error(store, model) == .severalFittingVersions(store.url, model: "Shelf", numbers: [1, 2]))
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: model, version: 1)
    #expect(copy.version.number == 1)
  }

  @Test func versionsThatLetEveryValueStayAreOne() throws {
    let first = ShelfModel.element(1)
    let second = first.replacing("shelf-1", with: "shelf-2")
      .replacing(
        #"name="middle" optional="YES" attributeType="Integer 32""#,
        with: #"name="middle" optional="YES" attributeType="Integer 64""#)
    #expect(first.count != second.count || first != second.replacing("shelf-2", with: "shelf-1"))
    var model = try ShelfModel.model([first, second])
    let store = try ShelfStore(identifiers: [])
    #expect(try number(store, model) == 2)
    // What the app would do on the way is not left out.
    model.mappings = [MappingRules(source: 1, destination: 2)]
    #expect(
      error(store, model) == .severalFittingVersions(store.url, model: "Shelf", numbers: [1, 2]))
  }

  @Test func aColumnThatHoldsNothingIsNoDifferenceWhereNoVersionHasIt() throws {
    let store = try ShelfStore(extra: ["ALTER TABLE ZTAG ADD COLUMN ZHUE INTEGER"])
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(copy.version.number == 1)
    #expect(copy.remarks.contains("ZTAG.ZHUE is empty, and belongs to nothing in the version"))
  }

  @Test(arguments: ["note", "_note"]) func siblingsOfOneNameAreToldApartByTheirRows(name: String) throws {
    let column = "Z\(name.uppercased())"
    func renamed(_ sql: [String]) -> [String] { sql.map { $0.replacing("ZNOTE", with: column) } }
    // As a migration in place leaves it: the columns are the other way round.
    let store = try ShelfStore(
      tables: renamed(ShelfStore.tables), rows: renamed(ShelfStore.rows),
      extra: ["UPDATE ZITEM SET \(column) = \(column)1, \(column)1 = \(column)"])
    let element = ShelfModel.element(1).replacing(#"name="note""#, with: "name=\"\(name)\"")
    _ = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model([element]))
    #expect(
      try store.copied(
        "SELECT _pk, \"Book.note\", \"Magazine.note\" FROM Item WHERE _pk IN (1, 4) ORDER BY 1")
        == [["1", "first", "NULL"], ["4", "NULL", "glossy"]])
  }

  /// An export names the renamed attribute as the version does, although `info` still has the name from before.
  @Test func aRenamedAttributeHasTheColumnOfItsNewName() throws {
    var model = try ShelfModel.model([ShelfModel.element(1)])
    var version = model.versions[0]
    (version.number, version.basedOn) = (2, [1])
    let item = try #require(version.entities.firstIndex { $0.name == "Item" })
    let rank = try #require(version.entities[item].attributes.firstIndex { $0.name == "rank" })
    version.entities[item].attributes[rank].name = "grade"
    version.entities[item].attributes[rank].renamedFrom = "rank"
    #expect(version.entities[item].attributes[rank].info["xcode.name"] == "_rank")
    model.versions.append(version)
    #expect(try number(ShelfStore(identifiers: []), model) == 1)
    let renamed = try ShelfStore(
      identifiers: [], extra: ["ALTER TABLE ZITEM RENAME COLUMN Z_RANK TO ZGRADE"])
    #expect(try CoreDataStore(at: renamed.url).version(in: model) == version)
  }

  @Test func anUnknownNumberIsRefused() throws {
    let store = try ShelfStore()
    let model = try ShelfModel.model()
    #expect(throws: CoreDataStoreError.unknownVersion(store.url, model: "Shelf", number: 7)) {
      try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: model, version: 7)
    }
    #expect(!FileManager.default.fileExists(atPath: store.copy.path()))
  }

  @Test func hashesOfOtherEntitiesAreRemarkedOn() throws {
    let plist = try PropertyListSerialization.data(
      fromPropertyList: [
        "NSStoreModelVersionHashes": Dictionary(
          uniqueKeysWithValues: ["Author", "Item", "Book", "Magazine", "Passport", "Sample", "Label"].map {
            ($0, Data([1]))
          })
      ] as [String: Any], format: .binary, options: 0)
    let store = try ShelfStore(plist: plist)
    let copy = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(
      copy.remarks == [
        "'Label' is among the hashes of the store's metadata, and not in Z_PRIMARYKEY",
        "'Tag' is not among the hashes of the store's metadata, and in Z_PRIMARYKEY",
      ])
  }

  @Test func aStoreOfAConfigurationHasItsEntitiesAlone() throws {
    var version = try #require(ShelfModel.model([ShelfModel.element(1)]).currentVersion)
    version.configurations = [ConfigurationDescription(name: "Samples", entities: ["Sample"])]
    let model = ManagedObjectModel(name: "Shelf", id: UUID(), versions: [version], currentVersionNumber: 1)
    let tables = ShelfStore.tables.filter { sql in
      ["ZSAMPLE", "Z_PRIMARYKEY (", "Z_METADATA", "Z_MODELCACHE"].contains { sql.contains("TABLE " + $0) }
    }
    let store = try ShelfStore(
      tables: tables,
      rows: [
        "INSERT INTO Z_PRIMARYKEY VALUES (1, 'Sample', 0, 1)",
        "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT, ZTEXT) VALUES (1, 1, 1, 'alone')",
      ])
    _ = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: model)
    #expect(try store.copied("SELECT text FROM Sample") == [["alone"]])
    let container = try PersistentContainer(
      PersistentStoreCoordinator(
        model: model, stores: [PersistentStoreDescription(.sqlite(store.copy), configuration: "Samples")]))
    let samples = FetchRequest<ManagedObject>(entityName: "Sample")
    #expect(try container.newContext().count(for: samples) == 1)
  }
}
