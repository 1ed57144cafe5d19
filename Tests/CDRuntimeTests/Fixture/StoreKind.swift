import Foundation

@testable import CDRuntime

/// The kinds of stores, an app's own among them.
enum StoreKind: String, CaseIterable, Sendable {
  case sqlite, xml, binary, json, memory
  /// An engine without SQL. Its stores stay in the memory of the process: see ``PlainStores``.
  case plain
  /// A server, where the environment names one: see ``TestServer``.
  case postgresql

  /// Those that this machine has.
  static let allCases: [StoreKind] =
    [.sqlite, .xml, .binary, .json, .memory, .plain] + (TestServer.isConfigured ? [.postgresql] : [])

  /// Those that are files.
  static let files: [StoreKind] = [.sqlite, .xml, .binary, .json]
  /// Those whose file is read and written whole.
  static let whole: [StoreKind] = [.xml, .binary, .json]

  /// Whether a store is gone with its coordinator.
  var isInMemory: Bool { self == .memory }

  /// Whether a store has files in the file system.
  var hasFiles: Bool { Self.files.contains(self) }

  /// A text of the character U+0000, or of another control character where a store cannot have that.
  var zero: String { self == .postgresql ? "\u{1}" : "\0" }

  /// - Parameter url: The file, where the kind has one.
  func location(_ url: URL) -> StoreLocation {
    switch self {
    case .sqlite: .sqlite(url)
    case .xml: .xml(url)
    case .binary: .binary(url)
    case .json: .custom(url, JSONStoreFormat())
    case .memory: .inMemory
    case .plain: PlainEngine.location(url)
    case .postgresql: TestServer.location(url)
    }
  }

  /// What the environment variable `CDGEN_STORE_TYPE` asks suites to run on that know no kind of their own.
  private static let asked: StoreKind? = ProcessInfo.processInfo.environment["CDGEN_STORE_TYPE"].map { name in
    guard let kind = StoreKind(rawValue: name), allCases.contains(kind) else {
      fatalError("CDGEN_STORE_TYPE is '\(name)', and there are \(allCases.map(\.rawValue))")
    }
    return kind
  }

  /// The kind of stores that tests open by a file's name.
  static let ofEnvironment = asked ?? .sqlite
  /// The kind of stores of whose file tests know nothing: in memory, unless a kind is asked for.
  static let ofScratch = asked ?? .memory
}

extension PersistentStoreCoordinator {
  /// All that a store holds, by the name of the table.
  func storedRows() throws -> [String: [[StoreValue]]] {
    let database = try self.database
    return try database.writer.use { connection in
      var result: [String: [[StoreValue]]] = [:]
      for store in database.attached.all {
        let contents = try StoreContents(
          StoreTables(plan, store: store.index), connection, schema: database.attached.schema(of: store))
        for table in contents.tables {
          try contents.forEachRow(of: table) { result[table.name, default: []].append($0) }
        }
      }
      return result
    }
  }
}
