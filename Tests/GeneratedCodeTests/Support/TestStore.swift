import Foundation
import Testing

@testable import CDRuntime

/// Where a test keeps its store.
enum StorePlace: CaseIterable, Sendable { case memory, file }

/// A store of a test's own. Whoever makes one removes it.
struct TestStore {
  let container: PersistentContainer
  private let model: any GeneratedModel.Type
  private let folder: URL?

  init(_ place: StorePlace, _ model: any GeneratedModel.Type) throws {
    self.model = model
    switch place {
    case .memory:
      folder = nil
      container = try PersistentContainer(inMemoryFor: model)
    case .file:
      let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      self.folder = folder
      container = try PersistentContainer(for: model, at: folder.appending(path: "store.sqlite"))
    }
  }

  /// The store as another start of the app finds it: a file is opened anew. One in memory is the same.
  func reopened() throws -> PersistentContainer {
    guard let folder else { return container }
    return try PersistentContainer(for: model, at: folder.appending(path: "store.sqlite"))
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
    if let folder { try? FileManager.default.removeItem(at: folder) }
  }

  private func database() throws -> SQLiteConnection {
    let folder = try #require(folder, "a store in memory has no file")
    return try SQLiteConnection(path: folder.appending(path: "store.sqlite").path, of: [])
  }
}
