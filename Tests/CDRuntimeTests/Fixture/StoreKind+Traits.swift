import Testing

extension Trait where Self == ConditionTrait {
  /// For what is about SQLite's files, or about rows that can come from there alone.
  static func onlyOnSQLite(_ reason: String) -> Self {
    .enabled(if: StoreKind.ofEnvironment == .sqlite, "only on SQLite: \(reason)")
  }

  /// For what opens a store again, or looks at its file.
  static var needsFile: Self {
    .enabled(
      if: StoreKind.ofEnvironment.hasFiles,
      "a store in memory or on a server has no file")
  }

  /// For what opens a store again.
  static var needsReopening: Self {
    .enabled(if: !StoreKind.ofEnvironment.isInMemory, "a store in memory ends with its coordinator")
  }

  /// For what is the same whatever kind is asked for, and what goes through all of them by itself.
  static var onceForAllKinds: Self {
    .enabled(if: StoreKind.ofEnvironment == .sqlite, "runs once for all kinds")
  }

  /// For what not every engine has.
  static func needs(_ feature: EngineFeature) -> Self {
    .enabled(
      if: !(feature.missing[StoreKind.ofEnvironment] ?? false),
      "the engine '\(StoreKind.ofEnvironment.rawValue)' has no \(feature.rawValue)")
  }
}

/// What not every engine has.
enum EngineFeature: String {
  /// Tables and statements of SQLite.
  case tables = "tables of SQLite"
  /// Predicates, orders and calculations that the store decides, so that no object is made of what is not wanted.
  case decisions = "decisions of its own"
  /// Migrations of stores of older versions.
  case migrations
  /// Several stores of one coordinator.
  case severalStores = "several stores that are opened again"

  /// The kinds of stores without the feature.
  fileprivate var missing: [StoreKind: Bool] {
    switch self {
    // The tests use SQLite's.
    case .tables: [.plain: true, .postgresql: true]
    // A store in memory is never older than its model.
    case .migrations: [.plain: true, .memory: true, .postgresql: TestServer.hasCommonFeaturesOnly]
    case .decisions, .severalStores: [.plain: true]
    }
  }
}
