import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation
import Testing

/// Composites, whose fields have columns of their own.
@Suite("Composites and derived attributes of Core Data's stores") struct CompositeTests {
  private static let element = """
    <model>
      <entity name="Tag" representedClassName="Tag">
        <attribute name="name" attributeType="String"/>
        <attribute name="plain" attributeType="String" derived="YES" derivationExpression="lowercase:(name)"/>
        <attribute name="home" optional="YES" attributeType="Composite" composite="_Place"/>
      </entity>
      <composite name="_Place">
        <attribute name="_street" attributeType="String" defaultValueString="Main"/>
        <attribute name="city" attributeType="String"/>
        <attribute name="zip" optional="YES" attributeType="String"/>
      </composite>
    </model>
    """

  /// The columns of a tag: its key, its name, the derived name, the street, the city and the code of its home.
  private func store(_ tags: String) throws -> ShelfStore {
    try ShelfStore(
      tables: [
        "CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, ZNAME VARCHAR, ZPLAIN VARCHAR, ZHOME__STREET VARCHAR, "
          + "ZHOME_CITY VARCHAR, ZHOME_ZIP VARCHAR, Z_ENT INTEGER DEFAULT 1, Z_OPT INTEGER DEFAULT 1)",
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
        "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
        "INSERT INTO Z_PRIMARYKEY VALUES (1, 'Tag', 0, 9)",
      ],
      rows: [
        "INSERT INTO ZTAG (Z_PK, ZNAME, ZPLAIN, ZHOME__STREET, ZHOME_CITY, ZHOME_ZIP) VALUES \(tags)"
      ])
  }

  private func copy(_ store: ShelfStore, acceptsLosses: Bool = false) throws -> CoreDataStoreCopy {
    try CoreDataStore(at: store.url).copy(
      to: .sqlite(store.copy), model: ShelfModel.model([Self.element]), acceptsLosses: acceptsLosses)
  }

  @Test func renamedFieldsAreFound() throws {
    let store = try store("(1, 'Red', 'red', 'High', 'Leeds', NULL)")
    let result = try copy(store)
    #expect(result.losses.count == 0)
    #expect(
      try store.copied("SELECT \"home.street\", \"home.city\", \"home.zip\" FROM Tag")
        == [["High", "Leeds", "NULL"]])
  }

  /// A composite whose fields are all nil is nil.
  @Test func aMandatoryFieldIsMissingOnlyWhereTheCompositeIsThere() throws {
    let store = try store("(1, 'Red', 'red', NULL, NULL, 'LS1'), (2, 'Blue', 'blue', NULL, NULL, NULL)")
    #expect(throws: CoreDataStoreError.self) { try copy(store) }
    let result = try copy(store, acceptsLosses: true)
    #expect(
      result.losses.first.map(\.description)
        == ["Tag p1, home.city: it has no value, but is mandatory and has no default"])
    #expect(
      result.remarks.contains(
        "'home.street' of 'Tag' is mandatory, but had no value in 1 object; it got its default"))
    #expect(
      try store.copied("SELECT \"home.street\", \"home.city\", \"home.zip\" FROM Tag ORDER BY _pk")
        == [["Main", "", "LS1"], ["NULL", "NULL", "NULL"]])
  }

  @Test func aDerivedAttributeWithoutAValueIsRemarkedOn() throws {
    let store = try store("(1, 'Red', 'red', NULL, NULL, NULL), (2, 'Blue', NULL, NULL, NULL, NULL)")
    let result = try copy(store)
    #expect(
      result.remarks.contains(
        "'plain' of 'Tag' is mandatory and derived, but had no value in 1 object; it gets one when the object is "
          + "changed and saved"))
    #expect(try store.copied("SELECT plain FROM Tag ORDER BY _pk") == [["red"], ["NULL"]])
  }
}
