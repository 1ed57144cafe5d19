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
    guard FileIdentity(url.path(percentEncoded: false)) != nil else {
      self = .sqlite(url)
      return
    }
    let start = try DatabaseFile(url).read(upToCount: 512)
    if let format = formats.first(where: { $0.recognizes(start, of: url) }) {
      self = .custom(url, format)
    } else if BinaryStoreFormat().recognizes(start) {
      self = .binary(url)
    } else if XMLStoreFormat().recognizes(start) {
      self = .xml(url)
    } else {
      try DatabaseFile.checkHeader(of: url)
      self = .sqlite(url)
    }
  }

  /// The same location by the file's own name, where the URL is a symbolic link.
  func resolvingLink() throws(StoreError) -> Self {
    switch self {
    case .sqlite(let url): .sqlite(try Disk.resolvingLink(url))
    case .xml(let url): .xml(try Disk.resolvingLink(url))
    case .binary(let url): .binary(try Disk.resolvingLink(url))
    case .custom(let url, let format): .custom(try Disk.resolvingLink(url), format)
    case .inMemory: .inMemory
    }
  }
}
