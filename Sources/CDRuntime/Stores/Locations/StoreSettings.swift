/// The settings for the opening of a store, without those for its migration.
package struct StoreSettings: Sendable {
  /// The location of the store.
  package var location: StoreLocation
  /// The configuration whose entities the store holds. Nil for all entities that are in no other store's configuration.
  package var configuration: String?
  /// Whether to open the store for reading only.
  package var isReadOnly = false
  /// How many seconds to wait for other writers.
  package var busyTimeout: Double = 10
  /// The index of the store in the coordinator; nil for its place among the settings.
  package var index: Int?
  /// The configurations of the coordinator's other stores; nil for those of the other settings.
  package var others: [String?]?
  /// Migrates the store if it is of an older version; nil if the store must not be migrated. SQLite's stores are migrated
  /// in another way.
  package var migrator: (any StoreMigrator)?
}

extension [StoreSettings] {
  /// The index in the coordinator of the store at a place.
  package func storeIndex(_ place: Int) -> Int { self[place].index ?? place }

  /// The configurations of the coordinator's stores other than the one at a place.
  package func configurations(otherThan place: Int) -> [String?] {
    if let others = self[place].others { return others }
    var configurations = map(\.configuration)
    configurations.remove(at: place)
    return configurations
  }
}

extension ModelPlan {
  /// The tables of entities in stores other than the given ones. If an engine opens only the given stores, the others are
  /// those of other engines.
  package func tables(outside stores: Set<Int>) -> Set<String> {
    Set(
      entities.compactMap { entity in
        entity.storeIndex.flatMap { stores.contains($0) ? nil : entity.table }
      })
  }
}
