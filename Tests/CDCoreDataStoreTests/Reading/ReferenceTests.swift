import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation
import Testing

/// References of which a store has one side only, or that lead to no object.
@Suite("References that do not lead back") struct ReferenceTests {
  private static let element = """
    <model>
      <entity name="Agent" representedClassName="Agent">
        <relationship name="badge" optional="YES" maxCount="1" deletionRule="Nullify"
            destinationEntity="Badge" inverseName="holder" inverseEntity="Badge"/>
        <relationship name="locker" optional="YES" maxCount="1" deletionRule="Nullify"
            destinationEntity="Locker" inverseName="user" inverseEntity="Locker"/>
      </entity>
      <entity name="Badge" representedClassName="Badge">
        <relationship name="holder" optional="YES" maxCount="1" deletionRule="Nullify"
            destinationEntity="Agent" inverseName="badge" inverseEntity="Agent"/>
        <relationship name="marks" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Mark"/>
      </entity>
      <entity name="Chief" representedClassName="Chief" parentEntity="Agent"/>
      <entity name="Locker" representedClassName="Locker">
        <relationship name="user" optional="YES" maxCount="1" deletionRule="No Action"
            destinationEntity="Agent" inverseName="locker" inverseEntity="Agent"/>
      </entity>
      <entity name="Mark" representedClassName="Mark">
        <attribute name="text" optional="YES" attributeType="String"/>
      </entity>
      <entity name="Person" representedClassName="Person">
        <relationship name="spouse" optional="YES" maxCount="1" deletionRule="Nullify"
            destinationEntity="Person" inverseName="spouse" inverseEntity="Person"/>
      </entity>
    </model>
    """

  private static let tables: [String] = [
    table("AGENT", "ZBADGE INTEGER, ZLOCKER INTEGER"), table("BADGE", "ZHOLDER INTEGER"),
    table("LOCKER", "ZUSER INTEGER"), table("MARK", "Z2MARKS INTEGER, ZTEXT VARCHAR"),
    table("PERSON", "ZSPOUSE INTEGER"),
    "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
    "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
    "INSERT INTO Z_PRIMARYKEY VALUES (1, 'Agent', 0, 9), (2, 'Badge', 0, 9), (3, 'Chief', 1, 0)",
    "INSERT INTO Z_PRIMARYKEY VALUES (4, 'Locker', 0, 9), (5, 'Mark', 0, 9), (6, 'Person', 0, 9)",
  ]

  private static func table(_ name: String, _ columns: String) -> String {
    "CREATE TABLE Z\(name) (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, \(columns))"
  }

  private func store(_ rows: String...) throws -> ShelfStore {
    try ShelfStore(tables: Self.tables, rows: rows)
  }

  private func copy(_ store: ShelfStore, acceptsLosses: Bool = false) throws -> CoreDataStoreCopy {
    try CoreDataStore(at: store.url).copy(
      to: .sqlite(store.copy), model: ShelfModel.model([Self.element]), acceptsLosses: acceptsLosses)
  }

  private func findings(_ store: ShelfStore) throws -> [String] {
    let model = try PersistentStoreCoordinator.metadata(forStoreAt: store.copy).managedObjectModel
    return try PersistentStoreCoordinator(model: model, at: .sqlite(store.copy)).verify().map(\.description)
  }

