import CDModel
import CDRuntime
import CDXcodeNames

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A Core Data store that is open for reading.
final class CoreDataSource {
  let database: SourceDatabase
  let entities: StoredEntities
  let metadata: StoredMetadata
  let usage: ColumnUsage
  private(set) var schema: SourceSchema

  var url: URL { database.url }

  init(_ url: URL) throws(CoreDataStoreError) {
    database = try SourceDatabase(url)
    var schema = try SourceSchema(database)
    for table in ["Z_METADATA", "Z_PRIMARYKEY"] where !schema.has(table) {
      throw .notACoreDataStore(url, reason: "it has no table \(table)")
    }
    metadata = try StoredMetadata(database, &schema)
    entities = try StoredEntities(database, &schema)
    usage = ColumnUsage(database)
    self.schema = schema
  }

  /// The table of an entity's objects; nil if the store does not have it.
  func table(of entity: StoredEntities.Entity) -> String? {
    let table = "Z" + entities.root(of: entity).name.uppercased()
    return schema.has(table) ? schema.name(of: table) : nil
  }

  /// The columns of a table, by their names in capitals.
  func columns(of table: String) throws(CoreDataStoreError) -> [String: SourceSchema.Column] {
    try schema.columns(of: table)
  }

  /// The number of rows for each entity number; `nil` stands for rows without one.
  ///
  /// An index may lack rows of a damaged table, so that only the table itself is read.
  func counts(in table: String) throws(CoreDataStoreError) -> [Int64?: Int64] {
    try schema.require(["Z_PK", "Z_ENT"], in: table)
    let rows = try database.rows(
      "SELECT Z_ENT, count(*) FROM \(SQLText.quoted(table)) NOT INDEXED GROUP BY Z_ENT"
    ) { ($0.integer(0), $0.integer(1) ?? 0) }
    return Dictionary(rows, uniquingKeysWith: +)
  }

  // MARK: The version

  /// Finds the tables and columns of the store for the version of the model that fits.
  ///
  /// - Parameter number: The number of the version; nil to find the version.
  func layout(in model: ManagedObjectModel, version number: Int?) throws(CoreDataStoreError) -> StoreLayout {
    // The store has the names of Xcode's model, which an export creates without the former names of elements.
    let versions = model.withoutFormerXcodeNames().versions
    let candidates = versions.filter { number == nil || $0.number == number }
    if candidates.isEmpty, let number {
      throw .unknownVersion(url, model: model.name, number: number)
    }
    var differences: [Int: [String]] = [:]
    var fitting: [StoreLayout] = []
    for version in candidates {
      var matcher = LayoutMatcher(version, self)
      try matcher.match()
      if matcher.differences.isEmpty {
        fitting.append(matcher.layout)
      } else {
        differences[version.number] = matcher.differences
      }
    }
    // Empty columns that a version does not declare belong to another version, if there is one that declares them.
    let exact = fitting.filter(\.emptyColumns.isEmpty)
    if !exact.isEmpty { fitting = exact }
    if fitting.count > 1 {
      let named = fitting.filter { layout in
        layout.version.info["xcode.userDefinedModelVersionIdentifier"].map(metadata.identifiers.contains)
          ?? false
      }
      if !named.isEmpty { fitting = named }
    }
    guard let last = fitting.last else {
      throw .noFittingVersion(url, model: model.name, differences: differences)
    }
    if fitting.count > 1, !EqualVersions.areOne(fitting.map(\.version), of: model) {
      throw .severalFittingVersions(url, model: model.name, numbers: fitting.map(\.version.number))
    }
    return last
  }
}
