import Foundation
import Synchronization

@testable import CDRuntime

/// The plain stores of this process, by their addresses. A store stays after its coordinator has gone, as a file does.
enum PlainStores {
  private enum Content: Sendable {
    case store(PlainImage)
    /// The tables of another program.
    case foreign([String])
  }

  private struct Entry: Sendable {
    /// Nil while an engine creates the store.
    var content: Content?
    /// The lease of the engine that has the store open for writing.
    var owner: UUID?
    /// Whether the store is removed when its owner closes it.
    var isAbandoned = false
  }

  private static let entries = Mutex<[URL: Entry]>([:])

  /// The address of a store that would have a file.
  static func address(_ file: URL) -> URL {
    URL(string: "plain" + String(file.absoluteString.dropFirst("file".count))) ?? file
  }

  // MARK: Reading

  /// What a store contains; nil if there is no store.
  ///
  /// - Throws: ``StoreError/foreignDatabase(_:)`` if there is something else.
  static func image(at url: URL) throws(StoreError) -> PlainImage? {
    switch content(at: url) {
    case .store(let image)?: return image
    case .foreign?: throw .foreignDatabase(url)
    case nil: return nil
    }
  }

  /// The names of the tables at an address.
  static func tables(at url: URL) -> [String] {
    switch content(at: url) {
    case .store(let image)?: return image.tableNames.sorted()
    case .foreign(let tables)?: return tables
    case nil: return []
    }
  }

  private static func content(at url: URL) -> Content? { entries.withLock { $0[url]?.content } }

  /// The error of a store that is only to be read, and does not exist.
  static func missing(_ url: URL) -> StoreError {
    .cannotCreate(url, reason: "there is no store, and the store is opened read-only")
  }

  // MARK: Owners

  /// How long to wait for another owner. The last reference to a coordinator may be gone in a moment.
  private static let patience = Duration.milliseconds(500)

  /// Makes the caller the owner of a store, which need not exist.
  ///
  /// - Throws: ``StoreError/inUse(_:)`` if the store has another owner.
  static func lease(_ url: URL) throws(StoreError) -> PlainLease {
    let end = ContinuousClock.now + patience
    let id = UUID()
    while true {
      let isOwner = entries.withLock { entries -> Bool in
        var entry = entries[url] ?? Entry()
        if entry.owner != nil { return false }
        entry.owner = id
        entries[url] = entry
        return true
      }
      if isOwner { return PlainLease(url, id) }
      guard ContinuousClock.now < end else { throw .inUse(url) }
      Thread.sleep(forTimeInterval: 0.002)
    }
  }

  fileprivate static func isOwner(_ id: UUID, of url: URL) -> Bool {
    entries.withLock { $0[url]?.owner == id }
  }

  /// Writes a store.
  ///
  /// - Returns: Whether the caller is its owner. If not, nothing was written.
  @discardableResult
  fileprivate static func write(_ image: PlainImage, to url: URL, by owner: UUID) -> Bool {
    entries.withLock { entries -> Bool in
      guard entries[url]?.owner == owner else { return false }
      entries[url]?.content = .store(image)
      return true
    }
  }

  fileprivate static func release(_ owner: UUID) {
    entries.withLock { entries in
      // The store may have another address by now.
      for (url, entry) in entries where entry.owner == owner {
        entries[url]?.owner = nil
        if entry.isAbandoned || entry.content == nil { entries[url] = nil }
      }
    }
  }

  // MARK: Without an owner

  /// Creates a store.
  ///
  /// - Throws: ``StoreError`` if there is something already.
  static func create(_ image: PlainImage, at url: URL) throws(StoreError) {
    let isCreated = entries.withLock { entries -> Bool in
      if entries[url] != nil { return false }
      entries[url] = Entry(content: .store(image))
      return true
    }
    if !isCreated { throw .cannotCreate(url, reason: "there already is a store; it was not changed") }
  }

  /// Removes a store, if there is one.
  ///
  /// - Throws: ``StoreError/inUse(_:)`` if somebody has it open, or ``StoreError/foreignDatabase(_:)``.
  static func remove(_ url: URL) throws(StoreError) {
    let error = entries.withLock { entries -> StoreError? in
      if case .foreign? = entries[url]?.content { return .foreignDatabase(url) }
      if entries[url]?.owner != nil { return .inUse(url) }
      entries[url] = nil
      return nil
    }
    if let error { throw error }
  }

  /// Removes a store that nobody will open again, as soon as it has no owner.
  static func abandon(_ url: URL) {
    entries.withLock { entries in
      guard entries[url]?.owner != nil else {
        entries[url] = nil
        return
      }
      entries[url]?.isAbandoned = true
    }
  }

  // MARK: As other programs do it

  /// Gives a store another address. Its owner does not notice.
  static func move(_ url: URL, to other: URL) {
    entries.withLock { entries in
      entries[other] = entries[url]
      entries[url] = nil
    }
  }

  /// Puts tables of another program where a store would be.
  static func makeForeign(_ url: URL, tables: [String]) {
    entries.withLock { $0[url] = Entry(content: .foreign(tables)) }
  }

  /// Changes a store, whoever has it open.
  static func replace(_ image: PlainImage, at url: URL) {
    entries.withLock { $0[url]?.content = .store(image) }
  }
}

/// The right to write a plain store, which one engine has at a time.
final class PlainLease: Sendable {
  private let url: URL
  private let id: UUID

  fileprivate init(_ url: URL, _ id: UUID) {
    self.url = url
    self.id = id
  }

  deinit { release() }

  /// Whether the store is still at its address, and this is its owner.
  var isValid: Bool { PlainStores.isOwner(id, of: url) }

  /// Writes the store. A store that was moved or removed is not written.
  func write(_ image: PlainImage) { PlainStores.write(image, to: url, by: id) }

  func release() { PlainStores.release(id) }
}

/// Removes a store that nobody will open again, when the last reference to this goes.
final class PlainLifetime: Sendable {
  private let url: URL

  init(_ url: URL) { self.url = url }
  deinit { PlainStores.abandon(url) }
}