  @Test func halfOfAPairOfARelationshipThatIsItsOwnInverseIsALoss() throws {
    let store = try store(
      "INSERT INTO ZPERSON VALUES (1, 6, 1, 2), (2, 6, 1, NULL), (3, 6, 1, 4), (4, 6, 1, 3)")
    let result = try copy(store, acceptsLosses: true)
    #expect(
      result.losses.first.map(\.description)
        == ["Person p1, spouse: its object, p2, does not refer back to it"])
    #expect(!result.remarks.contains { $0.contains("it was set on both") })
    #expect(
      try store.copied("SELECT _pk, spouse FROM Person ORDER BY _pk")
        == [["1", "NULL"], ["2", "NULL"], ["3", "4"], ["4", "3"]])
    #expect(try findings(store) == [])
  }

  /// An entity and its subentity have tables of their own in the result of a reading, and one column in the store.
  @Test func twoReferencesToOneObjectAreALossWhateverTheirEntities() throws {
    let store = try store(
      "INSERT INTO ZAGENT VALUES (1, 1, 1, 1, NULL), (2, 3, 1, 1, NULL)",
      "INSERT INTO ZBADGE VALUES (1, 2, 1, NULL)")
    let result = try copy(store, acceptsLosses: true)
    #expect(result.losses.first.map(\.property) == ["badge"])
    #expect(result.losses.first.map(\.reason) == ["its object, p1, belongs to another object already"])
    #expect(
      result.remarks.contains("'badge' of 'Agent' was set on one side only in 1 object; it was set on both"))
    #expect(try store.copied("SELECT count(*) FROM Agent WHERE badge = 1") == [["1"]])
  }

  /// The rule "no action" lets a reference lead to no object, but not two of a one-to-one relationship.
  @Test func twoReferencesToNoObjectAreALoss() throws {
    let store = try store("INSERT INTO ZAGENT VALUES (1, 1, 1, NULL, 9), (2, 1, 1, NULL, 9)")
    let result = try copy(store, acceptsLosses: true)
    #expect(
      result.losses.first.map(\.description) == ["Agent p2, locker: its object, p9, does not exist"])
    #expect(try store.copied("SELECT _pk, locker FROM Agent ORDER BY _pk") == [["1", "9"], ["2", "NULL"]])
  }

  @Test func zeroIsNoObjectOnEitherSide() throws {
    let store = try store(
      "INSERT INTO ZAGENT VALUES (1, 1, 1, 1, NULL), (2, 1, 1, NULL, 0)",
      "INSERT INTO ZBADGE VALUES (1, 2, 1, 0)",
      "INSERT INTO ZMARK VALUES (1, 5, 1, 0, 'a'), (2, 5, 1, 1, 'b')")
    let result = try copy(store)
    #expect(result.losses.count == 0)
    #expect(
      result.remarks.contains("'badge' of 'Agent' was set on one side only in 1 object; it was set on both"))
    #expect(
      try store.copied("SELECT badge, locker FROM Agent ORDER BY _pk") == [["1", "NULL"], ["NULL", "NULL"]])
    #expect(try store.copied("SELECT _source, _target FROM \"Badge.marks\"") == [["1", "2"]])
  }

  /// Core Data does not store it, so that no object has a reference.
  @Test func aMandatoryTransientRelationshipIsALossOfEachObject() throws {
    let element = """
      <model>
        <entity name="Cover" representedClassName="Cover">
          <attribute name="text" optional="YES" attributeType="String"/>
        </entity>
        <entity name="Volume" representedClassName="Volume">
          <attribute name="text" optional="YES" attributeType="String"/>
          <relationship name="cover" transient="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Cover"/>
        </entity>
      </model>
      """
    let tables = [Self.table("COVER", "ZTEXT VARCHAR"), Self.table("VOLUME", "ZTEXT VARCHAR")]
    let store = try ShelfStore(
      tables: tables + Self.tables.filter { $0.hasPrefix("CREATE TABLE Z_") },
      rows: [
        "INSERT INTO Z_PRIMARYKEY VALUES (1, 'Cover', 0, 1), (2, 'Volume', 0, 2)",
        "INSERT INTO ZCOVER VALUES (1, 1, 1, 'red')",
        "INSERT INTO ZVOLUME VALUES (1, 2, 1, 'a'), (2, 2, 1, 'b')",
      ])
    let model = try ShelfModel.model([element])
    let error = #expect(throws: CoreDataStoreError.self) {
      try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: model, acceptsLosses: true)
    }
    guard case .losses(_, let losses)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(losses.unacceptableCount == 2)
    #expect(
      losses.first.map(\.description) == [
        "Volume p1, cover: it is transient in Core Data, but mandatory here",
        "Volume p2, cover: it is transient in Core Data, but mandatory here",
      ])
  }
}
