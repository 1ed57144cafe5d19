import Foundation

@testable import CDRuntime

/// The kinds of stores that a file can be, an app's own among them.
enum StoreKind: String, CaseIterable, Sendable {
  case sqlite, xml, binary, json

  static let whole: [StoreKind] = [.xml, .binary, .json]

  func location(_ url: URL) -> PersistentStoreCoordinator.StoreLocation {
    switch self {
    case .sqlite: .sqlite(url)
    case .xml: .xml(url)
    case .binary: .binary(url)
    case .json: .custom(url, JSONStoreFormat())
    }
  }

  /// What the environment variable `CDGEN_STORE_TYPE` asks suites to run on that know no kind of their own.
  static let ofEnvironment =
    StoreKind(
      rawValue: ProcessInfo.processInfo.environment["CDGEN_STORE_TYPE"] ?? "sqlite") ?? .sqlite
}

extension PersistentStoreCoordinator {
  /// All that a store holds, by the name of the table.
  func storedRows() throws -> [String: [[StoreValue]]] {
    try database.writer.use { connection in
      var result: [String: [[StoreValue]]] = [:]
      for store in database.stores.all {
        let contents = try StoreContents(
          StoreRows(plan, store: store.place), connection, schema: database.stores.schema(of: store))
        for table in contents.tables {
          try contents.forEachRow(of: table) { result[table.name, default: []].append($0) }
        }
      }
      return result
    }
  }
}
