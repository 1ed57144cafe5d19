public import Foundation

/// Where a store is, and of what kind it is.
///
/// ```swift
/// let location = StoreLocation.xml(url)
/// let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: location)
/// ```
///
/// <doc:StoreTypes> says when to take which.
public enum StoreLocation: Sendable {
  /// A SQLite file, which is made where there is none.
  case sqlite(URL)
  /// An XML file, which is made where there is none. It is read whole, and each save writes it whole.
  case xml(URL)
  /// A binary file, compact and with checksums, which is made where there is none. It is read whole, and each save
  /// writes it whole.
  case binary(URL)
  /// A file of an app's own format, which is made where there is none. It is read whole, and each save writes it
  /// whole.
  case custom(URL, any StoreFormat)
  /// Memory, for as long as the coordinator lives.
  case inMemory
  /// A store of another engine than SQLite.
  case engine(StoreEngineLocation)
}

extension StoreLocation: Hashable {
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
    case .engine(let location): "engine \(location.name)"
    case .xml, .binary, .custom: format.map { "file \($0.name)" } ?? ""
    }
  }
}

extension StoreLocation {
  /// The file; nil for memory, and for another engine's store.
  public var url: URL? {
    switch self {
    case .sqlite(let url), .xml(let url), .binary(let url), .custom(let url, _): url
    case .inMemory, .engine: nil
    }
  }

  /// The format of a file that is read and written whole; nil for all others.
  var format: (any StoreFormat)? {
    switch self {
    case .xml: XMLStoreFormat()
    case .binary: BinaryStoreFormat()
    case .custom(_, let format): format
    case .sqlite, .inMemory, .engine: nil
    }
  }

  /// The location of a file that is there, by what it holds and not by its name.
  ///
  /// ```swift
  /// let location = try StoreLocation(recognizing: url)
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
    case .inMemory, .engine: self
    }
  }
}

/// Where a store of another engine than SQLite is.
///
/// The module that has the engine makes such locations. A coordinator has stores of one engine alone.
///
/// ```swift
/// func describe(_ location: StoreLocation) -> String {
///   if case .engine(let other) = location { "a store of another engine: \(other)" } else { "a store of SQLite" }
/// }
/// ```
public struct StoreEngineLocation: Sendable {
  /// By which two locations are told apart.
  let name: String
  /// Opens all stores of a coordinator, and makes those that are not there.
  let open: @Sendable (_ stores: [StoreSettings], ModelPlan) throws -> any StoreEngine

  init(name: String, open: @escaping @Sendable ([StoreSettings], ModelPlan) throws -> any StoreEngine) {
    self.name = name
    self.open = open
  }
}

/// What the opening of a store needs to know of it, but for its migration.
struct StoreSettings: Sendable {
  /// Where the store is.
  var location: StoreLocation
  /// The configuration whose entities the store holds; nil for what no other store's configuration names.
  var configuration: String?
  /// Whether the store is opened to be read alone.
  var isReadOnly = false
  /// How many seconds to wait for others who write.
  var busyTimeout: Double = 10
}
