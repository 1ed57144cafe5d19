public import CDModel
public import CDRuntime
import Synchronization

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Core Data's SQLite stores as a format of stores: they are read, and never written to.
///
/// The model is that of Xcode, as `cdgen import` makes it, and the store's version of it has to be the current one:
///
/// ```swift
/// let store = try CoreDataStore(at: url)
/// let ofStore = try store.managedObjectModel(in: model)
/// let container = try PersistentContainer(
///   PersistentStoreCoordinator(model: ofStore, at: .custom(url, CoreDataStoreFormat(model: ofStore))))
/// ```
///
/// All objects are in memory then, large values included; a save throws `StoreError.readOnly`.
/// ``CoreDataStore/copy(to:model:version:acceptsLosses:)`` makes a store of it that is written to.
public struct CoreDataStoreFormat: StoreFormat {
  /// `Core Data`.
  public let name = "Core Data"
  /// True: nothing of a store is ever written to.
  public var isReadOnly: Bool { true }

  private let model: ManagedObjectModel
  private let version: Int?
  private let acceptsLosses: Bool
  let outcome = Outcome()

  /// What became of the last reading.
  final class Outcome: Sendable {
    struct Result: Sendable {
      var report = ReadingReport()
      var version: ModelVersion?
      var error: CoreDataStoreError?
    }
    let result = Mutex(Result())
  }

  /// - Parameters:
  ///   - model: The model, one of whose versions is the store's.
  ///   - version: The number of the version that the store is of; nil to find out.
  ///   - acceptsLosses: Whether a store is read of which not all can be: values that are not of their attributes' types,
  ///     references that lead nowhere. Otherwise reading it throws ``CoreDataStoreError/losses(_:_:)``, with all of them.
  public init(model: ManagedObjectModel, version: Int? = nil, acceptsLosses: Bool = false) {
    self.model = model
    self.version = version
    self.acceptsLosses = acceptsLosses
  }

  /// What the last reading of a store has left out.
  public var losses: CoreDataLosses { outcome.result.withLock { $0.report.losses } }

  /// Whether a file may be a store of Core Data: all SQLite databases begin alike.
  public func recognizes(_ start: [UInt8]) -> Bool { start.starts(with: "SQLite format 3\u{0}".utf8) }

  /// Whether a file is a store of Core Data.
  public func recognizes(_ start: [UInt8], of url: URL) -> Bool {
    recognizes(start) && CoreDataStore.isStore(at: url)
  }

  /// Throws: such stores are not written.
  public func write(_ contents: StoreContents, to output: StoreOutput) throws {
    throw StoreFormatError(.syntax("stores of Core Data are read, and not written"))
  }

  /// Reads a store.
  ///
  /// - Throws: ``CoreDataStoreError``, or what the builder throws.
  public func read(_ input: StoreInput, into builder: StoreBuilder) throws {
    outcome.result.withLock { $0 = Outcome.Result() }
    do {
      let source = try CoreDataSource(input.url)
      var reading = StoreReading(
        source, try source.layout(in: model, version: version), acceptsLosses: acceptsLosses)
      defer {
        outcome.result.withLock { result in
          result.report = reading.report
          result.version = reading.layout.version
        }
      }
      try reading.run(model, into: builder)
    } catch let error as CoreDataStoreError {
      outcome.result.withLock { $0.error = error }
      throw error
    }
  }
}
