#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A migration that leaves all rows in their tables, so that its time does not depend on the number of rows.
package struct TableMigration {
  /// The changes of the tables, step by step.
  package let steps: [TableChanges]
  /// The root entities of the store's version, with their tables.
  package let roots: [(entity: String, table: String)]
  /// What the metadata of the migrated store record about the versions of its rows.
  package let rowsVersions: [UUID: Int]
  private let migrated: (KeyRecord) -> KeyRecord

  /// - Parameter migrated: Returns the record of the new version from that of the store.
  init(
    steps: [TableChanges], roots: [(entity: String, table: String)], rowsVersions: [UUID: Int],
    migrated: @escaping (KeyRecord) -> KeyRecord
  ) {
    self.steps = steps
    self.roots = roots
    self.rowsVersions = rowsVersions
    self.migrated = migrated
  }

  /// The record of the migrated store.
  package func record(after record: KeyRecord) -> KeyRecord { migrated(record) }
}

/// What a store records about keys.
package struct KeyRecord {
  /// The next key of each root entity that has one.
  package var next: [String: ObjectKey]
  /// The greatest key of each root entity that has objects.
  package var greatest: [String: ObjectKey]
  /// The range of the numbers of the saves in the history; nil if the history is empty.
  package let saves: ClosedRange<Int64>?
  /// The record of where the objects were inserted.
  package var origins: InsertionOrigins
  /// The record of the keys that earlier migrations changed.
  package var moved: [MovedKeys]

  package init(
    next: [String: ObjectKey], greatest: [String: ObjectKey], saves: ClosedRange<Int64>?,
    origins: InsertionOrigins, moved: [MovedKeys]
  ) {
    self.next = next
    self.greatest = greatest
    self.saves = saves
    self.origins = origins
    self.moved = moved
  }
}
