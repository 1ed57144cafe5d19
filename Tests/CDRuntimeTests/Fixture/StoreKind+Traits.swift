import Testing

// A test that does not run on a kind of stores says why. `.ci/left-out` counts the reasons, and fails if more tests than
// before need a feature that an engine lacks.
extension Trait where Self == ConditionTrait {
  /// For what is about SQLite's files, or about rows that can come from there alone.
  static func onlyOnSQLite(_ reason: String) -> Self {
    .enabled(if: StoreKind.ofEnvironment == .sqlite, "only on SQLite: \(reason)")
  }

  /// For what opens a store again, or looks at its file.
  static var needsFile: Self { .needs(.files) }

  /// For what opens a store again.
  static var needsReopening: Self { .needs(.reopening) }

  /// For tests that do not depend on the kind of the store, and for tests that go through all kinds by themselves.
  static var onceForAllKinds: Self {
    .enabled(if: StoreKind.ofEnvironment == .sqlite, "runs once for all kinds")
  }

  /// For what not every engine has.
  static func needs(_ feature: EngineFeature) -> Self {
    .enabled(
      if: !feature.missing.contains(StoreKind.ofEnvironment),
      "the engine '\(StoreKind.ofEnvironment.rawValue)' lacks '\(feature.rawValue)': \(feature.reason)")
  }
}

/// What not every engine has.
enum EngineFeature: String {
  /// Tables in which the test can write rows that no object can have.
  case tables
  /// Statements that the test can count, or whose query plan it can read.
  case statements
  /// Predicates, orders and calculations that the store decides, so that no object is made of what is not wanted.
  case decisions
  /// Migrations of stores of older versions.
  case migrations
  /// A file that the test can copy, move, read or damage.
  case files
  /// A store that is there after its coordinator.
  case reopening
  /// Reads by other contexts while a batch is written.
  case readsInBatches

  /// The kinds of stores without the feature.
  fileprivate var missing: Set<StoreKind> {
    switch self {
    case .tables, .statements, .decisions: [.plain]
    // A store in memory is never older than its model.
    case .migrations, .reopening: [.memory]
    case .files: [.plain, .memory, .postgresql]
    case .readsInBatches: [.plain, .memory, .xml, .binary, .json]
    }
  }

  /// Why the test does not run there.
  fileprivate var reason: String {
    switch self {
    case .tables: "the test writes rows that no object can be made of"
    case .statements: "the test looks at statements"
    case .decisions: "the evaluator decides everything"
    case .migrations: "a store in memory is never older than its model"
    case .files: "the store is not a file"
    case .reopening: "a store in memory ends with its coordinator"
    case .readsInBatches: "nobody else reads while a batch is written"
    }
  }
}
