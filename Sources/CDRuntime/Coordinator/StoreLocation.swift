public import Foundation

extension PersistentStoreCoordinator.StoreLocation: Hashable {
  /// Whether two locations are the same file by the same format; formats of one name count as one.
  public static func == (left: Self, right: Self) -> Bool {
    left.url == right.url && left.kind == right.kind
  }

  /// Hashes what is compared.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    hasher.combine(kind)
  }

  private var kind: String {
    switch self {
    case .sqlite: "sqlite"
    case .inMemory: "memory"
    case .xml, .binary, .custom: format.map { "file \($0.name)" } ?? ""
    }
  }
}

extension PersistentStoreCoordinator.StoreLocation {
  /// The file; nil for memory.
  public var url: URL? {
    switch self {
    case .sqlite(let url), .xml(let url), .binary(let url), .custom(let url, _): url
    case .inMemory: nil
    }
  }

  /// The format of a file that is read and written whole; nil for SQLite's and for memory.
  var format: (any StoreFormat)? {
    switch self {
    case .xml: XMLStoreFormat()
    case .binary: BinaryStoreFormat()
    case .custom(_, let format): format
    case .sqlite, .inMemory: nil
    }
  }

  /// The location of a file that is there, by what it holds and not by its name.
  ///
  /// ```swift
  /// let location = try PersistentStoreCoordinator.StoreLocation(recognizing: url)
  /// let container = PersistentContainer(try PersistentStoreCoordinator(for: ToDoModel.self, at: location))
  /// ```
  ///
  /// - Parameters:
  ///   - url: The file.
  ///   - formats: The app's own, which are asked first.
  /// - Returns: ``sqlite(_:)`` where there is no file, or an empty one.
  /// - Throws: ``StoreError/notADatabase(_:)`` for a file of no known kind, or what the system says.
  public init(recognizing url: URL, formats: [any StoreFormat] = []) throws {
    let path = url.path(percentEncoded: false)
    guard let file = FileIdentity(path) else {
      self = .sqlite(url)
      return
    }
    // A pipe would be waited for.
    guard file.isRegular else {
      throw StoreError.cannotCreate(url, reason: "there is something that is no file")
    }
    let start: [UInt8]
    do {
      let handle = try FileHandle(forReadingFrom: url)
      defer { try? handle.close() }
      start = Array(try handle.read(upToCount: 512) ?? Data())
    } catch {
      throw StoreError.cannotCreate(url, reason: "\(error)")
    }
    if let format = formats.first(where: { $0.recognizes(start, of: url) }) {
      self = .custom(url, format)
    } else if start.isEmpty || start.starts(with: "SQLite format 3\u{0}".utf8) {
      self = .sqlite(url)
    } else if BinaryStoreFormat().recognizes(start) {
      self = .binary(url)
    } else if XMLStoreFormat().recognizes(start) {
      self = .xml(url)
    } else {
      throw StoreError.notADatabase(url)
    }
  }
}
