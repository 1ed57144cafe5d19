public import Foundation

/// The location and type of a store.
///
/// ```swift
/// let container = try PersistentContainer(for: LibraryModel.self, at: .xml(url))
/// ```
///
/// See <doc:StoreTypes> for when to use which type.
public enum StoreLocation: Sendable {
  /// A SQLite file. It is created if it does not exist.
  case sqlite(URL)
  /// An XML file. It is created if it does not exist. The whole file is read when the store is opened, and each save
  /// writes the whole file.
  case xml(URL)
  /// A binary file, which is compact and has checksums. It is created if it does not exist. The whole file is read when
  /// the store is opened, and each save writes the whole file.
  case binary(URL)
  /// A file of an app's own format. It is created if it does not exist. The whole file is read when the store is
  /// opened, and each save writes the whole file.
  case custom(URL, any StoreFormat)
  /// Memory. The store exists as long as its coordinator.
  case inMemory
  /// A store of an engine other than SQLite.
  case engine(StoreEngineLocation)
}

extension StoreLocation: Hashable {
  /// Returns whether two locations are the same file with the same format. Formats with the same name are equal.
  public static func == (left: Self, right: Self) -> Bool {
    left.url == right.url && left.kind == right.kind
  }

  /// Hashes the values that `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(url)
    hasher.combine(kind)
  }

  private var kind: String {
    switch self {
    case .sqlite: "sqlite"
    case .inMemory: "memory"
    case .engine(let location): "engine \(location.name)"
    case .xml, .binary, .custom: format.map { "file \($0.name)" } ?? ""
    }
  }
}

extension StoreLocation {
  /// The URL of the file. Nil for a store in memory or of another engine.
  public var url: URL? {
    switch self {
    case .sqlite(let url), .xml(let url), .binary(let url), .custom(let url, _): url
    case .inMemory, .engine: nil
    }
  }

  /// The format of a file that is read and written as a whole; nil for other locations.
  var format: (any StoreFormat)? {
    switch self {
    case .xml: XMLStoreFormat()
    case .binary: BinaryStoreFormat()
    case .custom(_, let format): format
    case .sqlite, .inMemory, .engine: nil
    }
  }

  /// Whether a store of another engine exists, or a file.
  ///
  /// - Throws: ``StoreError`` if this cannot be found out.
  package var hasStore: Bool {
    get throws {
      if case .engine(let location) = self { return try location.requiredTransfer.exists() }
      return url.map { FileIdentity($0.path(percentEncoded: false)) != nil } ?? false
    }
  }

  /// The URL that errors show for a store of another engine; nil for other locations.
  var engineURL: URL? {
    if case .engine(let location) = self { location.url } else { nil }
  }

  /// The format of an app's own; empty for other locations.
  var ownFormats: [any StoreFormat] {
    if case .custom(_, let format) = self { [format] } else { [] }
  }

  /// Determines the location of an existing file by its contents, not by its name.
  ///
  /// ```swift
  /// let location = try StoreLocation(recognizing: url)
  /// let container = try PersistentContainer(for: ToDoModel.self, at: location)
  /// ```
  ///
  /// - Parameters:
  ///   - url: The file.
  ///   - formats: The app's own formats. They are tried first.
  /// - Returns: ``sqlite(_:)`` if the file does not exist or is empty.
  /// - Throws: ``StoreError/notADatabase(_:)`` if the file has no known format, or an error of the system.
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
      try DatabaseFile.checkHeader(of: url, start: start)
      self = .sqlite(url)
    }
  }

  /// Returns the same location with the real file's name, if the URL is a symbolic link.
  func resolvingLink() throws(StoreError) -> Self {
    switch self {
    case .sqlite(let url): .sqlite(try Disk.resolvingLink(url))
    case .xml(let url): .xml(try Disk.resolvingLink(url))
    case .binary(let url): .binary(try Disk.resolvingLink(url))
    case .custom(let url, let format): .custom(try Disk.resolvingLink(url), format)
    case .inMemory, .engine: self
    }
  }
}
