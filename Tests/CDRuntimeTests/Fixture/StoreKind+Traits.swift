import Testing

extension Trait where Self == ConditionTrait {
  /// For what is about SQLite's files, or about rows that can come from there alone.
  static func onlyOnSQLite(_ reason: String) -> Self {
    .enabled(if: StoreKind.ofEnvironment == .sqlite, "only on SQLite: \(reason)")
  }

  /// For what opens a store again, or looks at its file.
  static var needsFile: Self {
    .enabled(if: !StoreKind.ofEnvironment.isInMemory, "a store in memory has no file")
  }

  /// For what is the same whatever kind is asked for, and what goes through all of them by itself.
  static var onceForAllKinds: Self {
    .enabled(if: StoreKind.ofEnvironment == .sqlite, "runs once for all kinds")
  }

  /// For what the engine without SQL does not have.
  static func needs(_ feature: EngineFeature) -> Self {
    .enabled(if: StoreKind.ofEnvironment != .plain, "the plain engine has no \(feature.rawValue)")
  }
}

/// What not every engine has.
enum EngineFeature: String {
  /// Tables and statements of SQL.
  case tables
  /// Predicates, orders and calculations that the store decides, so that no object is made of what is not wanted.
  case decisions = "decisions of its own"
  /// Several stores of one coordinator.
  case severalStores = "several stores that are opened again"
}
