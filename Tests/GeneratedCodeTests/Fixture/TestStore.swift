import Foundation
import Testing

@testable import CDRuntime

/// Where a test keeps its store.
enum StorePlace: CaseIterable, Sendable {
  case memory
  /// SQLite's.
  case file
  case xml, binary

  func location(_ url: URL) -> StoreLocation {
    switch self {
    case .memory: .inMemory
    case .file: .sqlite(url)
    case .xml: .xml(url)
    case .binary: .binary(url)
    }
  }
}

/// A store of a test's own. Whoever makes one removes it.
struct TestStore {
  let container: PersistentContainer
  private let place: StorePlace
  private let model: any GeneratedModel.Type
  private let folder: URL
  private var file: URL { folder.appending(path: "store") }
  /// The file that was opened last.
  private let latest: Latest

  private final class Latest {
    var url: URL
    init(_ url: URL) { self.url = url }
  }

  init(_ place: StorePlace, _ model: any GeneratedModel.Type) throws {
    self.place = place
    self.model = model
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    latest = Latest(folder.appending(path: "store"))
    container = try Self.open(place, model, folder.appending(path: "store"))
  }

  private static func open(
    _ place: StorePlace, _ model: any GeneratedModel.Type, _ url: URL
  ) throws -> PersistentContainer {
    try PersistentContainer(for: model, at: place.location(url))
  }

  /// The store as another start of the app finds it: a file is opened anew, and where it has one owner at a time, a
  /// copy of what was opened last as it is now. A store in memory is the same.
  func reopened() throws -> PersistentContainer {
    switch place {
    case .memory: return container
    case .file: return try Self.open(place, model, file)
    case .xml, .binary:
      let copy = folder.appending(path: UUID().uuidString)
      try FileManager.default.copyItem(at: latest.url, to: copy)
      latest.url = copy
      return try Self.open(place, model, copy)
    }
  }

  /// Changes the file by plain SQL, behind the runtime's back.
  func execute(_ sql: String) throws {
    try database().execute(sql)
  }

  /// The text of each column of the only row that a query of the file gives.
  func row(_ sql: String) throws -> [String: String?] {
    let connection = try database()
    let row = try #require(try connection.rows(sql).first)
    let names = try connection.makeStatement(sql).columnNames
    return Dictionary(zip(names, row), uniquingKeysWith: { first, _ in first })
  }

  func remove() {
    try? FileManager.default.removeItem(at: folder)
  }

  private func database() throws -> SQLiteConnection {
    try #require(place == .file, "only SQLite's stores have tables")
    return try SQLiteConnection(path: file.path(percentEncoded: false), of: [])
  }
}
